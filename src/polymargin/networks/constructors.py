"""Networks from weights: fully connected layers with polynomials, ReLU or splines between them.

    f = A_L ∘ σ_{L-1} ∘ A_{L-1} ∘ … ∘ σ_1 ∘ A_1,     A(x) = W x + b,     σ entry by entry.

Weights are float64, and float32 weights fit exactly. The network is the real function with exactly those numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.activations import activations_of, network_of_layers
from polymargin.networks.layers import checked_layers, finite_array, stages_of_layers
from polymargin.networks.network import Network
from polymargin.networks.stages import RELU


def PolynomialNetwork(
    layers: Sequence[Any], degree: int | None = None, *, activations: Sequence[Any] | None = None
) -> Network:
    """Return a network with polynomial activations.

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
    >>> net
    Network(2-2-2, x², logits of degree 2)
    >>> net([1.0, 1.0])
    array([12.25,  1.  ])
    """
    found = checked_layers(layers)
    hidden = len(found) - 1
    if (degree is None) == (activations is None) and hidden:
        raise InputError("give either degree=d for the activation x^d, or activations=[coefficients, …]")
    if activations is None and hidden and not isinstance(degree, (int, np.integer)):
        raise InputError(f"activation degree {degree!r}; expected a whole number from 1")
    return network_of_layers(found, activations_of(degree if activations is None else list(activations), hidden))


def ReLUNetwork(layers: Sequence[Any]) -> Network:
    """Return a network with ReLU, max(z, 0), after every layer but the last; `layers` as for `PolynomialNetwork`.

    >>> net = ReLUNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, -1.0]), [[1.0, 0.0], [0.0, 2.0]]])
    >>> net([1.0, 4.0]).tolist(), net([-1.0, 0.0]).tolist()
    ([1.0, 6.0], [0.0, 0.0])
    """
    found = checked_layers(layers)
    return Network(*stages_of_layers(found, [RELU] * (len(found) - 1)))


def SplineNetwork(layers: Sequence[Any], breakpoints: Sequence[float], pieces: Sequence[Sequence[float]]) -> Network:
    """Return a network with a continuous piecewise polynomial after every layer but the last.

    Parameters
    ----------
    layers       pairs (W, b) or bare matrices W; W has shape (out, in)
    breakpoints  t_1 < … < t_m, at least one
    pieces       m + 1 sequences of coefficients (c_0, c_1, …), from the left; neighbours must agree at their breakpoint

    >>> squared = SplineNetwork([[[1.0], [-1.0]], [[1.0, 0.0], [0.0, 1.0]]], breakpoints=[0.0], pieces=[[0.0], [0.0, 0.0, 1.0]])
    >>> squared([3.0]).tolist()
    [9.0, 0.0]
    """
    found = checked_layers(layers)
    points = tuple(finite_array(breakpoints, "the breakpoints", 1).tolist())
    rows = tuple(
        tuple(finite_array(row, f"the coefficients of piece {number}", 1).tolist())
        for number, row in enumerate(pieces, start=1)
    )
    return Network(*stages_of_layers(found, [(points, rows)] * (len(found) - 1)))
