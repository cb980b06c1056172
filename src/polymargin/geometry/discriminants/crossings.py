"""Where a segment of points crosses the ED discriminant: the number of real critical points changes by two there."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Crossing:
    """`position` in [0, 1] along the segment, known to `error`, with the numbers of real critical points on either side."""

    position: float
    error: float
    before: int
    after: int


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
) -> list[Crossing]:
    """Crossings between neighbouring samples whose counts differ, by bisection; two within one step cancel and are missed.

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

    def count(positions: NDArray[np.float64]) -> NDArray[np.int64]:
        points = ends[0] + positions[:, None] * (ends[1] - ends[0])
        found, doubtful = counter.at(points, tracker)
        # A doubtful position is on the discriminant as far as one can see: either half will do.
        return np.where(doubtful, -1, found)

    positions = np.linspace(0.0, 1.0, samples + 1)
    counts = count(positions)
    positions, counts = positions[counts >= 0], counts[counts >= 0]
    change = np.flatnonzero(counts[1:] != counts[:-1])
    low, high = positions[change], positions[change + 1]
    before, after = counts[change], counts[change + 1]
    while len(low) and (high - low).max() > ACCURACY:
        middle = (low + high) / 2
        found = count(middle)
        # Whatever the middle is, a change of the count lies in the half whose ends differ.
        upward = (found == before) | (found < 0)
        low, high = np.where(upward, middle, low), np.where(upward, high, middle)
        after = np.where(upward, after, found)
    return [
        Crossing(float((a + b) / 2), float((b - a) / 2), int(n), int(m))
        for a, b, n, m in zip(low, high, before, after, strict=True)
    ]
