"""All roots of the rational equation E(λ) = 0.

With d_j = 1 + 2λμ_j for the distinct nonzero eigenvalues μ_j, γ_j = ‖g on the eigenspace of μ_j‖² > 0 and γ₀ = ‖g on ker A‖²,

    E(λ) = S − λγ₀ + Σ_j w_j / d_j²,    w_j = γ_j/(4μ_j),    S = β − Σ_j w_j,    E'(λ) = −γ₀ − Σ_j γ_j / d_j³.

P = E ∏ d_j² has degree 2r + 1 if γ₀ ≠ 0, else 2r if S ≠ 0, else 2r − 2 or, for special u, less. Since 1/d² is an entry of the
inverse of [[d, −1], [0, d]], P is the determinant of a pencil N₀ + λN₁ of size 2r + 1: all roots come from one eigenvalue
problem, ω ↦ λ = s + 1/ω with the matrix −(N₀ + sN₁)⁻¹N₁. They are polished together by the method of Ehrlich and Aberth
on the rational form, so no polynomial coefficient is ever computed and no two starts can settle on one simple root.

A root is kept as an offset from a reference (0 or a pole −1/(2μ_j)): close to a pole d_j is 2μ_j times the offset, without
cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from polymargin.quadric.spectrum import EPSILON
from polymargin.quadric.squares import Array

Complex = NDArray[np.complex128]

MOST_ITERATIONS = 80
# Relative to the terms it is summed from: a leading coefficient below this is zero.
LEADING_TOLERANCE = 1e-11
# Sizes of d_j that count as close to the pole of μ_j when starts are chosen.
CLOSE_TO_POLE = 1e-4
# Where the pencil is inverted, relative to 1/(2 max|μ|): no special place.
SHIFT = 0.3719


@dataclass(frozen=True, eq=False)
class Secular:
    """E for one point: poles' μ (r,) and γ (r,) > 0; γ₀, β, and S (set to exactly 0 where it is to vanish)."""

    eigenvalues: Array
    squares: Array
    kernel: float
    value: float
    least: float

    @property
    def weights(self) -> Array:
        """Return γ_j/(4μ_j)."""
        return self.squares / (4 * self.eigenvalues)

    @property
    def degree(self) -> int:
        """Return the number of finite roots with multiplicity."""
        full = 2 * len(self.eigenvalues)
        if self.kernel > 0:
            return full + 1
        if self.least != 0:
            return full
        # E = Σ_k (−1)^k (k + 1) λ^(−2−k) Σ_j w_j (2μ_j)^(−2−k): the first sum that does not vanish.
        terms = self.weights / (2 * self.eigenvalues) ** 2
        for drop in range(2, full):
            if abs(terms.sum()) > LEADING_TOLERANCE * np.abs(terms).sum():
                return full - drop
            terms = terms / (2 * self.eigenvalues)
        return 0

    def __call__(self, multipliers: Complex, d: Complex) -> tuple[Complex, Complex]:
        """Return E and E' at λ (N,) with d (N, r)."""
        slopes = -self.kernel - (self.squares / d**3).sum(axis=1)
        far = self.least - multipliers * self.kernel + (self.weights / d**2).sum(axis=1)
        # Close to λ = 0 the sum β − ½ Σ γ_j (λ/d_j)(1 + 1/d_j) does not cancel.
        near = self.value - multipliers * (self.kernel + (self.squares * (1 + 1 / d) / (2 * d)).sum(axis=1))
        largest = float(np.abs(self.eigenvalues).max(initial=0.0))
        return np.where(np.abs(multipliers) * largest < 0.25, near, far), slopes


@dataclass(frozen=True, eq=False)
class Roots:
    """λ (N,) and d (N, r) at each."""

    multipliers: Complex
    d: Complex


