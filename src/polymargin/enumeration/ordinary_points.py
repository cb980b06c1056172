"""Stage 2 for many points at once, where nothing is out of the ordinary.

A point is ordinary if every path of one pass of the core ended at a regular point of its own and the list is closed under
conjugation: what `critical_points_at` finds there is then read off whole arrays. Whatever is not so at one of the
points leaves that point to `critical_points_at`; no doubt is settled here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Job, Paths
from polymargin.continuation.same_points import clearly_closed, clearly_distinct, real_points
from polymargin.enumeration.base_solutions import BaseSolutions
from polymargin.enumeration.near_discriminant import discriminant_distances
from polymargin.enumeration.regular_ends import LARGEST_CONDITION

Array = NDArray[np.float64]

# Paths looked at together: their arrays should fit a cache, or every check waits for memory.
PATHS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class OrdinaryPoints:
    """What is known of p points u (p, n) together.

    rows          (q,) those that are ordinary; the other fields have an entry for each of these
    real_counts   (q,) number of real critical points
    nearest       (q, n) the nearest real critical point, in the original space; meaningless where there is none
    distances     (q,) its distance, infinite where there is none
    discriminant  (q,) estimated distance of the point from the ED discriminant, in reduced coordinates
    """

    rows: NDArray[np.intp]
    real_counts: NDArray[np.int64]
    nearest: Array
    distances: Array
    discriminant: Array


def paths_to(base: BaseSolutions, points: Array) -> Job:
    """All base solutions to every point (p, n), at level zero."""
    targets = np.zeros((len(points), base.boundary.reduction.dimension + 1), dtype=np.complex128)
    targets[:, :-1] = base.boundary.reduction.coordinates(points)
    return Job(base.program, base.solutions, base.parameters, targets)


def ordinary_points(base: BaseSolutions, points: Array, paths: Paths) -> OrdinaryPoints:
    """What the paths of `paths_to`, followed once, say about the points, for base solutions known to be all."""
    size = max(1, PATHS_AT_ONCE // len(base.solutions))
    if len(points) <= size:
        return _ordinary(base, points, paths)
    places = range(0, len(points), size)
    pieces = [_ordinary(base, points[p : p + size], paths.to_targets(p, p + size)) for p in places]
    return OrdinaryPoints(
        rows=np.concatenate([piece.rows + place for place, piece in zip(places, pieces, strict=True)]),
        real_counts=np.concatenate([piece.real_counts for piece in pieces]),
        nearest=np.concatenate([piece.nearest for piece in pieces]),
        distances=np.concatenate([piece.distances for piece in pieces]),
        discriminant=np.concatenate([piece.discriminant for piece in pieces]),
    )


def _ordinary(base: BaseSolutions, points: Array, paths: Paths) -> OrdinaryPoints:
    regular = (paths.converged & (paths.condition < LARGEST_CONDITION)).all(axis=1)
    rows = np.flatnonzero(regular)
    lists = paths.points[rows] if len(rows) < len(points) else paths.points
    real = real_points(lists)
    good = clearly_distinct(lists) & clearly_closed(lists, real)
    if not good.all():
        rows, lists, real = rows[good], lists[good], real[good]
    reduction, chosen = base.boundary.reduction, points[rows]
    steps = lists[..., :-1].real - reduction.coordinates(chosen)[:, None]
    distances = np.where(real, reduction.scale * np.linalg.norm(steps, axis=2), np.inf)
    place = distances.argmin(axis=1)
    each = np.arange(len(rows))
    nearest = lists[each, place, :-1].real.astype(np.complex128)
    return OrdinaryPoints(
        rows=rows,
        real_counts=real.sum(axis=1),
        nearest=reduction.lift(nearest, chosen).real,
        distances=distances[each, place],
        discriminant=discriminant_distances(base.program, lists, real),
    )
