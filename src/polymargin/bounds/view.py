"""A network seen from one point, for the purpose of bounding it on a ball around that point.

    x = u + δ,  ‖δ‖ ≤ r,      s = W¹u + b¹,      y = W¹δ,      z¹ = s + y,      |y_j| ≤ r ‖w_j‖.

Everything depends on δ through y alone, so δ is kept in coordinates of the row space: W¹ = C Qᵀ with Q orthonormal
and C of shape (h₁, m), m ≤ min(n, h₁). The part of δ orthogonal to it only makes ‖δ‖ larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError
from polymargin.networks import PolynomialNetwork
from polymargin.networks.polynomial_network import activate

Array = NDArray[np.float64]

# Ranges at the root of a proof are this much wider than r‖w_j‖, far beyond rounding.
OUTWARD = 1 + 1e-14
# Logits closer than this (relative) are compared in exact arithmetic.
CLOSE_CALL = 1e-9


@dataclass(frozen=True, eq=False)
class View:
    """The network around the point u; the hidden layers are numbered 1 … depth."""

    network: PolynomialNetwork
    point: Array

    @classmethod
    def of(cls, network: PolynomialNetwork, point: ArrayLike) -> View:
        """Check the point; a network without hidden layers has nothing to bound."""
        u = np.asarray(point, dtype=np.float64)
        if u.shape != (network.dimension,) or not np.isfinite(u).all():
            raise InputError(f"point of shape {u.shape}: expected {network.dimension} finite numbers")
        if len(network.layers) == 1:
            raise InputError("a network without hidden layers has flat boundaries; `margin` gives them in closed form")
        return cls(network, u)

    @property
    def depth(self) -> int:
        return len(self.network.layers) - 1

    def weights(self, layer: int) -> Array:
        return self.network.layers[layer - 1].weights

    def bias(self, layer: int) -> Array:
        return self.network.layers[layer - 1].bias

    def activation(self, layer: int, derivative: int = 0) -> Array:
        """Coefficients of σ of that hidden layer, or of σ' or σ'', lowest power first."""
        return self._activations[layer - 1][derivative]

    @cached_property
    def _activations(self) -> list[list[Array]]:
        return [[polynomial.polyder(np.array(row), k) for k in range(3)] for row in self.network.activations]

    @cached_property
    def shift(self) -> Array:
        """s = W¹u + b¹."""
        return np.asarray(self.weights(1) @ self.point + self.bias(1))

    @cached_property
    def basis(self) -> Array:
        """Q (n, m): orthonormal columns that span the row space of W¹."""
        height, width = self.weights(1).shape
        return np.eye(width) if width <= height else np.asarray(np.linalg.qr(self.weights(1).T)[0])

    @cached_property
    def factor(self) -> Array:
        """C = W¹Q (h₁, m)."""
        return np.asarray(self.weights(1) @ self.basis)

    @cached_property
    def norms(self) -> Array:
        return np.asarray(np.linalg.norm(self.weights(1), axis=1) * OUTWARD)

    def root_ranges(self, radius: float) -> Array:
        """(h₁, 2): the ranges of y on the ball."""
        reach = radius * self.norms
        return np.stack([-reach, reach], axis=-1)

    def difference(self, label: int, rival: int) -> tuple[Array, float]:
        """γ and γ₀ with B = γ₀ + γ·a^L."""
        last = self.network.layers[-1]
        return last.weights[label] - last.weights[rival], float(last.bias[label] - last.bias[rival])

    def boundary(self, label: int, rival: int, points: Array) -> Array:
        """B in floating point."""
        logits = self.network(points)
        return np.asarray(logits[..., label] - logits[..., rival])

    def preactivations(self, y: Array) -> list[Array]:
        """y, z², …, z^L at the points with W¹δ = y."""
        result, values = [y], self.shift + y
        for layer, sigma in zip(self.network.layers[1:-1], self.network.activations, strict=False):
            values = layer(activate(sigma, values))
            result.append(values)
        return result

    def label(self) -> int:
        """The class with the largest logit, in exact arithmetic where it is close; a tie is refused."""
        values = self.network(self.point)
        first, second = np.argsort(-values, kind="stable")[:2]
        if values[first] - values[second] > CLOSE_CALL * (1 + np.abs(values).max()):
            return int(first)
        logits: list[Fraction] = self.network.exact_logits(self.point)
        largest = max(logits)
        top = [index for index, value in enumerate(logits) if value == largest]
        if len(top) > 1:
            raise InputError(f"classes {top[0]} and {top[1]} tie exactly at the point: the margin is 0")
        return top[0]
