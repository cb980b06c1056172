"""Random polynomials with Gaussian coefficients, and the one that wide shallow networks tend to.

The kernel of the limiting field (see `kernel`) is a sum of products, K = Σ_s c_s q(x)^s q(y)^s (1 + x·y/n)^{d−2s}. The last
factor alone is the kernel of a polynomial of degree k = d − 2s with independent coefficients √C(k; e) n^{−|e|/2} ξ_e, where
C(k; e) = k!/(e₁!…eₙ!(k−|e|)!) (Kostlan). So the field is exactly

    f(x) = Σ_s √c_s q(x)^s h_{d−2s}(x)        with independent Kostlan polynomials h_k,

and its coefficients are nonnegative combinations of independent normal variables: no hidden units, no factorisation of an
ill-conditioned covariance. Everything is divided by √(2d−1)!!, which moves no critical point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.expected.kernel import ShallowKernel
from polymargin.expected.tangent import Array, TangentLaw, law_of_vectors

# Hidden units drawn at once for networks of finite width.
UNITS_AT_ONCE = 100_000


def monomials(dimension: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """Return the exponents of all monomials of degree at most `degree`, by degree.

    >>> monomials(2, 2)
    ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    """
    return tuple(e for total in range(degree + 1) for e in _exponents(dimension, total))


def _exponents(dimension: int, total: int) -> Iterator[tuple[int, ...]]:
    if dimension == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _exponents(dimension - 1, total - first):
            yield (first, *rest)


@dataclass(frozen=True, eq=False)
class RandomPolynomial:
    """Σ_e a_e x^e with a = root · ξ for standard normal ξ; a `GaussianField`.

    exponents  (m, n) one row per monomial
    root       (m, k) so that root rootᵀ is the covariance of the coefficients
    """

    exponents: NDArray[np.int64]
    root: Array
    isotropic: bool = False
    length: float = 1.0

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return int(self.exponents.shape[1])

    @property
    def degree(self) -> int:
        """Return the largest degree of a monomial."""
        return int(self.exponents.sum(axis=1).max())

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Return coefficients (count, m)."""
        return np.asarray(generator.standard_normal((count, self.root.shape[1])) @ self.root.T)

    def tangent_law(self, points: Array, directions: Array) -> TangentLaw:
        """Return the law along and across unit directions (T, n) at points (T, n)."""
        axes = range(self.dimension)
        slope = [self._derivative(points, (i,)) for i in axes]
        bend = [self._derivative(points, (min(i, j), max(i, j))) for i in axes for j in axes]
        value = self._derivative(points, ())
        return law_of_vectors(value, np.stack(slope, axis=1), np.stack(bend, axis=1), directions)

    def _derivative(self, points: Array, axes: tuple[int, ...]) -> Array:
        """Return ∂^axes of the polynomial as a combination of ξ, at points (T, n): (T, k)."""
        exponents = self.exponents.copy()
        factor = np.ones(len(exponents))
        for axis in axes:
            factor *= exponents[:, axis]
            exponents[:, axis] = np.maximum(exponents[:, axis] - 1, 0)
        powers = points[:, None, :] ** exponents
        return np.asarray((powers.prod(axis=2) * factor) @ self.root)


@dataclass(frozen=True)
class ShallowEnsemble:
    """Random shallow networks with activation z^degree, as polynomials: in the limit of infinite width, or of finite width."""

    dimension: int
    degree: int
    width: int | None = None

    def __post_init__(self) -> None:
        ShallowKernel(self.dimension, self.degree)
        if self.width is not None and self.width <= self.dimension:
            raise InputError(
                f"width {self.width}: with no more units than inputs ({self.dimension}) the boundary is a cone or a "
                f"cylinder, and its critical points are not isolated regular ones; expected at least {self.dimension + 1}"
            )

    @cached_property
    def exponents(self) -> tuple[tuple[int, ...], ...]:
        """Return the exponents of all monomials."""
        return monomials(self.dimension, self.degree)

    @cached_property
    def limit(self) -> RandomPolynomial:
        """Return the polynomial in the limit of infinite width."""
        n, d = self.dimension, self.degree
        kernel = ShallowKernel(n, d)
        total = sum(kernel.pairings)
        place = {e: i for i, e in enumerate(self.exponents)}
        columns = []
        for s, pairings in enumerate(kernel.pairings):
            for e in monomials(n, d - 2 * s):
                size = math.sqrt(pairings / total) * math.sqrt(multinomial(d - 2 * s, e)) * n ** (-sum(e) / 2)
                column = np.zeros(len(place))
                for j in monomials(n, s):
                    raised = tuple(a + 2 * b for a, b in zip(e, j, strict=True))
                    column[place[raised]] += size * multinomial(s, j) * float(n) ** -sum(j)
                columns.append(column)
        exponents = np.array(self.exponents, dtype=np.int64)
        return RandomPolynomial(exponents, np.array(columns).T, True, kernel.length)

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Return coefficients (count, m) of independent networks, divided by √(2d−1)!!."""
        if self.width is None:
            return self.limit.sample(count, generator)
        step = max(1, UNITS_AT_ONCE // self.width)
        parts = [self._networks(min(step, count - start), generator) for start in range(0, count, step)]
        return np.concatenate(parts)

    def _networks(self, count: int, generator: np.random.Generator) -> Array:
        """Return Σᵢ aᵢ (wᵢ·x + bᵢ)^d / √m, expanded."""
        assert self.width is not None
        units = generator.standard_normal((count, self.width, self.dimension + 2))
        outer, bias, weights = units[..., 0], units[..., 1], units[..., 2:] / math.sqrt(self.dimension)
        double_factorial = sum(ShallowKernel(self.dimension, self.degree).pairings)
        of_bias = _powers(bias, self.degree)
        of_weights = [_powers(weights[..., axis], self.degree) for axis in range(self.dimension)]
        columns = []
        for e in self.exponents:
            factors = [of_weights[axis][power] for axis, power in enumerate(e)]
            term = math.prod(factors, start=outer * of_bias[self.degree - sum(e)])
            size = multinomial(self.degree, e) / math.sqrt(self.width) / math.sqrt(double_factorial)
            columns.append(size * term.sum(axis=1))
        return np.array(columns).T


def _powers(base: Array, most: int) -> list[Array]:
    """Return base^0 … base^most; repeated products are far faster than powers."""
    found = [np.ones_like(base)]
    for _ in range(most):
        found.append(found[-1] * base)
    return found


def multinomial(total: int, parts: tuple[int, ...]) -> int:
    """Return total! / (e₁! … eₙ! (total − Σe)!)."""
    result = math.factorial(total) // math.factorial(total - sum(parts))
    for part in parts:
        result //= math.factorial(part)
    return result
