"""A network of degree two as a sum of squares of its hidden values.

    B(x) = Σ_j α_j y_j² + Σ_j ℓ_j y_j + k,     y = W x + s.

Affine layers before the activation melt into (W, s), affine layers after it into (α, ℓ, k). The sum is never expanded
where that can be avoided: evaluated from the weights, B and ∇B at a point keep the accuracy that the expanded
coefficients of a network lose to cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.boundary.sources import NetworkSource, Source
from polymargin.errors import InputError
from polymargin.networks import PolynomialNetwork
from polymargin.networks.polynomial_network import activate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HiddenSquares:
    """All logits of a network of degree at most two: values = squares · y² + slopes · y + constants, y = weights x + bias.

    weights (h, n), bias (h,); squares (k, h), slopes (k, h), constants (k,)
    """

    weights: Array
    bias: Array
    squares: Array
    slopes: Array
    constants: Array

    @classmethod
    def from_network(cls, network: PolynomialNetwork) -> HiddenSquares:
        """Combine the affine layers; refuse networks of a higher degree."""
        if network.degree > 2:
            raise InputError(f"the logits have degree {network.degree}; a quadric needs degree at most 2")
        weights, bias = network.layers[0].weights, network.layers[0].bias
        width = len(bias)
        squares, slopes, constants = np.zeros((width, width)), np.eye(width), np.zeros(width)
        for coefficients, layer in zip(network.activations, network.layers[1:], strict=True):
            width = len(constants)
            if len(coefficients) == 1 or not (squares.any() or slopes.any()):
                constants = activate(coefficients, constants)
                squares, slopes = 0 * squares, 0 * slopes
            elif len(coefficients) == 2:
                constants = coefficients[0] + coefficients[1] * constants
                squares, slopes = coefficients[1] * squares, coefficients[1] * slopes
            elif len(coefficients) == 3 and not squares.any():
                weights, bias = slopes @ weights, slopes @ bias + constants
                squares, slopes = coefficients[2] * np.eye(width), coefficients[1] * np.eye(width)
                constants = np.full(width, coefficients[0])
            # Otherwise the degree is at most two only because a later activation is constant: its value alone counts.
            squares, slopes = layer.weights @ squares, layer.weights @ slopes
            constants = layer.weights @ constants + layer.bias
        return cls(weights, bias, squares, slopes, constants)

    def pair(self, label: int, rival: int) -> SquareSum:
        """Return B = f_label − f_rival."""
        return SquareSum(
            self.weights,
            self.bias,
            self.squares[label] - self.squares[rival],
            self.slopes[label] - self.slopes[rival],
            float(self.constants[label] - self.constants[rival]),
        )


@dataclass(frozen=True, eq=False)
class SquareSum:
    """B(x) = Σ_j squares_j y_j² + Σ_j slopes_j y_j + constant with y = weights x + bias."""

    weights: Array
    bias: Array
    squares: Array
    slopes: Array
    constant: float

    @property
    def dimension(self) -> int:
        return int(self.weights.shape[1])

    def hidden(self, points: ArrayLike) -> Array:
        """Return y at points (…, n)."""
        return np.asarray(real_array(points, "the points") @ self.weights.T + self.bias)

    def __call__(self, points: ArrayLike) -> Array:
        """Return B at points (…, n)."""
        y = self.hidden(points)
        return np.asarray((y * (y * self.squares + self.slopes)).sum(axis=-1) + self.constant)


def squares_of(source: Source) -> SquareSum | None:
    """Return the boundary polynomial of a network of degree at most two; None for any other source."""
    if (
        isinstance(source, NetworkSource)
        and isinstance(source.network, PolynomialNetwork)
        and source.network.degree <= 2
    ):
        return HiddenSquares.from_network(source.network).pair(source.label, source.rival)
    return None
