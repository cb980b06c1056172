"""Nearest points in the core's layout: one, those of one quadric, those of several.

Distances are known; points are lifted from the eigenbasis when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from polymargin.quadric.secular import NearestKind
from polymargin.quadric.spectrum import Spectrum
from polymargin.quadric.squares import Array


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest point x (None if {B = 0} is empty over the reals), ‖x − u‖, and λ with x − u + λ∇B(x) = 0.

    λ is infinite at a singular point of the boundary and where there is no point. `doubtful` says that rounding may have
    decided something; `PreciseQuadric` does not round.
    """

    point: Array | None
    distance: float
    multiplier: float
    kind: NearestKind
    doubtful: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class NearestBatch:
    """The same for p points: distances, multipliers, kinds (p,), and points (p, n), NaN where the boundary is empty.

    `sphere_dimensions` (p,): of the sphere of nearest points in a row of kind SPHERE, 0 elsewhere; `doubtful` (p,). Points are
    lifted from `steps` (p, m) in the eigenbasis when they are asked for, all of them or some; `rows` of `given` (…, n) are where
    they start.
    """

    spectrum: Spectrum
    given: Array
    rows: NDArray[np.int64]
    steps: Array
    distances: Array
    multipliers: Array
    kinds: NDArray[np.int8]
    sphere_dimensions: NDArray[np.int64]
    doubtful: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.distances)

    @cached_property
    def points(self) -> Array:
        """Return the points."""
        return self.points_at(slice(None))

    def points_at(self, rows: slice | NDArray[np.intp]) -> Array:
        """Return the points of some rows."""
        return self.given[self.rows[rows]] + self.spectrum.lift(self.steps[rows])

    def judge(self, rows: NDArray[np.intp]) -> None:
        """Return rows without a regular nearest point, which depend on a zero or on signs of eigenvalues and of S.

        They are believed where these are far from zero.
        """
        spectrum = self.spectrum
        for row in rows.tolist():
            if self.kinds[row] == NearestKind.SPHERE:
                lowest = -1 / (2 * self.multipliers[row])
                near = np.abs(spectrum.eigenvalues - lowest) <= spectrum.cluster_tolerance
                self.sphere_dimensions[row] = int(near.sum()) - 1
            elif self.kinds[row] != NearestKind.EMPTY:
                self.doubtful[row] = True
            self.doubtful[row] |= not spectrum.is_clear

    def __getitem__(self, row: int) -> Nearest:
        kind = NearestKind(int(self.kinds[row]))
        return Nearest(
            point=None if kind is NearestKind.EMPTY else self.points_at(slice(row, row + 1))[0],
            distance=float(self.distances[row]),
            multiplier=float(self.multipliers[row]),
            kind=kind,
            doubtful=bool(self.doubtful[row]),
            notes=_notes(kind, int(self.sphere_dimensions[row])),
        )


@dataclass(frozen=True, eq=False)
class NearestBatches(Sequence[NearestBatch]):
    """A `NearestBatch` for each of several quadrics, in arrays that have the points of one after those of another.

    `counts` says how many each has; `steps` are laid out flat, because each has an eigenbasis of its own.
    """

    spectra: Sequence[Spectrum]
    counts: NDArray[np.int64]
    given: Array
    rows: NDArray[np.int64]
    steps: Array
    distances: Array
    multipliers: Array
    kinds: NDArray[np.int8]
    doubtful: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.spectra)

    @overload
    def __getitem__(self, quadric: int) -> NearestBatch: ...
    @overload
    def __getitem__(self, quadric: slice) -> list[NearestBatch]: ...
    def __getitem__(self, quadric: int | slice) -> NearestBatch | list[NearestBatch]:
        if isinstance(quadric, slice):
            return [self[each] for each in range(len(self))[quadric]]
        mine = slice(self._ends[quadric] - int(self.counts[quadric]), self._ends[quadric])
        batch = NearestBatch(
            self.spectra[quadric],
            self.given,
            self.rows[mine],
            self._steps_of(quadric),
            self.distances[mine],
            self.multipliers[mine],
            self.kinds[mine],
            np.zeros_like(self.rows[mine]),
            self.doubtful[mine],
        )
        batch.judge(np.flatnonzero(batch.kinds))
        return batch

    def points_at(self, places: NDArray[np.intp]) -> Array:
        """Return the points (q, n) at some places in the arrays."""
        points = self.given[self.rows[places]]
        quadrics = np.searchsorted(self._ends, places, side="right")
        for quadric in np.unique(quadrics).tolist():
            here = np.flatnonzero(quadrics == quadric)
            first = self._ends[quadric] - self.counts[quadric]
            points[here] += self.spectra[quadric].lift(self._steps_of(quadric)[places[here] - first])
        return points

    def _steps_of(self, quadric: int) -> Array:
        size, end = len(self.spectra[quadric].eigenvalues), self._last_steps[quadric]
        return self.steps[end - self.counts[quadric] * size : end].reshape(-1, size)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts)

    @cached_property
    def _last_steps(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts * [len(spectrum.eigenvalues) for spectrum in self.spectra])


def _notes(kind: NearestKind, sphere: int) -> tuple[str, ...]:
    if kind is NearestKind.SPHERE:
        family = "two points are" if sphere == 0 else f"a sphere of dimension {sphere} is"
        return (f"{family} nearest; one point is given",)
    if kind is NearestKind.SINGULAR:
        return ("B has one sign and touches zero, up to rounding, at singular points only; the nearest one is given",)
    if kind is NearestKind.EMPTY:
        return ("the boundary is empty over the reals",)
    if kind is NearestKind.ON_BOUNDARY:
        return ("the point lies on the boundary, up to rounding",)
    return ()
