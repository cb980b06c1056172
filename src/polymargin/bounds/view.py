"""A network seen from one point, for the purpose of bounding it on a ball around that point.

Bounds are made for layers. A network made of layers is seen as it is, whatever the pair of classes; any other network
is written in layers for one pair at a time (`layered/layers.py`), and stays the one that exact arithmetic
and evaluations speak of.

    x = u + δ,  ‖δ‖ ≤ r,      s = W¹u + b¹,      y = W¹δ,      z¹ = s + y,      |y_j| ≤ r ‖w_j‖.

Everything depends on δ through y alone, so δ is kept in coordinates of the row space: W¹ = C Qᵀ with Q orthonormal
and C of shape (h₁, m), m ≤ min(n, h₁). The part of δ orthogonal to it only makes ‖δ‖ larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from polymargin.arguments import checked_point
from polymargin.bounds.layered.layers import layered
from polymargin.errors import InputError
from polymargin.networks.layers import Chain
from polymargin.networks.network import Network
from polymargin.networks.recurrences import POWERS

Array = NDArray[np.float64]

# Ranges at the root of a proof are this much wider than r‖w_j‖, far beyond rounding.
OUTWARD = 1 + 1e-14
# Weights with at most this share of entries that are not zero are multiplied as sparse matrices: convolutions are.
SPARSE = 0.25

# What does not depend on the point, once per network: weights as what multiplies fastest, and Q and C of the first layer.
_operators: WeakKeyDictionary[Chain, list[Any]] = WeakKeyDictionary()
_bases: WeakKeyDictionary[Chain, tuple[Array, Array]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class View:
    """The network around the point u; the hidden layers are numbered 1 … depth.

    network    what the user asked about
    layered    the same boundary between the classes of the view in layers, up to rounding of the weights
    lowering   what tells a checker how to get from the one to the other; None where they are the same
    """

    network: Network
    layered: Chain
    lowering: dict[str, Array] | None
    point: Array

    @classmethod
    def of(cls, network: Network, point: ArrayLike, label: int = 0, rival: int = 1) -> View:
        """The view for a pair of classes; a network made of layers has one view for all pairs."""
        u = checked_point(point, network.dimension)
        if not network.stages:
            raise InputError("a network without hidden layers has flat boundaries; `margin` gives them in closed form")
        found = layered(network, label, rival)
        return cls(network, found.chain, found.lowering, u)

    @property
    def depth(self) -> int:
        return len(self.layered.layers) - 1

    @property
    def dimension(self) -> int:
        """Coordinates of the row space of W¹."""
        return int(self.factor.shape[1])

    def weights(self, layer: int) -> Array:
        return self.layered.layers[layer - 1].weights

    def operator(self, layer: int) -> Any:
        """The same weights as what multiplies fastest: sparse where most are zero."""
        if self.layered not in _operators:
            _operators[self.layered] = [_operator(layer.weights) for layer in self.layered.layers]
        return _operators[self.layered][layer - 1]

    def bias(self, layer: int) -> Array:
        return self.layered.layers[layer - 1].bias

    def activation(self, layer: int, derivative: int = 0) -> Array:
        """Coefficients of σ of that hidden layer, or of σ', lowest power first."""
        return self._activations[layer - 1][derivative]

    @cached_property
    def _activations(self) -> list[list[Array]]:
        return [[polynomial.polyder(np.array(row), k) for k in range(2)] for row in self.layered.activations]

    @cached_property
    def shift(self) -> Array:
        """s = W¹u + b¹."""
        return np.asarray(self.operator(1) @ self.point + self.bias(1))

    @property
    def basis(self) -> Array:
        """Q (n, m): orthonormal columns that span the row space of W¹."""
        return self._basis_and_factor[0]

    @property
    def factor(self) -> Array:
        """C = W¹Q (h₁, m)."""
        return self._basis_and_factor[1]

    @property
    def _basis_and_factor(self) -> tuple[Array, Array]:
        if self.layered not in _bases:
            weights = self.weights(1)
            if self._all_coordinates:
                _bases[self.layered] = np.eye(weights.shape[1]), weights
            else:
                basis = np.asarray(np.linalg.qr(weights.T)[0])
                _bases[self.layered] = basis, np.asarray(weights @ basis)
        return _bases[self.layered]

    @property
    def first_operator(self) -> Any:
        """C, sparse where it is W¹ itself and most of that is zero."""
        return self.operator(1) if self._all_coordinates else self.factor

    @property
    def _all_coordinates(self) -> bool:
        """Whether Q = I: W¹ has at least as many rows as columns."""
        height, width = self.weights(1).shape
        return bool(width <= height)

    @cached_property
    def norms(self) -> Array:
        return np.asarray(np.linalg.norm(self.weights(1), axis=1) * OUTWARD)

    def root_ranges(self, radius: float) -> Array:
        """(h₁, 2): the ranges of y on the ball."""
        reach = radius * self.norms
        return np.stack([-reach, reach], axis=-1)

    def difference(self, label: int, rival: int) -> tuple[Array, float]:
        """γ and γ₀ with B = γ₀ + γ·a^L."""
        last = self.layered.layers[-1]
        return last.weights[label] - last.weights[rival], float(last.bias[label] - last.bias[rival])

    def boundary(self, label: int, rival: int, points: Array) -> Array:
        """B in floating point."""
        logits = self.network(points)
        return np.asarray(logits[..., label] - logits[..., rival])

    def preactivations(self, y: Array) -> list[Array]:
        """y, z², …, z^L at the points with W¹δ = y."""
        result, values = [y], self.shift + y
        for layer, sigma in zip(range(2, self.depth + 1), self.layered.activations, strict=False):
            values = POWERS.sum(sigma, values) @ self.operator(layer).T + self.bias(layer)
            result.append(values)
        return result


def _operator(weights: Array) -> Any:
    return sparse.csr_array(weights) if np.count_nonzero(weights) <= SPARSE * weights.size else weights