def all_roots(equation: Secular) -> Roots:
    """Return the finite roots with multiplicity."""
    mu = equation.eigenvalues
    count = equation.degree
    start = _pencil_roots(equation, count)
    references = np.concatenate([[0.0], -1 / (2 * mu)])
    reference = np.abs(start[:, None] - references).argmin(axis=1)
    origins = references[reference]
    bases = 1 - np.multiply.outer(np.concatenate([[0.0], 1 / mu])[reference], mu)  # d_j at the reference
    polar = np.flatnonzero(reference)
    bases[polar, reference[polar] - 1] = 0.0
    offsets = _apart(equation, start - origins, reference)
    active = np.arange(count)
    for _ in range(MOST_ITERATIONS):
        if not len(active):
            break
        place, offset = origins[active], offsets[active]
        d = bases[active] + 2 * offset[:, None] * mu
        with np.errstate(all="ignore"):
            value, slope = equation(place + offset, d)
            newton = value / (slope + value * (4 * mu / d).sum(axis=1))
            gaps = (place[:, None] - origins) + (offset[:, None] - offsets)
            gaps[np.arange(len(active)), active] = np.inf
            step = newton / (1 - newton * (1 / gaps).sum(axis=1))
        step = np.where(np.isfinite(step), step, 0.0)
        offsets[active] = offset - step
        active = active[np.abs(step) > 2 * EPSILON * np.abs(offset)]
    return Roots(origins + offsets, bases + 2 * offsets[:, None] * mu)


def _pencil_roots(equation: Secular, count: int) -> Complex:
    """Return the `count` roots of smallest modulus around the shift, from the eigenvalue problem."""
    mu, weights = equation.eigenvalues, equation.weights
    if count == 0:
        return np.zeros(0, dtype=np.complex128)
    scale = 2 * float(np.abs(mu).max(initial=0.0)) or 1.0
    size = max(abs(equation.least), float(np.abs(weights).max(initial=0.0)), equation.kernel / scale)
    r = len(mu)
    constant, linear = np.zeros((2 * r + 1, 2 * r + 1)), np.zeros((2 * r + 1, 2 * r + 1))
    first, second = np.arange(0, 2 * r, 2), np.arange(1, 2 * r, 2)
    root = np.sqrt(np.abs(weights) / size)
    for index in (first, second):
        constant[index, index], linear[index, index] = 1.0, 2 * mu / scale
    constant[first, second] = -1.0
    constant[second, -1], constant[-1, first] = root, -np.sign(weights) * root
    constant[-1, -1], linear[-1, -1] = equation.least / size, -equation.kernel / size / scale
    inverse = scipy.linalg.eigvals(-np.linalg.solve(constant + SHIFT * linear, linear))
    largest = inverse[np.argsort(-np.abs(inverse), kind="stable")[:count]]
    return np.asarray((SHIFT + 1 / largest) / scale, dtype=np.complex128)


def _apart(equation: Secular, offsets: Complex, reference: NDArray[np.intp]) -> Complex:
    """Return better starts if the eigenvalue problem is ill conditioned: roots close to a pole have only √ε accuracy.

    Close to the pole of μ_j, E ≈ R + w_j/d_j² with R the other terms at the pole, hence d_j ≈ ±√(−w_j/R).
    """
    mu, weights = equation.eigenvalues, equation.weights
    result = offsets.copy()
    for j in np.unique(reference[reference > 0]) - 1:
        close = np.flatnonzero((reference == j + 1) & (np.abs(2 * mu[j] * offsets) < CLOSE_TO_POLE))
        d = np.delete(1 - mu / mu[j], j)
        rest = equation.least + equation.kernel / (2 * mu[j]) + float((np.delete(weights, j) / d**2).sum())
        if len(close) == 2 and abs(rest) > 0:
            guess = np.sqrt(complex(-weights[j] / rest))
            if abs(guess) < CLOSE_TO_POLE:
                result[close] = np.array([guess, -guess]) / (2 * mu[j])
    # Equal starts would never part.
    twist = 1e-9 * np.exp(1j * np.arange(len(result)))
    places = np.stack([reference.astype(np.complex128), result], axis=1)
    _, first = np.unique(places, axis=0, return_index=True)
    again = np.ones(len(result), dtype=bool)
    again[first] = False
    size = np.abs(result) + 1e-3 / (2 * np.abs(np.concatenate([[np.abs(mu).max(initial=1.0)], mu])[reference]))
    return np.where(again, result + twist * size, result)
