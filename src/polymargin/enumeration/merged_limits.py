"""Limits of paths become points: which of them are one, which are real, and how far each may be off.

The endgame in doubles knows a limit to about nine digits and cannot tell a multiple point from a tight cluster. Where it
matters the path was followed with many digits (`continuation.precise_paths`): a regular end is proved to be one, alone in its
box, real or not. Others are limits with an error; those closer than their errors are one point as far as anyone can tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import End, Limits, PreciseEnd
from polymargin.continuation.same_points import SAME_LIMIT


@dataclass(frozen=True, eq=False)
class MergedLimits:
    """Distinct limits (y, λ), and what became of the paths that have none.

    errors       how far the point may be from the limit, in reduced coordinates
    counts       how many paths end there
    real         proved, or not distinguishable from real
    singular     singular points of the boundary: λ is infinite
    proved       regular solutions, by Krawczyk's test
    """

    solutions: NDArray[np.complex128]
    errors: NDArray[np.float64]
    counts: NDArray[np.int64]
    real: NDArray[np.bool_]
    singular: NDArray[np.bool_]
    proved: NDArray[np.bool_]
    at_infinity: int
    undecided: int


@dataclass
class _Limit:
    solution: NDArray[np.complex128]
    error: float
    singular: bool
    real: bool
    proof: PreciseEnd | None = None
    count: int = field(default=1)


def merge_limits(ends: Limits, sharp: dict[int, PreciseEnd]) -> MergedLimits:
    """Merge all limits of the endgame with more accurate data for some of them."""
    points: list[_Limit] = []
    at_infinity = undecided = 0
    for index in range(len(ends.points)):
        precise = sharp.get(index)
        if precise is not None and precise.kind is End.UNDECIDED and ends.settled[index]:
            precise = None  # the doubles knew more
        infinite = ends.infinite[index] if precise is None else precise.infinite
        if (precise is None and not ends.settled[index]) or (precise is not None and precise.kind is End.UNDECIDED):
            undecided += 1
        elif infinite[:-1].any():
            at_infinity += 1
        elif precise is not None and precise.kind is End.REGULAR:
            twin = any(point.proof is not None and point.proof.meets(precise) for point in points)
            if twin:  # two paths cannot end at one regular solution: one of them has jumped
                undecided += 1
            else:
                points.append(_Limit(precise.point, precise.error, False, precise.real, precise))
        else:
            _add(points, _limit(ends.points[index], bool(infinite[-1]), precise))
    return MergedLimits(
        solutions=np.array([p.solution for p in points], dtype=np.complex128).reshape(-1, ends.points.shape[1]),
        errors=np.array([p.error for p in points]),
        counts=np.array([p.count for p in points], dtype=np.int64),
        real=np.array([p.real for p in points], dtype=bool),
        singular=np.array([p.singular for p in points], dtype=bool),
        proved=np.array([p.proof is not None for p in points], dtype=bool),
        at_infinity=at_infinity,
        undecided=undecided,
    )


def _limit(point: NDArray[np.complex128], singular: bool, precise: PreciseEnd | None) -> _Limit:
    solution = (point if precise is None else precise.point).copy()
    if singular:
        solution[-1] = np.inf
    size = 1 + float(np.abs(solution[:-1]).max())
    error = SAME_LIMIT * size if precise is None else precise.error
    return _Limit(solution, error, singular, bool(np.abs(solution[:-1].imag).max() <= error))


def _add(points: list[_Limit], limit: _Limit) -> None:
    """Add to the point that cannot be separated from it, or as a new one. At singular points λ is infinite and only y counts."""
    for other in points:
        apart = float(np.abs(limit.solution[:-1] - other.solution[:-1]).max())
        if other.proof is None and other.singular == limit.singular and apart <= limit.error + other.error:
            other.count += 1
            if limit.error < other.error:
                other.solution, other.error, other.real = limit.solution, limit.error, limit.real
            return
    points.append(limit)
