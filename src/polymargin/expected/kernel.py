"""The kernel of infinitely wide shallow networks with activation z^d.

A network Σᵢ aᵢ (wᵢ·x + bᵢ)^d / √m with standard normal aᵢ, bᵢ and wᵢ ~ N(0, I/n) becomes, as m → ∞, the centred Gaussian
field with kernel K(x, y) = E[X^d Y^d], where X = w·x + b and Y = w·y + b are normal with

    E X² = q(x) = 1 + |x|²/n,     E Y² = q(y),     E XY = 1 + x·y/n.

Pairing equal letters (Isserlis) gives K = Σ_s c_s (q(x) q(y))^s (E XY)^{d−2s} with c_s = d!² / (4^s s!² (d−2s)!). Divided by
its standard deviation √K(x,x) = √(2d−1)!! q(x)^{d/2}, the field has the kernel

    Φ(ρ),   ρ = ⟨e(x), e(y)⟩,   e(x) = (x/√n, 1) / √q(x),   Φ(t) = Σ_k p_k t^k,   p_{d−2s} = c_s / (2d−1)!!:

it is an isotropic field on the sphere, seen through central projection. Nothing overflows in this form, and derivatives on
the diagonal follow from the geometry of the sphere. With the metric B = (δᵢⱼ/n − xᵢxⱼ/(n²q))/q and ωᵢ = xᵢ/(nq),

    ∂ᵢⱼe = −ωⱼ∂ᵢe − ωᵢ∂ⱼe − Bᵢⱼ e       (projection takes great circles to straight lines),

so all products of derivatives of e are known. From c_s(d)·(d−2s) = d² c_s(d−1) the derivatives of Φ at 1 are

    Φ'(1) = d²/(2d−1),      Φ''(1) = d²(d−1)² / ((2d−1)(2d−3)).

Since E k = Φ'(1) and E k(k−1) = Φ''(1) for a random exponent k with the probabilities p_k, the conditional covariance of the
Hessian on {g = 0, ∇g = v} is Φ''(1)(BᵢₖBⱼₗ + BᵢₗBⱼₖ) + Var(k) BᵢⱼBₖₗ, and Var(k) = 2Φ''(1)/(2d−1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.expected.tangent import Array, TangentLaw, entries, orthonormal_complements, semidefinite_root


@dataclass(frozen=True)
class ShallowKernel:
    """The kernel for n inputs and activation z^d; its normalised field is a `GaussianField`.

    >>> kernel = ShallowKernel(2, 3)
    >>> round(kernel([1.0, 0.0], [1.0, 0.0]), 9)          # 5!! · (3/2)³
    50.625
    """

    dimension: int
    degree: int
    isotropic = True

    def __post_init__(self) -> None:
        for name, value in (("dimension", self.dimension), ("degree", self.degree)):
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name} {value!r}: expected an integer >= 1")

    @property
    def length(self) -> float:
        """Return the length at which biases and weights contribute equally."""
        return math.sqrt(self.dimension)

    @cached_property
    def pairings(self) -> tuple[int, ...]:
        """Return c_s for s = 0 … ⌊d/2⌋: pairings of d letters X and d letters Y with s pairs XX. They sum to (2d−1)!!."""
        d, f = int(self.degree), math.factorial
        return tuple(f(d) ** 2 // (4**s * f(s) ** 2 * f(d - 2 * s)) for s in range(d // 2 + 1))

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Array | float:
        """Return K(x, y); infinite where it leaves the range of doubles."""
        x, y = self._points(x), self._points(y)
        squares = (1 + (x**2).sum(axis=-1) / self.dimension) * (1 + (y**2).sum(axis=-1) / self.dimension)
        product = 1 + (x * y).sum(axis=-1) / self.dimension
        with np.errstate(over="ignore"):
            terms = [c * squares**s * product ** (self.degree - 2 * s) for s, c in enumerate(map(float, self.pairings))]
        value = np.sum(terms, axis=0)
        return float(value) if value.ndim == 0 else np.asarray(value)

    @property
    def first_derivative(self) -> float:
        """Return Φ'(1)."""
        return self.degree**2 / (2 * self.degree - 1)

    @property
    def second_derivative(self) -> float:
        """Return Φ''(1)."""
        d = self.degree
        return d**2 * (d - 1) ** 2 / ((2 * d - 1) * (2 * d - 3))

    def tangent_law(self, points: Array, directions: Array) -> TangentLaw:
        """Return the law along and across unit directions in closed form. With B⁻¹ = nq(I + xxᵀ/n) nothing cancels.

        The mean of the Hessian, −(ωᵢvⱼ + vᵢωⱼ), vanishes across the gradient v.
        """
        x = points
        n, size, slope = self.dimension, self.dimension - 1, self.first_derivative
        scale = n * (1 + (x**2).sum(axis=1) / n)
        spread = np.sqrt(slope / (scale * (1 + (x * directions).sum(axis=1) ** 2 / n)))
        density = (2 * np.pi) ** (-n / 2) * spread * (scale / slope) ** (n / 2) * np.sqrt(scale / n)
        slant = np.einsum("tia,ti->ta", orthonormal_complements(directions), x)
        metric = (np.eye(size) - slant[:, :, None] * slant[:, None, :] / scale[:, None, None]) / scale[:, None, None]
        i, j = entries(size)
        first, second = (
            metric[:, i[:, None], i] * metric[:, j[:, None], j],
            metric[:, i[:, None], j] * metric[:, j[:, None], i],
        )
        diagonal = metric[:, i, j]
        both = 2 / (2 * self.degree - 1) * diagonal[:, :, None] * diagonal[:, None, :]
        covariance = self.second_derivative * (first + second + both)
        return TangentLaw(density, spread, np.zeros((len(x), size, size)), semidefinite_root(covariance))

    def _points(self, points: ArrayLike) -> Array:
        array = real_array(points, "the points")
        if array.shape[-1:] != (self.dimension,):
            raise InputError(f"points of shape {array.shape}: expected {self.dimension} coordinates in the last axis")
        return array
