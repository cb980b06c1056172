"""Are these all the critical points? What can be checked without a proof.

A polynomial of degree D in m variables has at most N = D Σ_{i<m}(D−1)^i isolated critical points. Found
are N distinct regular ones: then the list is complete (docs/theorems). The polynomial and the point are
real: then conjugation permutes the list, and a lost or wrong point shows as one without a partner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import PathEnd, Paths, duplicates

# Relative size of an imaginary part that counts as rounding; below what separates two points.
REAL_TOLERANCE = 1e-9
PARTNER_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Audit:
    """Counts and findings for one list of critical points."""

    bound: int
    found: int
    real: int
    ends: dict[PathEnd, int]
    coinciding: int
    without_conjugate: int

    @property
    def complete(self) -> bool:
        """Whether as many distinct regular points as there can be were found, closed under conjugation."""
        return self.found == self.bound and not self.coinciding and not self.without_conjugate

    @property
    def findings(self) -> tuple[str, ...]:
        """What keeps the list from being complete, one sentence each."""
        sentences = []
        if self.found < self.bound:
            sentences.append(f"{self.found} of at most {self.bound} critical points found")
        sentences += [
            f"{count} paths: {end.message}" for end, count in self.ends.items() if end is not PathEnd.CONVERGED
        ]
        if self.coinciding:
            sentences.append(f"{self.coinciding} paths share their end point with another one")
        if self.without_conjugate:
            sentences.append(f"{self.without_conjugate} points lack their complex conjugate")
        return tuple(sentences)


def audit(paths: Paths, bound: int) -> tuple[Audit, NDArray[np.complex128], NDArray[np.bool_]]:
    """The audit of one target's paths, the distinct points (y, λ), and which of them are real."""
    arrived = paths.points[0][paths.converged[0]]
    twice = duplicates(arrived)
    distinct = np.concatenate([arrived[~twice], _representatives(arrived[twice])])
    real = real_points(distinct)
    report = Audit(
        bound=bound,
        found=len(distinct),
        real=int(real.sum()),
        ends=paths.counts(),
        coinciding=int(twice.sum()),
        without_conjugate=_without_conjugate(distinct[~real]),
    )
    return report, distinct, real


def real_points(points: NDArray[np.complex128]) -> NDArray[np.bool_]:
    """Points whose imaginary parts are rounding errors."""
    if not len(points):
        return np.zeros(0, dtype=bool)
    return np.asarray(np.abs(points.imag).max(axis=1) <= REAL_TOLERANCE * (1 + np.abs(points).max(axis=1)))


def _representatives(points: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """One point of each cluster; clusters are few and small."""
    kept: list[NDArray[np.complex128]] = []
    for point in points:
        if all(np.abs(point - other).max() > 1e-6 * (1 + np.abs(point).max()) for other in kept):
            kept.append(point)
    return np.array(kept).reshape(-1, points.shape[1])


def _without_conjugate(points: NDArray[np.complex128]) -> int:
    """How many of the nonreal points have no partner.

    Along a random real functional, partners have the same real part and opposite imaginary parts, so the
    upper and the lower half, each sorted by real part, must match entry by entry.
    """
    if not len(points):
        return 0
    key = points @ np.random.default_rng(20264).normal(size=points.shape[1])
    upper, lower = points[key.imag > 0], points[key.imag <= 0]
    upper = upper[np.argsort(key[key.imag > 0].real)]
    lower = lower[np.argsort(key[key.imag <= 0].real)].conj()
    if len(upper) == len(lower) and _same(upper, lower).all():
        return 0
    partners = sum(bool(_same(points, point.conj()).any()) for point in points)
    return len(points) - partners


def _same(first: NDArray[np.complex128], second: NDArray[np.complex128]) -> NDArray[np.bool_]:
    size = 1 + np.abs(first).max(axis=-1)
    return np.asarray(np.abs(first - second).max(axis=-1) <= PARTNER_TOLERANCE * size)
