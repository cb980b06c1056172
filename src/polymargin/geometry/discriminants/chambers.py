"""`chambers`: the regions of a plane in which the number of real critical points is constant.

A coarse grid of samples comes first; then cells whose corners disagree are cut in four, again and again, so that samples gather
along the ED discriminant, where they are needed. Chambers that lie inside one coarse cell can be missed; the coarse spacing says
how small they would have to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import DEFAULT_LIMIT, checked
from polymargin.boundary import Boundary, in_metric
from polymargin.continuation import Tracker
from polymargin.errors import InputError
from polymargin.geometry.discriminants.planes import Plane
from polymargin.geometry.discriminants.real_counts import RealCounter
from polymargin.work import Workers

Array = NDArray[np.float64]
Cells = NDArray[np.int64]

# Share of the samples spent on the coarse grid; the rest refines interfaces.
COARSE_SHARE = 0.4
# Cells are halved so often at most: the raster of the finest cells must stay a picture.
MOST_REFINEMENTS = 4
# What a sample or a cell counts as whose number cannot be told.
UNKNOWN = -1
# A place of the lattice that is no sample.
NEVER_ASKED = -2


@dataclass(frozen=True, eq=False)
class Chambers:
    """Samples of a plane and their numbers of real critical points.

    places     (m, 2) coordinates (s, c) in the plane
    counts     (m,) real critical points; UNKNOWN for samples on the discriminant or next to it, where the number cannot be told
    total      complex critical points at every point: the ED degree
    spacing    of the coarse grid and of the finest one
    paths      number of paths followed
    raster     counts on the finest grid of cells, for pictures; row 0 is the lowest c
    """

    plane: Plane
    places: Array
    counts: NDArray[np.int64]
    total: int
    spacing: tuple[float, float]
    paths: int
    raster: NDArray[np.int16]

    def shares(self) -> dict[int, float]:
        """Return the share of the window's area per number of real critical points."""
        numbers = [int(number) for number in np.unique(self.counts) if number != UNKNOWN]
        cells = {number: int(np.count_nonzero(self.raster == number)) for number in numbers}
        return {number: count / max(1, sum(cells.values())) for number, count in cells.items() if count}


@checked(Boundary)
def chambers(
    boundary: Boundary,
    plane: Plane,
    samples: int = 15_000,
    *,
    seed: int = 0,
    threads: int | None = None,
    executor: Workers | None = None,
    limit: int = DEFAULT_LIMIT,
    cache: bool | str | Path = True,
    progress: Callable[[int], None] | None = None,
    device: str | None = None,
    metric: Any = None,
) -> Chambers:
    """Return real critical points over a plane with about `samples` samples; `progress` gets the number done.

    A boundary that may have more than `limit` critical points is refused.
    `metric` gives positive weights or a positive definite matrix; the picture itself stays Euclidean.
    The device is 'cpu', 'cuda' or 'auto', a GPU if there is one and the paths are many; POLYMARGIN_DEVICE by default.

    >>> ellipse = Boundary.from_expression("x**2 + 4*y**2 - 4")
    >>> found = chambers(ellipse, Plane.of_two_inputs((-3.0, 3.0, -4.0, 4.0)), 400, cache=False)
    >>> sorted(found.shares())
    [2, 4]
    """
    if samples < 9:
        raise InputError(f"{samples} samples: expected at least 9")
    if len(plane.origin) != boundary.dimension:
        raise InputError(
            f"the plane lies in {len(plane.origin)} dimensions, "
            f"the boundary has {boundary.dimension} inputs; expected as many coordinates"
        )
    boundary = in_metric(boundary, metric, seed)
    tracker = Tracker.of(None, threads, device)
    counter = RealCounter.of(boundary, tracker, seed=seed, limit=limit, cache=cache)
    tracker = tracker.settled_for(samples * counter.total)  # one device for all refinements
    grid = _Grid(plane, max(2, int(np.sqrt(COARSE_SHARE * samples))))

    def count(places: Cells) -> None:
        grid.add(places, *counter.at(plane.points(grid.coordinates(places)), tracker, executor))
        if progress is not None:
            progress(grid.known)

    cells = grid.coarse_cells()
    count(grid.corners(cells))
    leaves: list[Cells] = []
    for _ in range(MOST_REFINEMENTS):
        mixed = grid.mixed(cells)
        halved = grid.halves(cells[mixed])
        new = grid.unknown(grid.corners(halved))
        if not len(new) or grid.known + len(new) > samples:
            break
        leaves.append(cells[~mixed])
        count(new)
        cells = halved
    leaves.append(cells)
    return grid.result(leaves, counter.total)


