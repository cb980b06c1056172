"""All critical points of the distance from a point to a boundary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.boundary import Boundary
from polymargin.continuation import TrackerSettings
from polymargin.errors import InputError
from polymargin.margins.audit import Audit, audit
from polymargin.margins.base_solutions import DEFAULT_LIMIT, BaseSolutions, base_solutions
from polymargin.margins.cache import Cache


@dataclass(frozen=True, eq=False)
class CriticalPoints:
    """Critical points x with x − u + λ∇B(x) = 0 and B(x) = 0; nearest real ones first, then the others.

    points       (N, n) complex, in the original space
    multipliers  (N,) complex λ
    real         (N,) which points are real
    distances    (N,) Euclidean distance from u of the real ones, infinity for the others
    audit        what was found against what there can be
    """

    points: NDArray[np.complex128]
    multipliers: NDArray[np.complex128]
    real: NDArray[np.bool_]
    distances: NDArray[np.float64]
    audit: Audit

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        state = "complete" if self.audit.complete else "; ".join(self.audit.findings)
        return f"CriticalPoints({len(self)} complex, {int(self.real.sum())} real; {state})"


def critical_points(
    boundary: Boundary,
    point: ArrayLike,
    *,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    cache: bool | str | Path = True,
    settings: TrackerSettings | None = None,
) -> CriticalPoints:
    """All complex critical points of the distance from `point` to {B = 0}.

    >>> ellipse = Boundary.from_expression("x**2 + 4*y**2 - 4")
    >>> critical_points(ellipse, [1.0, 0.2], cache=False)
    CriticalPoints(4 complex, 4 real; complete)
    """
    u = np.asarray(point, dtype=np.float64)
    if u.shape != (boundary.dimension,) or not np.isfinite(u).all():
        raise InputError(f"point {point!r}: expected {boundary.dimension} finite numbers")
    if boundary.degree < 1:
        raise InputError(f"the boundary ({boundary.name}) is constant and has no critical points")
    if boundary.degree == 1:
        return foot_on_hyperplane(boundary, u)
    base = base_solutions(
        boundary,
        seed=seed,
        settings=settings or TrackerSettings(),
        threads=threads,
        limit=limit,
        cache=Cache.from_option(cache),
    )
    return critical_points_at(base, u, settings or TrackerSettings(), threads)


def critical_points_at(
    base: BaseSolutions, u: NDArray[np.float64], settings: TrackerSettings, threads: int | None
) -> CriticalPoints:
    """Stage 2: from the base solutions to the point u."""
    reduction = base.boundary.reduction
    target = reduction.coordinates(u)
    paths = base.move_to(target[None, :].astype(np.complex128), settings, threads)
    report, solutions, real = audit(paths, base.boundary.critical_bound)
    solutions[real] = solutions[real].real
    y = solutions[:, :-1]
    distances = np.where(real, reduction.scale * np.linalg.norm(y.real - target, axis=1), np.inf)
    order = np.argsort(distances, kind="stable")
    # λ for B itself: in reduced coordinates both the variables and B were scaled.
    multipliers = solutions[:, -1] * (reduction.scale**2 / reduction.factor)
    return CriticalPoints(
        points=reduction.lift(y, u)[order],
        multipliers=multipliers[order],
        real=real[order],
        distances=distances[order],
        audit=report,
    )


def foot_on_hyperplane(boundary: Boundary, u: NDArray[np.float64]) -> CriticalPoints:
    """Degree one: the foot of the perpendicular, B(x) = B(u) + w·(x − u)."""
    normal = boundary.gradient(u)
    multiplier = float(boundary(u)) / float(normal @ normal)
    foot = u - multiplier * normal
    report = Audit(bound=1, found=1, real=1, ends={}, coinciding=0, without_conjugate=0)
    return CriticalPoints(
        points=foot[None, :].astype(np.complex128),
        multipliers=np.array([multiplier], dtype=np.complex128),
        real=np.array([True]),
        distances=np.array([abs(multiplier) * float(np.linalg.norm(normal))]),
        audit=report,
    )
