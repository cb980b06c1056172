"""Where a segment of points crosses the ED discriminant: the number of real critical points changes by two there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import DEFAULT_LIMIT, checked, checked_point
from polymargin.boundary import Boundary
from polymargin.continuation import Tracker
from polymargin.errors import InputError
from polymargin.geometry.discriminants.real_counts import RealCounter

# Positions along the segment are located to this accuracy, relative to its length.
ACCURACY = 1e-8
# Shares of an interval at which it is cut where the count in the middle cannot be told; where none can, it is cut no more.
OTHER_SHARES = (0.4, 0.6)
# The count of a position on the discriminant or next to it.
UNKNOWN = -1

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Crossing:
    """`position` in [0, 1] along the segment, known to `error`, with the numbers of real critical points on either side."""

    position: float
    error: float
    before: int
    after: int


class Crossings(list[Crossing]):
    """Crossings in order.

    undecided   positions of samples whose number could not be told: crossings next to these may be missing
    """

    undecided: tuple[float, ...] = ()


@checked(Boundary)
def discriminant_crossings(
    boundary: Boundary,
    start: ArrayLike,
    end: ArrayLike,
    *,
    samples: int = 200,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    cache: bool | str | Path = True,
) -> Crossings:
    """Return crossings between neighbouring samples whose counts differ, by bisection; two within one step cancel and are missed.

    A boundary that may have more than `limit` critical points is refused.

    >>> ellipse = Boundary.from_expression("x**2 + 4*y**2 - 4")
    >>> [round(c.position, 6) for c in discriminant_crossings(ellipse, [0.0, 0.001], [3.0, 0.001], cache=False)]
    [0.496399]
    """
    ends = [checked_point(place, boundary.dimension, name) for name, place in (("start", start), ("end", end))]
    if (ends[0] == ends[1]).all():
        raise InputError(f"start and end {start!r}: a segment needs two different points")
    tracker = Tracker(threads=threads)
    counter = RealCounter.of(boundary, tracker, seed=seed, limit=limit, cache=cache)

    def count(positions: Array) -> NDArray[np.int64]:
        points = ends[0] + positions[:, None] * (ends[1] - ends[0])
        found, doubtful = counter.at(points, tracker)
        return np.where(doubtful, UNKNOWN, found)

    positions = np.linspace(0.0, 1.0, samples + 1)
    counts = count(positions)
    known = counts != UNKNOWN
    found = zip(positions[known].tolist(), counts[known].tolist(), strict=True)
    parts = [(a, b, n, m) for (a, n), (b, m) in pairwise(found) if n != m]
    crossings = Crossings()
    while parts:
        narrow = [part for part in parts if part[1] - part[0] <= ACCURACY]
        parts = [part for part in parts if part[1] - part[0] > ACCURACY]
        inside = _inside(np.array([part[:2] for part in parts]).reshape(-1, 2), count)
        halves = []
        for (a, b, n, m), (middle, between) in zip(parts, inside, strict=True):
            if between == UNKNOWN:
                narrow.append((a, b, n, m))
                continue
            # Whatever the middle is, a change of the count lies in each part whose ends differ.
            halves += [part for part in ((a, middle, n, between), (middle, b, between, m)) if part[2] != part[3]]
        crossings += [Crossing((a + b) / 2, (b - a) / 2, n, m) for a, b, n, m in narrow]
        parts = halves
    crossings.sort(key=lambda crossing: crossing.position)
    crossings.undecided = tuple(positions[~known].tolist())
    return crossings


def _inside(parts: Array, count: Callable[[Array], NDArray[np.int64]]) -> list[tuple[float, int]]:
    """Return positions inside intervals (m, 2) and their counts: the middle, or another one where that cannot be told."""
    low, high = parts.T
    position = (low + high) / 2
    found = count(position)
    for share in OTHER_SHARES:
        unknown = np.flatnonzero(found == UNKNOWN)
        position[unknown] = low[unknown] + share * (high - low)[unknown]
        found[unknown] = count(position[unknown])
    return list(zip(position.tolist(), found.tolist(), strict=True))
