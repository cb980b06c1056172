"""Fully connected networks with polynomial activations.

    f = A_L ∘ σ_{L-1} ∘ A_{L-1} ∘ … ∘ σ_1 ∘ A_1,     A(x) = W x + b,     σ(x) = Σ_k c_k x^k per coordinate.

Weights are stored as float64; float32 weights fit exactly. The network a margin speaks of is the real
polynomial with exactly those coefficients. `logits` is written once and runs on NumPy batches, on
symbolic scalars and on exact rationals alike: only `affine` knows which kind it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.networks.conversion import stages_of_layers
from polymargin.networks.exact import ExactStages
from polymargin.networks.layers import Layer, LayerStack, checked_layers, finite_array
from polymargin.networks.protocols import Layered
from polymargin.networks.readers.npz import (
    MOST_COEFFICIENTS,
    names_to_write,
    read_network,
    with_names,
    write_network,
)
from polymargin.polynomials import exact

Array = NDArray[np.float64]


class PolynomialNetwork(LayerStack):
    """A classifier with polynomial logits.

    Parameters
    ----------
    layers
        Pairs (W, b) or bare matrices W (no bias), from the input to the logits; W has shape (out, in).
    degree
        Activation x^degree after every layer but the last.
    activations
        Instead of `degree`: the coefficients (c_0, c_1, …) of the activation polynomial, one sequence for
        all hidden layers or one sequence per hidden layer.

    >>> net = PolynomialNetwork([([[1.0, 2.0], [0.0, 1.0]], [0.5, 0.0]), [[1.0, 0.0], [0.0, 1.0]]], degree=2)
    >>> net([1.0, 1.0])
    array([12.25,  1.  ])
    """

    kind = "polynomial-network"
    # Where it was read from, as far as that had to be guessed; and what its classes are called there.
    origin: str = ""
    class_names: tuple[str, ...] | None = None

    def __init__(
        self,
        layers: Sequence[Any],
        degree: int | None = None,
        *,
        activations: Sequence[Any] | None = None,
    ) -> None:
        self.layers = checked_layers(layers)
        self.activations = _activations(degree, activations, len(self.layers) - 1)

    # -- shape ---------------------------------------------------------------------------------

    @property
    def degree(self) -> int:
        """Degree of the logits as polynomials in the input, if nothing cancels."""
        result = 1
        for coefficients in self.activations:
            result *= len(coefficients) - 1
        return result

    @property
    def hidden_layers(self) -> int:
        return len(self.activations)

    @property
    def is_affine(self) -> bool:
        """Whether the logits are affine because every activation is."""
        return all(len(coefficients) <= 2 for coefficients in self.activations)

    @property
    def forms(self) -> Layer:
        """The logits depend on the input through these forms alone."""
        return self.layers[0]

    def __repr__(self) -> str:
        widths = "-".join(map(str, self.widths))
        origin = f"; {self.origin}" if self.origin else ""
        return f"PolynomialNetwork({widths}, logits of degree {self.degree}{origin})"

    # -- evaluation ----------------------------------------------------------------------------

    def logits(self, values: NDArray[Any]) -> NDArray[Any]:
        """The logits along the last axis; floats, symbolic scalars or Fractions (as object arrays)."""
        for layer, coefficients in zip(self.layers[:-1], self.activations, strict=True):
            values = activate(coefficients, layer(values))
        return self.layers[-1](values)

    def __call__(self, points: ArrayLike) -> Array:
        """The logits at one point (n,) or a batch (m, n)."""
        return self.logits(real_array(points, "the points"))

    def predict(self, points: ArrayLike) -> NDArray[np.int64]:
        """The class of the largest logit."""
        return np.asarray(np.argmax(self(points), axis=-1))

    def exact_logits(self, point: ArrayLike) -> list[Fraction]:
        """The logits at one point in exact arithmetic."""
        return self._fixed_point(point)

    @cached_property
    def _fixed_point(self) -> ExactStages:
        return ExactStages(*stages_of_layers(self.layers, self.activations))

    def __getstate__(self) -> dict[str, Any]:
        """Without what is computed from it when needed: exact integers cannot be pickled or copied."""
        return {name: value for name, value in vars(self).items() if name not in ("_fixed_point", "without_signs")}

    def precompose(self, matrix: Array, offset: Array) -> PolynomialNetwork:
        """The network y ↦ f(offset + matrix @ y)."""
        first = self.layers[0]
        layer = (first.weights @ matrix, first.bias + first.weights @ offset)
        rest = [(layer.weights, layer.bias) for layer in self.layers[1:]]
        return PolynomialNetwork([layer, *rest], activations=self.activations)

    def active_subspace(self, label: int, rival: int) -> None:
        """Nothing is known beyond the first layer."""
        return

    def layered(self, label: int, rival: int) -> Layered:
        """The network itself, for any pair of classes."""
        return Layered(self)

    @cached_property
    def without_signs(self) -> PolynomialNetwork:
        """The network with every weight and coefficient replaced by its absolute value: it bounds all terms."""
        layers = [(np.abs(layer.weights), np.abs(layer.bias)) for layer in self.layers]
        return PolynomialNetwork(layers, activations=[[abs(c) for c in row] for row in self.activations])

    def term_sizes(self, points: Array) -> Array:
        """Bounds of all terms of the logits: what the weights without signs make of |x|."""
        return np.asarray(self.without_signs.logits(np.abs(points)))

    @property
    def rounding_steps(self) -> int:
        """Roundings on the way from an input to a logit, counted once for every factor that a power makes of them."""
        steps = self.dimension + 2
        for coefficients, layer in zip(self.activations, self.layers[1:], strict=True):
            steps = len(coefficients) * (steps + 3) + layer.weights.shape[1] + 2
        return steps

    # -- files ---------------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the exact weights and activations."""
        digest = self.layers_digest(b"polymargin network 1")
        digest.update(repr([[float(c).hex() for c in row] for row in self.activations]).encode())
        return str(digest.hexdigest())

    def save(self, path: Any) -> None:
        """Write the network as one .npz file."""
        layers = [(layer.weights, layer.bias) for layer in self.layers]
        write_network(path, layers, self.activations, names_to_write(self))

    @classmethod
    def load(cls, path: Any) -> PolynomialNetwork:
        """Read a network written by `save`."""
        layers, activations, names = read_network(path)
        return with_names(cls(layers, activations=activations), names, path)


