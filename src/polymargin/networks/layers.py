"""Layers one after the other: networks in which every stage sees the one before it alone.

    z¹ = W¹x + b¹,      aˡ = σˡ(zˡ),      zˡ⁺¹ = Wˡ⁺¹aˡ + bˡ⁺¹,      the last z are the logits.

Whether a network is of this kind is read off its stages, so it does not matter how it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.networks.forms import Forms
from polymargin.networks.recurrences import POWERS
from polymargin.networks.stages import Piecewise, Polynomial, Product, Stage

Array = NDArray[np.float64]
Function: TypeAlias = tuple[tuple[float, ...], Any]
"""Coefficients and a basis, or breakpoints and pieces."""


class Layer(NamedTuple):
    """x ↦ weights @ x + bias, weights (outputs, inputs)."""

    weights: Array
    bias: Array


@dataclass(frozen=True, eq=False)
class Chain:
    """The affine layers, and between them the stages with their functions."""

    layers: tuple[Layer, ...]
    stages: tuple[Polynomial | Piecewise, ...]

    @property
    def in_powers(self) -> bool:
        """Return whether every activation is a polynomial in powers."""
        return all(isinstance(stage, Polynomial) and stage.recurrence is POWERS for stage in self.stages)

    @property
    def activations(self) -> tuple[tuple[float, ...], ...]:
        """Return the coefficients of the activations that are polynomials."""
        return tuple(stage.coefficients for stage in self.stages if isinstance(stage, Polynomial))

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the numbers of inputs, hidden values of each layer and classes."""
        return (self.layers[0].weights.shape[1], *(len(layer.bias) for layer in self.layers))


def chain_of(stages: Sequence[Stage], readout: Forms) -> Chain | None:
    """Return the layers of a network; None if a form sees anything but the values just before it."""
    forms = [*(stage.forms[0] for stage in stages), readout]
    plain = [stage for stage in stages if not isinstance(stage, Product)]
    if len(plain) < len(stages) or any(source != place for place, f in enumerate(forms) for source, _ in f.blocks):
        return None
    layers = tuple(Layer(form.block(place), form.bias) for place, form in enumerate(forms))
    return Chain(layers, tuple(plain))


def stages_of_layers(layers: Sequence[Layer], functions: Sequence[Function]) -> tuple[list[Stage], Forms]:
    """Return the stages and the read-out of layers with functions between them."""
    widths, forms = [layers[0].weights.shape[1]], []
    for source, layer in enumerate(layers):
        forms.append(Forms(tuple(widths), ((source, layer.weights),), layer.bias))
        widths.append(len(layer.bias))
    stages: list[Stage] = []
    for form, function in zip(forms[:-1], functions, strict=True):
        series = isinstance(function[1], str)
        stages.append(Polynomial(form, *function) if series else Piecewise(form, *function))
    return stages, forms[-1]


def checked_layers(layers: Sequence[Any]) -> tuple[Layer, ...]:
    """Return pairs (W, b) or bare matrices W as layers that fit each other, with at least two logits."""
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
    return Layer(weights, bias)


def finite_array(values: ArrayLike, name: str, axes: int) -> Array:
    """Return the values as float64, or say in one sentence what is wrong with them."""
    array = real_array(values, name)
    if array.ndim != axes:
        raise InputError(f"{name}: expected {axes} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise InputError(f"{name} contain {bad}; every weight must be a finite number")
    return array
