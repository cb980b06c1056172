"""Affine layers one after the other: what fully connected networks of every activation have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.polynomials import Expression, exact

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Layer:
    """x ↦ W x + b; weights have shape (outputs, inputs)."""

    weights: Array
    bias: Array

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        return affine(self.weights, self.bias, values)


class LayerStack:
    """Layers from the input to the logits."""

    layers: tuple[Layer, ...]

    @property
    def dimension(self) -> int:
        """Number of inputs."""
        return int(self.layers[0].weights.shape[1])

    @property
    def class_count(self) -> int:
        return int(self.layers[-1].weights.shape[0])

    @property
    def widths(self) -> tuple[int, ...]:
        """Inputs, hidden widths, classes."""
        return (self.dimension, *(int(layer.weights.shape[0]) for layer in self.layers))

    def layers_digest(self, kind: bytes) -> Any:
        """SHA-256 of the exact weights, to be continued with what else the network consists of."""
        digest = hashlib.sha256(kind)
        for layer in self.layers:
            digest.update(repr(layer.weights.shape).encode())
            digest.update(np.ascontiguousarray(layer.weights, dtype="<f8").tobytes())
            digest.update(np.ascontiguousarray(layer.bias, dtype="<f8").tobytes())
        return digest


def affine(weights: Array, bias: Array, values: NDArray[Any]) -> NDArray[Any]:
    """weights @ values + bias along the last axis, for whatever kind of scalar the values are."""
    if values.dtype != object:
        result = np.asarray(values @ weights.T)
        result += bias  # in place: another array of that size would take longer than the sum
        return result
    rows = zip(weights.tolist(), bias.tolist(), strict=True)
    if isinstance(values[0], Expression):
        graph, arguments = values[0].graph, values.tolist()
        return np.array([graph.linear(row, arguments, constant) for row, constant in rows], dtype=object)
    return np.array(
        [sum((exact(w) * v for w, v in zip(row, values, strict=True)), exact(c)) for row, c in rows],
        dtype=object,
    )


def checked_layers(layers: Sequence[Any]) -> tuple[Layer, ...]:
    """Pairs (W, b) or bare matrices W as layers that fit each other, with at least two logits."""
    found = tuple(_layer(layer, position) for position, layer in enumerate(layers))
    if not found:
        raise InputError("a network needs at least one layer (W, b)")
    for position, (before, after) in enumerate(pairwise(found)):
        if after.weights.shape[1] != before.weights.shape[0]:
            raise InputError(
                f"layer {position + 2} takes {after.weights.shape[1]} values but layer {position + 1} "
                f"gives {before.weights.shape[0]}; weights have shape (outputs, inputs)"
            )
    if len(found[-1].bias) < 2:
        raise InputError("the network has one class; a margin needs at least two logits to compare")
    return found


def _layer(layer: Any, position: int) -> Layer:
    name = f"layer {position + 1}"
    has_bias = isinstance(layer, tuple) and len(layer) == 2
    weights_like, bias_like = layer if has_bias else (layer, None)
    weights = finite_array(weights_like, f"the weights of {name}", 2)
    bias = np.zeros(weights.shape[0]) if bias_like is None else finite_array(bias_like, f"the bias of {name}", 1)
    if bias.shape[0] != weights.shape[0]:
        raise InputError(f"{name} has {weights.shape[0]} outputs but a bias of length {bias.shape[0]}")
    if 0 in weights.shape:
        raise InputError(f"{name} has weights of shape {weights.shape}; every layer needs inputs and outputs")
    weights.setflags(write=False)
    bias.setflags(write=False)
    return Layer(weights, bias)


def finite_array(values: ArrayLike, name: str, axes: int) -> Array:
    """The values as float64, or a sentence about what is wrong with them."""
    array = real_array(values, name)
    if array.flags.writeable or array.base is not None:  # what nobody can change need not be copied
        array = array.copy()
    if array.ndim != axes:
        raise InputError(f"{name}: expected {axes} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise InputError(f"{name} contain {bad}; every weight must be a finite number")
    return array
