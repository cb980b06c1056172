"""The same network as stages, for networks of every class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.class_names import names_of
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import RELU, Piecewise, Polynomial, Product, Stage

Array = NDArray[np.float64]


def as_network(model: Any) -> Network:
    """Return a network of any class as a `Network`."""
    if isinstance(model, Network):
        return Network(model.stages, model.readout, class_names=names_of(model), origin=model.origin)
    if hasattr(model, "K"):
        stages, readout = attention_stages(model.V, model.K, model.Q, model.readout, model.bias)
    elif hasattr(model, "activations"):
        stages, readout = stages_of_layers(model.layers, model.activations)
    else:
        function = (model.breakpoints, model.pieces) if hasattr(model, "pieces") else RELU
        stages, readout = stages_of_layers(model.layers, [function] * (len(model.layers) - 1))
    return Network(stages, readout, class_names=names_of(model), origin=getattr(model, "origin", ""))


def stages_of_layers(layers: Sequence[Any], functions: Sequence[Any]) -> tuple[list[Stage], Forms]:
    """Layers (weights, bias) with coefficients, or breakpoints and pieces, between them."""
    widths, forms = [np.shape(layers[0].weights)[1]], []
    for source, layer in enumerate(layers):
        forms.append(Forms(tuple(widths), ((source, layer.weights),), layer.bias))
        widths.append(len(layer.bias))
    stages: list[Stage] = []
    for form, function in zip(forms[:-1], functions, strict=True):
        pieces = len(function) == 2 and np.ndim(function[0]) > 0
        stages.append(Piecewise(form, *function) if pieces else Polynomial(form, tuple(function)))
    return stages, forms[-1]


def attention_stages(V: Array, K: Array, Q: Array, readout: Array, bias: Array) -> tuple[list[Stage], Forms]:
    """φ_iτ = Σ_j (Σ_σ v_σi k_σj) q_τj: products of values and keys, then of their sums over tokens and the queries."""
    (d_prime, d), a = V.shape, K.shape[1]
    t = readout.shape[1] // d_prime
    n, products, outputs = t * d, t * d_prime * a, t * d_prime * a
    each = np.eye(t)
    values = np.kron(each, np.repeat(V, a, axis=0))  # (σ, i, j)
    keys = np.kron(each, np.tile(K.T, (d_prime, 1)))
    first = Product(Forms((n,), ((0, values),), np.zeros(products)), Forms((n,), ((0, keys),), np.zeros(products)))
    sums = np.tile(np.eye(d_prime * a), (t, t))  # (τ, i, j) sees all (σ, i, j)
    queries = np.kron(each, np.tile(Q.T, (d_prime, 1)))
    second = Product(
        Forms((n, products), ((1, sums),), np.zeros(outputs)), Forms((n, products), ((0, queries),), np.zeros(outputs))
    )
    rows = np.repeat(readout, a, axis=1)  # entry τd' + i of the outputs is the sum of (τ, i, j) over j
    return [first, second], Forms((n, products, outputs), ((2, rows),), bias)
