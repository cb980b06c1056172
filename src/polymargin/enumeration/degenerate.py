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

from polymargin.continuation import Limits, PathEnd, PreciseEnd, Tracker, duplicates, landings, limits, precise_ends
from polymargin.continuation.same_points import SAME_LIMIT, without_conjugate
from polymargin.deadlines import Deadline
from polymargin.enumeration.audit import Audit
from polymargin.enumeration.base_solutions import BaseSolutions
from polymargin.enumeration.merged_limits import MergedLimits, merge_limits
from polymargin.enumeration.regular_ends import Endpoints

# Where the endgame begins: complex, because on the real line itself critical points collide.
FIRST_RADIUS = 0.05 * np.exp(1j)
# Limits with relative imaginary parts below this may be real, or belong to a cluster that has a real member.
NEARLY_REAL = 1e-2
# Paths that are followed with many digits, a fraction of a second each.
MOST_LOOKED_AT = 40


@dataclass(frozen=True, eq=False)
class DegeneratePoints:
    """Distinct finite limits (y, λ), how far each may be off, how many paths end at each, and the audit."""

    solutions: NDArray[np.complex128]
    errors: NDArray[np.float64]
    real: NDArray[np.bool_]
    multiplicities: NDArray[np.int64]
    audit: Audit


def degenerate_points(
    base: BaseSolutions, target: NDArray[np.float64], found: Endpoints, tracker: Tracker
) -> DegeneratePoints:
    """Return the regular points and the limits of all other paths as (u + s·v, s·w) → (u, 0), in reduced coordinates."""
    end = np.array([*target, 0.0], dtype=np.complex128)
    direction = _generic_real_direction(base, target)
    near = end + FIRST_RADIUS * direction
    sure = _sure(found)
    kept, others, lost = _told_apart(found.solutions[sure], base, end, near, tracker)
    regular, real = found.solutions[sure][kept], found.real[sure][kept]
    ends = limits(base.program, others, end, direction, FIRST_RADIUS, tracker)
    sharp = _landed(ends, base, end, tracker.deadline)
    reach = _nearest_distance(regular[real, :-1].real, target)
    looked_at = [number for number in _worth_a_look(ends, target, reach).tolist() if number not in sharp]
    looked_at = looked_at[:MOST_LOOKED_AT]
    precise = precise_ends(base.program, others[looked_at], end, direction, FIRST_RADIUS, tracker.deadline)
    merged = merge_limits(ends, sharp | dict(zip(looked_at, precise, strict=True)))
    return DegeneratePoints(
        solutions=np.concatenate([regular, merged.solutions]),
        errors=np.concatenate([found.errors[sure][kept], merged.errors]),
        real=np.concatenate([real, merged.real]),
        multiplicities=np.concatenate([np.ones(len(regular), dtype=np.int64), merged.counts]),
        audit=_audit(base, regular, real, merged, lost),
    )


def _audit(
    base: BaseSolutions, regular: NDArray[np.complex128], real: NDArray[np.bool_], merged: MergedLimits, lost: int
) -> Audit:
    multiple = ~merged.singular & ~merged.proved & (merged.counts > 1)
    single = ~merged.singular & (merged.proved | (merged.counts == 1))
    counts = {
        PathEnd.CONVERGED: len(regular) + int(merged.counts[single].sum()),
        PathEnd.MULTIPLE: int(merged.counts[multiple].sum()),
        PathEnd.SINGULAR_POINT: int(merged.counts[merged.singular].sum()),
        PathEnd.AT_INFINITY: merged.at_infinity,
        PathEnd.UNDECIDED: merged.undecided + lost,
    }
    solutions = np.concatenate([regular[:, :-1], merged.solutions[:, :-1]])
    everything_real = np.concatenate([real, merged.real])
    return Audit(
        bound=base.boundary.critical_bound,
        generic=len(base.solutions),
        found=len(solutions),
        real=int(everything_real.sum()),
        ends={kind: count for kind, count in counts.items() if count},
        without_conjugate=without_conjugate(solutions[~everything_real], SAME_LIMIT),
        unjudged=base.unjudged,
        remarks=_remarks(merged, multiple, bool((single & ~merged.proved).any())),
    )


