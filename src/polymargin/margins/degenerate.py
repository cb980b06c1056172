"""Critical points where some are multiple, singular on the boundary, at infinity, or form families.

The paths are led to (u, 0) along a generic real line: (u + s·v, s·w) with s → 0 and w of the sign of B(u). Along it, for small
real s > 0, the distance from u + s·v to {B = s·w} tends to the distance from u to {B = 0} (docs/theorems), and the nearest
point is one of the M critical points, a branch of an algebraic function of s. So the nearest point of {B = 0} is among the
limits of the M branches, whatever kind of point it is: a cusp, a node, a point of a double line, one of a whole circle of
nearest points. Conversely every finite limit lies on {B = 0}. The endgame computes all limits, going around s = 0 in ℂ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Limits, PathEnd, Paths, TrackerSettings, duplicates, follow, limits
from polymargin.margins.audit import Audit, real_points, without_conjugate
from polymargin.margins.base_solutions import BaseSolutions
from polymargin.margins.regular_ends import LARGEST_CONDITION

# Where the endgame begins: complex, because on the real line itself critical points collide.
FIRST_RADIUS = 0.05 * np.exp(1j)
# Limits from the endgame are known to about 1e-9; this tells them apart and tells them real.
LIMIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class DegeneratePoints:
    """Distinct finite limits (y, λ), how many paths end at each, and the audit."""

    solutions: NDArray[np.complex128]
    real: NDArray[np.bool_]
    multiplicities: NDArray[np.int64]
    audit: Audit


def degenerate_points(
    base: BaseSolutions, target: NDArray[np.float64], paths: Paths, settings: TrackerSettings, threads: int | None
) -> DegeneratePoints:
    """What stage 2 found as regular, and the limits of all other paths as (u + s·v, s·w) → (u, 0); reduced coordinates."""
    end = np.array([*target, 0.0], dtype=np.complex128)
    direction = _generic_real_direction(base, target)
    near = end + FIRST_RADIUS * direction
    regular = _regular(paths)
    others, lost = _not_from(regular, base, end, near, settings, threads)
    ends = limits(base.program, others, end, direction, FIRST_RADIUS, settings=settings, threads=threads)
    at_infinity = ends.settled & ends.infinite[:, :-1].any(axis=1)
    finite = ends.settled & ~at_infinity
    merged = _merge(ends, finite, finite & ends.infinite[:, -1])
    solutions = np.concatenate([regular, merged.solutions])
    real = np.concatenate([real_points(regular), real_points(merged.solutions[:, :-1], LIMIT_TOLERANCE)])
    multiplicities = np.concatenate([np.ones(len(regular), dtype=np.int64), merged.counts])
    multiple = ~merged.singular & (merged.counts > 1)
    counts = {
        PathEnd.CONVERGED: len(regular) + int((~merged.singular & (merged.counts == 1)).sum()),
        PathEnd.MULTIPLE: int(merged.counts[multiple].sum()),
        PathEnd.SINGULAR_POINT: int(merged.counts[merged.singular].sum()),
        PathEnd.AT_INFINITY: int(at_infinity.sum()),
        PathEnd.UNDECIDED: int((~ends.settled).sum()) + lost,
    }
    family = bool((~merged.singular & (merged.counts == 1)).any())
    audit = Audit(
        bound=base.boundary.critical_bound,
        generic=len(base.solutions),
        found=len(solutions),
        real=int(real.sum()),
        ends={kind: count for kind, count in counts.items() if count},
        without_conjugate=without_conjugate(solutions[~real, :-1], LIMIT_TOLERANCE),
        unjudged=base.unjudged,
        remarks=_remarks(merged, multiple, real[len(regular) :], family),
    )
    return DegeneratePoints(solutions, real, multiplicities, audit)


def _regular(paths: Paths) -> NDArray[np.complex128]:
    """The points of stage 2 that are beyond doubt: converged, well conditioned, and no other point near."""
    points = paths.points[0]
    certain = paths.converged[0] & (paths.condition[0] < LARGEST_CONDITION)
    certain[certain] = ~duplicates(points[certain], LIMIT_TOLERANCE)
    return np.asarray(points[certain])


def _not_from(
    regular: NDArray[np.complex128],
    base: BaseSolutions,
    end: NDArray[np.complex128],
    near: NDArray[np.complex128],
    settings: TrackerSettings,
    threads: int | None,
) -> tuple[NDArray[np.complex128], int]:
    """All solutions at the parameters `near` that do not belong to a regular solution at the end; how many are missing."""
    approach = base.move_to(near[None, :], settings, threads)
    everything = approach.points[0][approach.converged[0]]
    returned = follow(base.program, regular, end, near, settings=settings, threads=threads)
    back = returned.points[0][returned.converged[0]]
    both = np.concatenate([back, everything])
    mine = duplicates(both)[len(back) :]
    others = everything[~mine]
    # Too many are as bad as too few: a regular solution that was not recognised counts twice.
    return others, abs(len(base.solutions) - len(regular) - len(others))


def _generic_real_direction(base: BaseSolutions, target: NDArray[np.float64]) -> NDArray[np.complex128]:
    generator = np.random.default_rng(20265)
    shift = generator.normal(size=len(target))
    reduction = base.boundary.reduction
    sign = 1.0 if float(reduction.source.values(target)) >= 0 else -1.0
    return np.array([*shift, sign * generator.uniform(0.7, 1.3)], dtype=np.complex128)


@dataclass(frozen=True, eq=False)
class _Merged:
    solutions: NDArray[np.complex128]
    counts: NDArray[np.int64]
    singular: NDArray[np.bool_]


def _merge(ends: Limits, finite: NDArray[np.bool_], singular: NDArray[np.bool_]) -> _Merged:
    """Distinct limits. At singular points of the boundary λ is infinite and only the point counts."""
    points: list[NDArray[np.complex128]] = []
    counts: list[int] = []
    kinds: list[bool] = []
    for index in np.flatnonzero(finite):
        point = ends.points[index].copy()
        if singular[index]:
            point[-1] = np.inf
        for known, other in enumerate(points):
            size = LIMIT_TOLERANCE * (1 + np.abs(point[:-1]).max())
            if np.abs(point[:-1] - other[:-1]).max() <= size and kinds[known] == bool(singular[index]):
                counts[known] += 1
                break
        else:
            points.append(point)
            counts.append(1)
            kinds.append(bool(singular[index]))
    solutions = np.array(points, dtype=np.complex128).reshape(-1, ends.points.shape[1])
    return _Merged(solutions, np.array(counts, dtype=np.int64), np.array(kinds, dtype=bool))


def _remarks(merged: _Merged, multiple: NDArray[np.bool_], real: NDArray[np.bool_], family: bool) -> tuple[str, ...]:
    sentences = []
    if multiple.any():
        counts = ", ".join(map(str, sorted(merged.counts[multiple].tolist(), reverse=True)))
        sentences.append(f"critical points merge (multiplicities {counts}): the point lies on the ED discriminant")
    if merged.singular.any():
        count, reals = int(merged.singular.sum()), int((merged.singular & real).sum())
        sentences.append(f"the boundary has {count} singular points among the limits, {reals} of them real")
    if family:
        # An isolated multiple solution attracts several paths; a single path to an irregular one means a family.
        sentences.append("critical points form a family of positive dimension; members of it are listed")
    return tuple(sentences)