class _Grid:
    """Samples on an integer lattice fine enough for every refinement; a cell is (i, j, size), cells of one refinement alike."""

    def __init__(self, plane: Plane, coarse: int) -> None:
        self.plane, self.coarse = plane, coarse
        self.unit = 2**MOST_REFINEMENTS
        self.lattice = np.full((coarse * self.unit + 1, coarse * self.unit + 1), NEVER_ASKED, dtype=np.int16)
        self.places: list[Cells] = []

    @property
    def known(self) -> int:
        return sum(map(len, self.places))

    def coordinates(self, places: Cells) -> Array:
        low_s, high_s, low_c, high_c = self.plane.window
        share = places / (self.coarse * self.unit)
        return np.asarray([low_s, low_c] + share * [high_s - low_s, high_c - low_c])

    def coarse_cells(self) -> Cells:
        i, j = np.meshgrid(np.arange(self.coarse), np.arange(self.coarse), indexing="ij")
        corner = self.unit * np.stack([i.ravel(), j.ravel()], axis=1)
        return np.column_stack([corner, np.full(len(corner), self.unit)])

    def corners(self, cells: Cells) -> Cells:
        shifts = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
        every = (cells[:, None, :2] + shifts * cells[:, None, 2:]).reshape(-1, 2)
        side = len(self.lattice)
        numbers = np.unique(side * every[:, 0] + every[:, 1])  # one number a place: quicker than sorting pairs
        return np.stack([numbers // side, numbers % side], axis=1)

    def halves(self, cells: Cells) -> Cells:
        size = cells[:, 2:] // 2
        parts = [np.column_stack([cells[:, :2] + shift * size, size]) for shift in ([0, 0], [1, 0], [0, 1], [1, 1])]
        return np.concatenate(parts)

    def unknown(self, places: Cells) -> Cells:
        return np.asarray(places[self.lattice[places[:, 0], places[:, 1]] == NEVER_ASKED])

    def add(self, places: Cells, counts: NDArray[np.int64], doubtful: NDArray[np.bool_]) -> None:
        self.lattice[places[:, 0], places[:, 1]] = np.where(doubtful, UNKNOWN, counts)
        self.places.append(places)

    def corner_counts(self, cells: Cells) -> NDArray[np.int16]:
        i, j, size = cells.T
        return np.stack([self.lattice[i + di * size, j + dj * size] for di in (0, 1) for dj in (0, 1)], axis=1)

    def mixed(self, cells: Cells) -> NDArray[np.bool_]:
        counts = self.corner_counts(cells)
        return np.asarray((counts != counts[:, :1]).any(axis=1))

    def result(self, leaves: list[Cells], total: int) -> Chambers:
        low_s, high_s, *_ = self.plane.window
        spacing = (high_s - low_s) / self.coarse
        finest = int(min(part[:, 2].min() for part in leaves if len(part)))
        places = np.concatenate(self.places)
        return Chambers(
            plane=self.plane,
            places=self.coordinates(places),
            counts=self.lattice[places[:, 0], places[:, 1]].astype(np.int64),
            total=total,
            spacing=(spacing, spacing * finest / self.unit),
            paths=total * self.known,
            raster=self._raster(leaves, finest),
        )

    def _raster(self, leaves: list[Cells], finest: int) -> NDArray[np.int16]:
        """Return two pixels a cell, each with the count of its corner, magnified from the coarsest cells on."""
        raster = np.zeros((2 * self.coarse, 2 * self.coarse), dtype=np.int16)
        size = self.unit
        for part in leaves:
            column, row = 2 * part[:, 0] // size, 2 * part[:, 1] // size
            counts = self.corner_counts(part)
            for corner, (right, up) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
                raster[row + up, column + right] = counts[:, corner]
            if size > finest:
                raster, size = raster.repeat(2, axis=0).repeat(2, axis=1), size // 2
        return raster
