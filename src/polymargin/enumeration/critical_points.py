"""All critical points of the distance from a point to a boundary."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import DEFAULT_LIMIT, checked, checked_point
from polymargin.boundary import Boundary, in_metric
from polymargin.continuation import PathEnd, Tracker, TrackerSettings
from polymargin.continuation.same_points import without_conjugate
from polymargin.continuation.survey import closest_conjugates, closest_reals
from polymargin.enumeration.audit import Audit
from polymargin.enumeration.base_solutions import BaseSolutions, base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.degenerate import DegeneratePoints, degenerate_points
from polymargin.enumeration.hyperplane import Hyperplane, foot_in_metric
from polymargin.enumeration.limit import check_limit
from polymargin.enumeration.near_discriminant import discriminant_distances, near_discriminant
from polymargin.enumeration.regular_ends import REGULAR_ERROR, regular_ends
from polymargin.errors import InputError

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class CriticalPoints:
    """Critical points x with x − u + λ∇B(x) = 0 and B(x) = 0; nearest real ones first, then the others.

    points          (N, n) complex, in the original space
    multipliers     (N,) complex λ; infinite at singular points of the boundary
    real            (N,) which points are real
    distances       (N,) distance from u of the real ones, infinity for the others
    errors          (N,) how far the point may be from where the critical point is; points closer than their errors are one
    multiplicities  (N,) number of paths that end there: 1 for a regular point
    audit           what was found against what there can be
    """

    points: NDArray[np.complex128]
    multipliers: NDArray[np.complex128]
    real: NDArray[np.bool_]
    distances: NDArray[np.float64]
    errors: NDArray[np.float64]
    multiplicities: NDArray[np.int64] = field(repr=False)
    audit: Audit

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        state = "complete" if self.audit.complete else "; ".join(self.audit.findings)
        return f"CriticalPoints({len(self)} complex, {int(self.real.sum())} real; {state})"


@checked(Boundary)
def critical_points(
    boundary: Boundary,
    point: ArrayLike,
    *,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    cache: bool | str | Path = True,
    settings: TrackerSettings | None = None,
    device: str | None = None,
    metric: Any = None,
) -> CriticalPoints:
    """Return all complex critical points of the distance from `point` to {B = 0}, including singular points of {B = 0}.

    Base solutions are cached, so another point of the same boundary costs only the second step. `metric` gives
    positive weights, one for each input, or a positive definite matrix Q: then Q(x − u) + λ∇B(x) = 0, and distances are in Q.

    >>> circle = Boundary.from_expression("x**2 + y**2 - 4")
    >>> critical_points(circle, [1.0, 0.2], cache=False)
    CriticalPoints(2 complex, 2 real; complete)
    """
    u = checked_point(point, boundary.dimension)
    if boundary.degree < 1:
        raise InputError(f"the boundary ({boundary.name}) is constant and has no critical points")
    boundary = in_metric(boundary, metric, seed)
    return critical_points_by(Tracker.of(settings, threads, device), boundary, u, seed=seed, limit=limit, cache=cache)


def critical_points_by(
    tracker: Tracker, boundary: Boundary, u: NDArray[np.float64], *, seed: int, limit: int, cache: bool | str | Path
) -> CriticalPoints:
    """Return the critical points of a nonconstant boundary with a given tracker, until its deadline."""
    if boundary.degree == 1:
        return foot_on_hyperplane(boundary, u)
    check_limit(boundary, limit, tracker)
    key = (BaseSolutions, seed, tracker.settings)
    base = boundary.cache.get(key)
    if base is None:
        base = base_solutions(boundary, tracker, seed=seed, cache=Cache.from_option(cache))
        if not base.unjudged:  # what was not judged complete is tried again by the next call
            boundary.cache[key] = base
    return critical_points_at(base, u, tracker)


def critical_points_at(base: BaseSolutions, u: NDArray[np.float64], tracker: Tracker) -> CriticalPoints:
    """Move the base solutions to the point u, with the endgame if some path has no regular endpoint.

    Regular endpoints come with their conjugates. Those that do not are members of a family that only look regular.
    """
    target = base.boundary.reduction.coordinates(u)
    ends = regular_ends(base, np.array([*target, 0.0], dtype=np.complex128), tracker)
    solutions, real = ends.solutions, ends.real
    if not ends.regular.all() or without_conjugate(solutions[~real]):
        return _in_original_space(base, u, degenerate_points(base, target, ends, tracker))
    pairs = closest_conjugates(solutions[None], real[None]), closest_reals(solutions[None], real[None])
    distance = float(discriminant_distances(base.program, *pairs)[0])
    audit = Audit(
        bound=base.boundary.critical_bound,
        generic=len(base.solutions),
        found=len(solutions),
        real=int(real.sum()),
        ends={PathEnd.CONVERGED: len(solutions)},
        unjudged=base.unjudged,
        remarks=near_discriminant(distance, base.boundary.reduction.scale),
    )
    ones = np.ones(len(solutions), dtype=np.int64)
    return _in_original_space(base, u, DegeneratePoints(solutions, ends.errors, real, ones, audit))


def _in_original_space(base: BaseSolutions, u: NDArray[np.float64], found: DegeneratePoints) -> CriticalPoints:
    reduction = base.boundary.reduction
    solutions, real = found.solutions, found.real
    y = solutions[:, :-1].copy()
    y[real] = y[real].real
    distances = np.where(real, reduction.scale * np.linalg.norm(y.real - reduction.coordinates(u), axis=1), np.inf)
    order = np.argsort(distances, kind="stable")
    # λ for B itself: in reduced coordinates both the variables and B were scaled.
    multipliers = solutions[:, -1].copy()
    multipliers[np.isfinite(multipliers)] *= reduction.scale**2 / reduction.factor
    return CriticalPoints(
        points=reduction.lift(y, u)[order],
        multipliers=multipliers[order],
        real=real[order],
        distances=distances[order],
        errors=(reduction.scale * found.errors + EPSILON * np.abs(u).max())[order],
        multiplicities=found.multiplicities[order],
        audit=found.audit,
    )


def foot_on_hyperplane(boundary: Boundary, u: NDArray[np.float64]) -> CriticalPoints:
    """Return the foot of the perpendicular for degree one: u − foot = λ∇B, or λQ⁻¹∇B in a metric Q."""
    foot, distance, multiplier = (
        foot_in_metric(boundary, metric, u) if (metric := boundary.metric) else Hyperplane(boundary).answer(u)
    )
    return CriticalPoints(
        points=foot[None, :].astype(np.complex128),
        multipliers=np.array([multiplier], dtype=np.complex128),
        real=np.array([True]),
        distances=np.array([distance]),
        errors=np.array([REGULAR_ERROR * distance]),
        multiplicities=np.array([1]),
        audit=Audit(bound=1, generic=1, found=1, real=1, ends={PathEnd.CONVERGED: 1}),
    )
