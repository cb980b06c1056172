"""Networks that multiply different expressions: gates, Π-nets, residual sums, stacked attention without softmax.

    v⁰ = x,      vᵏ = (vᵏ⁻¹, stage_k(vᵏ⁻¹)),      logits = C vᴷ + c.

Every stage multiplies or activates affine forms of *all* values computed so far (`program/stages.py`), so a residual sum or a
skipped layer is a row of weights and nothing has to be carried. Layers, gates and attention are all programs of this kind:
boundaries, exact logits, files, the checker and bounds are derived from the stages, not from the architecture.
Weights are stored as float64; the network a margin speaks of is the real polynomial with exactly these coefficients.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.networks.exact_values import exact_values
from polymargin.networks.forms import Forms
from polymargin.networks.layers import Layer
from polymargin.networks.network import Layered, Network
from polymargin.networks.polynomial_network import PolynomialNetwork
from polymargin.networks.readers.npz import names_to_write, with_names
from polymargin.networks.readers.npz_products import read_products, write_products
from polymargin.networks.rounding import EPSILON, rounding_errors
from polymargin.networks.squares import layers_of_squares
from polymargin.networks.stages import Polynomial, Product, Stage, degrees_of

Array = NDArray[np.float64]


class ProductNetwork:
    """A classifier made of stages: products and activations of affine forms of all earlier values.

    Parameters
    ----------
    stages
        `Product` and `Polynomial` in the order in which they are computed; the forms of the first one take the inputs, those
        of every later one the inputs and the values of all stages before it.
    readout
        `Forms` of all values: the logits.

    >>> both = Forms.of([[1.0, 1.0], [1.0, -1.0]]), Forms.of([[0.0, 1.0], [2.0, 0.0]], [1.0, 0.0])
    >>> net = ProductNetwork([Product(*both)], Forms.of([[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]))
    >>> net([1.0, 2.0])                          # (1 + 2)·(2 + 1), and 1 + (1 − 2)·2
    array([ 9., -1.])
    """

    kind = "product-network"
    # Where it was read from, as far as that had to be guessed; and what its classes are called there.
    origin: str = ""
    class_names: tuple[str, ...] | None = None

    def __init__(self, stages: Sequence[Stage], readout: Forms, *, entry: Layer | None = None) -> None:
        self.stages, self.readout = tuple(stages), readout
        every = [forms for stage in self.stages for forms in stage.forms] + [readout]
        self._inputs = every[0].width
        width = self._inputs
        for number, stage in enumerate(self.stages, start=1):
            if any(forms.width != width for forms in stage.forms):
                raise InputError(f"the forms of stage {number} take {stage.forms[0].width} values; expected {width}")
            width += len(stage)
        if readout.width != width:
            raise InputError(f"the read-out takes {readout.width} values; expected {width}: inputs and all stages")
        if len(readout) < 2:
            raise InputError("the network has one class; a margin needs at least two logits to compare")
        self.entry = entry

    # -- shape ---------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """Number of inputs."""
        return self._inputs if self.entry is None else int(self.entry.weights.shape[1])

    @property
    def class_count(self) -> int:
        return len(self.readout)

    @property
    def hidden_layers(self) -> int:
        """Number of stages."""
        return len(self.stages)

    @cached_property
    def degree(self) -> int:
        """Degree of the logits as polynomials in the input, if nothing cancels."""
        degrees = np.ones(self._inputs, dtype=np.int64)
        for stage in self.stages:
            degrees = np.concatenate([degrees, stage.degrees(degrees)])
        return int(degrees_of(self.readout, degrees).max(initial=0))

    @property
    def is_affine(self) -> bool:
        """Whether the logits are affine because no stage makes them bend."""
        return self.degree <= 1

    @cached_property
    def forms(self) -> Layer:
        """The logits depend on the input through these forms alone: what the stages and the read-out do with the inputs."""
        seen: dict[tuple[tuple[int, ...], tuple[float, ...]], float] = {}
        for forms in [*(forms for stage in self.stages for forms in stage.forms), self.readout]:
            for index in range(len(forms)):
                columns, weights = forms.row(index)
                count = sum(column < self._inputs for column in columns)
                if count:
                    seen.setdefault((tuple(columns[:count]), tuple(weights[:count])), float(forms.bias[index]))
        rows = np.zeros((max(len(seen), 1), self._inputs))
        for number, (columns_key, weights_key) in enumerate(seen):
            rows[number, list(columns_key)] = weights_key
        bias = np.array([*seen.values()] or [0.0])
        if self.entry is None:
            return Layer(rows, bias)
        return Layer(rows @ self.entry.weights, bias + rows @ self.entry.bias)

    def __repr__(self) -> str:
        sizes = "-".join(str(size) for size in (self.dimension, *map(len, self.stages), self.class_count))
        origin = f"; {self.origin}" if self.origin else ""
        return f"ProductNetwork({sizes}, logits of degree {self.degree}{origin})"

    # -- evaluation ----------------------------------------------------------------------------

    def logits(self, values: NDArray[Any]) -> NDArray[Any]:
        """The logits along the last axis; floats, symbolic scalars or Fractions (as object arrays)."""
        values = values if self.entry is None else self.entry(values)
        for stage in self.stages:
            values = np.concatenate([values, stage(values)], axis=-1)
        return self.readout(values)

    def __call__(self, points: ArrayLike) -> Array:
        """The logits at one point (n,) or a batch (m, n)."""
        return self.logits(real_array(points, "the points"))

    def predict(self, points: ArrayLike) -> NDArray[np.int64]:
        """The class of the largest logit."""
        return np.asarray(np.argmax(self(points), axis=-1))

    def exact_logits(self, point: ArrayLike) -> list[Fraction]:
        """The logits at one point in exact arithmetic."""
        if self.entry is not None:
            raise InputError("exact logits are not available after a change of variables; ask the original network")
        return exact_values(self.stages, self.readout, point)

    def precompose(self, matrix: Array, offset: Array) -> ProductNetwork:
        """The network y ↦ f(offset + matrix @ y). The stages stay as they are: what they share is not rounded apart."""
        if self.entry is not None:
            matrix, offset = self.entry.weights @ matrix, self.entry(offset)
        return ProductNetwork(self.stages, self.readout, entry=Layer(np.array(matrix), np.array(offset)))

    def active_subspace(self, label: int, rival: int) -> None:
        """Nothing is known beyond the forms."""
        return

    # Roundings are counted in `term_sizes`.
    rounding_steps = 0

    def term_sizes(self, points: Array) -> Array:
        """Bounds of the errors of the logits in units of roundoff, carried along from the inputs."""
        errors = np.zeros_like(points)
        if self.entry is not None:
            entry = Forms.of(np.abs(self.entry.weights), np.abs(self.entry.bias))
            points, errors = self.entry(points), (entry.longest + 2) * EPSILON * entry(np.abs(points))
        return rounding_errors(self.stages, self.readout, points, errors) / EPSILON

    # -- layers, for bounds --------------------------------------------------------------------

    def layered(self, label: int, rival: int) -> Layered:
        """The same logits as a network of squares, for any pair of classes (docs/networks.md)."""
        return self._layered

    @cached_property
    def _layered(self) -> Layered:
        return layers_of_squares(self.stages, self.readout)

    # -- files ---------------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the exact weights."""
        digest = hashlib.sha256(b"polymargin products 1")
        for stage in self.stages:
            if isinstance(stage, Polynomial):
                digest.update(repr((stage.basis, [c.hex() for c in stage.coefficients])).encode())
            for forms in stage.forms:
                _update(digest, forms)
        _update(digest, self.readout)
        if self.entry is not None:
            digest.update(repr(self.entry.weights.shape).encode())
            for array in (self.entry.weights, self.entry.bias):
                digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return digest.hexdigest()

    def save(self, path: Any) -> None:
        """Write the network as one .npz file."""
        write_products(path, self.stages, self.readout, names_to_write(self))

    @classmethod
    def load(cls, path: Any) -> ProductNetwork:
        """Read a network written by `save`."""
        stages, readout, names = read_products(path)
        return with_names(cls(stages, readout), names, path)


def quadratic_layers(network: Network) -> PolynomialNetwork | None:
    """A network of degree two in layers of degree two, up to the rounding of their weights; None for any other."""
    layers = network.layered(0, 1).network if isinstance(network, ProductNetwork) and network.degree == 2 else network
    return layers if isinstance(layers, PolynomialNetwork) and layers.degree == 2 else None


def _update(digest: Any, forms: Forms) -> None:
    digest.update(repr((len(forms), forms.width)).encode())
    for whole in (forms.starts, forms.columns):
        digest.update(np.ascontiguousarray(whole, dtype="<i8").tobytes())
    for numbers in (forms.weights, forms.bias):
        digest.update(np.ascontiguousarray(numbers, dtype="<f8").tobytes())


__all__ = ["Forms", "Polynomial", "Product", "ProductNetwork"]
