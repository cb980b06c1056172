"""The second step for many points at once, if every point is ordinary.

A point is ordinary if the survey of its critical points is clear: every path of one pass ended at a regular point of its own and
the list is closed under conjugation. What `critical_points_at` finds there is then read off whole arrays. Whatever is not so
at one of the points leaves that point to `critical_points_at`; no doubt is settled here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Job, Survey
from polymargin.enumeration.base_solutions import BaseSolutions
from polymargin.enumeration.near_discriminant import discriminant_distances

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OrdinaryPoints:
    """Critical points of p points u (p, n) together.

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
    """Return a job of all base solutions to every point (p, n), at level zero."""
    targets = np.zeros((len(points), base.boundary.reduction.dimension + 1), dtype=np.complex128)
    targets[:, :-1] = base.boundary.reduction.coordinates(points)
    return Job(base.program, base.solutions, base.parameters, targets)


def ordinary_points(base: BaseSolutions, points: Array, survey: Survey) -> OrdinaryPoints:
    """Return the points that the survey of the paths of `paths_to` settles, for complete base solutions."""
    reduction, chosen = base.boundary.reduction, points[survey.rows]
    lengths = reduction.scale * np.linalg.norm(survey.nearest - reduction.coordinates(chosen), axis=1)
    return OrdinaryPoints(
        rows=survey.rows,
        real_counts=survey.real_counts,
        nearest=reduction.lift(survey.nearest, chosen),
        distances=np.where(survey.real_counts > 0, lengths, np.inf),
        discriminant=discriminant_distances(base.program, survey.conjugates, survey.reals),
    )
