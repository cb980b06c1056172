"""Fully connected networks with ReLU activations: affine on each region of a polyhedral subdivision.

    f = A_L ∘ ρ ∘ A_{L−1} ∘ … ∘ ρ ∘ A_1,     A(x) = W x + b,     ρ(z) = max(z, 0) per coordinate.

Weights are stored as float64; float32 weights fit exactly. The network a margin speaks of is the real function with exactly
those coefficients, and `exact_logits` evaluates it without rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.networks.layers import LayerStack, checked_layers

Array = NDArray[np.float64]


class ReLUNetwork(LayerStack):
    """A classifier with piecewise linear logits.

    Parameters
    ----------
    layers
        Pairs (W, b) or bare matrices W (no bias), from the input to the logits; W has shape (out, in).

    >>> net = ReLUNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, -1.0]), [[1.0, 0.0], [0.0, 2.0]]])
    >>> net([1.0, 4.0]).tolist(), net([-1.0, 0.0]).tolist()
    ([1.0, 6.0], [0.0, 0.0])
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        self.layers = checked_layers(layers)

    @property
    def neuron_count(self) -> int:
        return sum(self.widths[1:-1])

    def __repr__(self) -> str:
        return f"ReLUNetwork({'-'.join(map(str, self.widths))}, {self.neuron_count} neurons)"

    def __call__(self, points: ArrayLike) -> Array:
        """The logits at one point (n,) or a batch (m, n)."""
        values = real_array(points, "the points")
        for layer in self.layers[:-1]:
            values = np.maximum(layer(values), 0.0)
        return np.asarray(self.layers[-1](values))

    def predict(self, points: ArrayLike) -> NDArray[np.int64]:
        """The class of the largest logit."""
        return np.asarray(np.argmax(self(points), axis=-1))

    def exact_logits(self, point: ArrayLike) -> list[Fraction]:
        """The logits at one point in exact arithmetic."""
        values = [flint.fmpq(*value.as_integer_ratio()) for value in real_array(point, "the point").tolist()]
        zero = flint.fmpq(0)
        for position, (weights, bias) in enumerate(self._exact_layers):
            column = weights * flint.fmpq_mat(len(values), 1, values) + bias
            values = column.entries()
            if position < len(self.layers) - 1:
                values = [max(value, zero) for value in values]
        return [Fraction(int(value.p), int(value.q)) for value in values]

    @cached_property
    def _exact_layers(self) -> tuple[tuple[Any, Any], ...]:
        return exact_layers(self)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the exact weights."""
        return str(self.layers_digest(b"polymargin relu network 1").hexdigest())


def exact_layers(network: LayerStack) -> tuple[tuple[Any, Any], ...]:
    """Weights and biases, as columns, in exact rationals."""
    return tuple((rational_matrix(layer.weights), rational_matrix(layer.bias[:, None])) for layer in network.layers)


def rational_matrix(matrix: Array) -> Any:
    """A matrix of doubles as exact rationals."""
    entries = [flint.fmpq(*value.as_integer_ratio()) for value in matrix.ravel().tolist()]
    return flint.fmpq_mat(matrix.shape[0], matrix.shape[1], entries)