def activate(coefficients: tuple[float, ...], values: NDArray[Any]) -> NDArray[Any]:
    """Σ_k c_k values^k, leaving out what is zero and the factor of a plain power."""
    total: Any = None
    for power, coefficient in enumerate(coefficients):
        if coefficient == 0.0:
            continue
        factor = coefficient if values.dtype != object else exact(coefficient)
        term = _power(values, power) if coefficient == 1.0 else factor * _power(values, power)
        total = term if total is None else total + term
    return 0.0 * values if total is None else np.asarray(total)


def _power(values: NDArray[Any], power: int) -> NDArray[Any]:
    """By products: NumPy takes a logarithm for any power above the second, which costs ten times as much."""
    if power <= 2:
        return np.asarray(values**power)
    half = _power(values, power // 2)
    result = np.asarray(half * half)
    if power % 2:
        result *= values
    return result


def _activations(degree: int | None, activations: Sequence[Any] | None, hidden: int) -> tuple[tuple[float, ...], ...]:
    if (degree is None) == (activations is None) and hidden:
        raise InputError("give either degree=d for the activation x^d, or activations=[coefficients, …]")
    if activations is None:
        if hidden and (not isinstance(degree, (int, np.integer)) or degree < 1):
            raise InputError(f"activation degree {degree!r}: expected an integer >= 1")
        if degree is not None and degree >= MOST_COEFFICIENTS:
            raise InputError(f"activation degree {degree}: expected at most {MOST_COEFFICIENTS - 1}")
        activations = [] if degree is None else [[0.0] * degree + [1.0]] * hidden
    elif hidden and len(activations) and np.ndim(activations[0]) == 0:
        activations = [activations] * hidden
    if len(activations) != hidden:
        raise InputError(f"{len(activations)} activations for {hidden} hidden layers; expected one for each")
    result = []
    for position, coefficients in enumerate(activations):
        row = finite_array(coefficients, f"the activation coefficients of layer {position + 1}", 1)
        if row.size > MOST_COEFFICIENTS:
            raise InputError(
                f"the activation of layer {position + 1} has {row.size} coefficients; expected at most {MOST_COEFFICIENTS}"
            )
        trimmed = np.trim_zeros(row, "b")
        result.append(tuple((trimmed if trimmed.size else np.zeros(1)).tolist()))
    return tuple(result)