def _worth_a_look(ends: Limits, target: NDArray[np.float64], reach: float) -> NDArray[np.intp]:
    """Return paths whose endpoint could be the nearest real point, the nearest first: unsettled and nearly real ones."""
    y = np.where(ends.infinite[:, :-1], 0.0, ends.points[:, :-1])
    distances = np.linalg.norm(y.real - target, axis=1)
    size = 1 + np.abs(y).max(axis=1, initial=0.0)
    nearly_real = np.abs(y.imag).max(axis=1, initial=0.0) <= NEARLY_REAL * size
    relevant = (
        ends.settled & ~ends.infinite[:, :-1].any(axis=1) & nearly_real & (distances <= reach + NEARLY_REAL * size)
    )
    distances = np.where(ends.settled, distances, np.inf)
    order = np.argsort(distances, kind="stable")
    return np.asarray(order[(relevant | ~ends.settled)[order]])


def _landed(
    ends: Limits, base: BaseSolutions, end: NDArray[np.complex128], deadline: Deadline
) -> dict[int, PreciseEnd]:
    """Return the limits that are regular solutions after all, with their proofs: doubles did not tell them from each other."""
    single = np.flatnonzero(ends.settled & ~ends.infinite.any(axis=1) & (ends.windings == 1))
    proofs = zip(single.tolist(), landings(base.program, ends.points[single], end, deadline), strict=True)
    return {number: proof for number, proof in proofs if proof is not None}


def _nearest_distance(points: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(points - target, axis=1).min(initial=np.inf))


def _sure(found: Endpoints) -> NDArray[np.intp]:
    """Return which regular solutions are beyond doubt: proved ones, and those that are alone and come with their conjugate."""
    points, numbers = found.solutions, np.flatnonzero(found.regular)
    conjugates = duplicates(np.concatenate([points, points.conj()]), SAME_LIMIT)[: len(points)]
    proved = np.array([number in found.proofs for number in numbers.tolist()], dtype=bool)
    return np.flatnonzero(proved | (~duplicates(points, SAME_LIMIT) & conjugates))


def _told_apart(
    regular: NDArray[np.complex128],
    base: BaseSolutions,
    end: NDArray[np.complex128],
    near: NDArray[np.complex128],
    tracker: Tracker,
) -> tuple[NDArray[np.intp], NDArray[np.complex128], int]:
    """Return the trusted regular solutions, all solutions at `near` that belong to none, and the number missing.

    A regular solution can be followed back to `near`, each to one of its own; what cannot only looked regular.
    """
    approach = base.move_to(near[None, :], tracker)
    everything = approach.points[0][approach.converged[0]]
    returned = tracker.follow(base.program, regular, end, near)
    arrived = np.flatnonzero(returned.converged[0])
    back = returned.points[0][arrived]
    shared = duplicates(np.concatenate([back, everything]))
    kept, others = arrived[shared[: len(back)]], everything[~shared[len(back) :]]
    # Too many are as bad as too few: a regular solution that was not recognised counts twice.
    return kept, others, abs(len(base.solutions) - len(kept) - len(others))


def _generic_real_direction(base: BaseSolutions, target: NDArray[np.float64]) -> NDArray[np.complex128]:
    generator = np.random.default_rng(20265)
    shift = generator.normal(size=len(target))
    reduction = base.boundary.reduction
    sign = 1.0 if float(reduction.source.values(target)) >= 0 else -1.0
    return np.array([*shift, sign * generator.uniform(0.7, 1.3)], dtype=np.complex128)


def _remarks(merged: MergedLimits, multiple: NDArray[np.bool_], family: bool) -> tuple[str, ...]:
    sentences = []
    if multiple.any():
        counts = ", ".join(map(str, sorted(merged.counts[multiple].tolist(), reverse=True)))
        sentences.append(f"critical points merge (multiplicities {counts}): the point lies on the ED discriminant")
    if merged.singular.any():
        count, reals = int(merged.singular.sum()), int((merged.singular & merged.real).sum())
        sentences.append(f"the boundary has {count} singular points among the limits, {reals} of them real")
    if family:
        # An isolated multiple solution attracts several paths; a single path to an irregular one means a family.
        sentences.append("critical points form a family of positive dimension; members of it are listed")
    return tuple(sentences)
