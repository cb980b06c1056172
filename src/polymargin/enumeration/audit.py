"""Are these all the critical points? What can be checked without a proof.

Stage 1 knows the generic number M of critical points for all points and levels of a boundary. If M distinct regular ones
are found at (u, 0), the list is complete: a further critical point, regular or not, would be the limit of one more of the
M solutions nearby (docs/theorems). If fewer are regular, the endgame says for each of the M paths where it ends. The
polynomial and the point are real, so conjugation permutes the list: a lost or wrong point shows as one without partner.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import PathEnd
from polymargin.continuation.generic_directions import generic_directions

# Relative size of an imaginary part that counts as rounding; below what separates two regular points.
REAL_TOLERANCE = 1e-9
PARTNER_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Audit:
    """Counts and findings for one list of critical points.

    bound              number that the degree allows
    generic            number M for generic points and levels of this boundary
    found, real        distinct points in the list, and how many of them are real
    ends               what became of the M paths
    without_conjugate  nonreal points that lack their partner
    unjudged           paths of stage 1 whose end is unknown: M may be too small
    remarks            what was met on the way: multiple points, singular points of the boundary, families
    """

    bound: int
    generic: int
    found: int
    real: int
    ends: dict[PathEnd, int]
    without_conjugate: int = 0
    unjudged: int = 0
    remarks: tuple[str, ...] = field(default=())

    @property
    def complete(self) -> bool:
        """Whether every path has a judged end and the list is closed under conjugation."""
        judged = sum(self.ends.get(end, 0) for end in PathEnd if end.judged)
        return not self.unjudged and judged == self.generic and not self.without_conjugate

    @property
    def findings(self) -> tuple[str, ...]:
        """What keeps the list from being complete, one sentence each."""
        sentences = [f"{n} paths: {end.message}" for end, n in self.ends.items() if not end.judged]
        if self.unjudged:
            sentences.append(f"{self.unjudged} of {self.bound} paths of stage 1 have no known end")
        if self.without_conjugate:
            sentences.append(f"{self.without_conjugate} points lack their complex conjugate")
        return tuple(sentences)


def real_points(points: NDArray[np.complex128], tolerance: float = REAL_TOLERANCE) -> NDArray[np.bool_]:
    """Points (…, n) whose imaginary parts are rounding errors."""
    return np.asarray(
        np.abs(points.imag).max(axis=-1, initial=0.0) <= tolerance * (1 + np.abs(points).max(axis=-1, initial=0.0))
    )


def without_conjugate(points: NDArray[np.complex128], tolerance: float = PARTNER_TOLERANCE) -> int:
    """How many of the nonreal points have no partner.

    Along a random real functional, partners have the same real part and opposite imaginary parts, so the
    upper and the lower half, each sorted by real part, must match entry by entry.
    """
    if not len(points):
        return 0
    key = points @ generic_directions(1, points.shape[1])[0]
    upper, lower = points[key.imag > 0], points[key.imag <= 0]
    upper = upper[np.argsort(key[key.imag > 0].real)]
    lower = lower[np.argsort(key[key.imag <= 0].real)].conj()
    if len(upper) == len(lower) and _same(upper, lower, tolerance).all():
        return 0
    partners = sum(bool(_same(points, point.conj(), tolerance).any()) for point in points)
    return len(points) - partners


def clearly_closed(lists: NDArray[np.complex128], real: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the lists (T, N, n) are closed under conjugation, told by the order along a functional alone.

    Where it is silent, as where two points lie side by side along the functional, `without_conjugate` tells.
    """
    key = lists @ generic_directions(1, lists.shape[2])[0]
    upper, lower = ~real & (key.imag > 0), ~real & ~(key.imag > 0)
    closed = np.asarray(upper.sum(axis=1) == lower.sum(axis=1))
    rows, first = _sorted(lists, key, upper & closed[:, None])
    _, second = _sorted(lists, key, lower & closed[:, None])
    closed[rows[~_same(first, second.conj(), PARTNER_TOLERANCE)]] = False
    return closed


def _sorted(
    lists: NDArray[np.complex128], key: NDArray[np.complex128], chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.complex128]]:
    """The chosen points of all lists, one list after the other, each by the real part of its key."""
    rows, places = np.nonzero(chosen)
    order = np.lexsort((key.real[chosen], rows))
    rows, places = rows[order], places[order]
    return rows, lists[rows, places]


def _same(first: NDArray[np.complex128], second: NDArray[np.complex128], tolerance: float) -> NDArray[np.bool_]:
    size = 1 + np.abs(first).max(axis=-1)
    return np.asarray(np.abs(first - second).max(axis=-1) <= tolerance * size)
