"""Ranges of the pre-activations of deeper layers on a leaf.

zˡ_i = bˡ_i + W_i·aˡ⁻¹ is a functional of the layer below, so the same relaxation bounds it from both sides, layer by
layer: 2hₗ programs per leaf, solved as one batch. Wide networks get linear bounds instead. Where interval arithmetic on
the layer below does better it takes over; it needs no proof in a certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.bound import Bound, rigorous
from polymargin.bounds.interior_point import maximise
from polymargin.bounds.linear import linear_bounds
from polymargin.bounds.minorants import best_constants
from polymargin.bounds.relaxation import GramRelaxation
from polymargin.bounds.view import View
from polymargin.deadlines import NEVER, Deadline

Array = NDArray[np.float64]

# Neurons per program beyond which linear bounds have to do.
WIDEST = 80
CHUNK = 256


@dataclass(frozen=True, eq=False)
class NeuronRanges:
    """limits (h, 2); proofs: (bound_lo, bound_hi) per neuron, None where interval arithmetic suffices."""

    limits: Array
    proofs: tuple[tuple[Bound | None, Bound | None], ...]


def layer_ranges(view: View, first: Array, radius: Array, deadline: Deadline = NEVER) -> list[list[NeuronRanges]]:
    """For every leaf of a batch, given by its ranges of y (B, h₁, 2) and its radius: the ranges of the layers 2 … L."""
    result: list[list[NeuronRanges]] = [[] for _ in first]
    ranges = [first]
    for layer in range(2, view.depth + 1):
        plain = interval_limits(view, layer, ranges[-1])
        limits = plain.copy()
        proofs: list[list[list[Bound | None]]] = [[[None, None] for _ in row] for row in limits]
        weights, bias = view.weights(layer), view.bias(layer)
        cases = [(leaf, i, side) for leaf in range(len(first)) for i in range(len(bias)) for side in (0, 1)]
        for start in range(0, len(cases), CHUNK):
            if deadline.passed:
                break  # intervals have to do for the others
            part = cases[start : start + CHUNK]
            leaves = np.array([leaf for leaf, _, _ in part])
            neurons = np.array([i for _, i, _ in part])
            signs = np.array([1.0 if side == 0 else -1.0 for _, _, side in part])
            gamma = signs[:, None] * weights[neurons]
            values, bounds = _functionals(view, [r[leaves] for r in ranges], gamma, radius[leaves], deadline)
            for (leaf, i, side), sign, value, bound in zip(part, signs, values, bounds, strict=True):
                limit = bias[i] + sign * value - sign * 1e-14 * abs(bias[i])
                if np.isfinite(value) and sign * (limit - limits[leaf, i, side]) > 0:
                    limits[leaf, i, side], proofs[leaf][i][side] = limit, bound
        for leaf, i in np.argwhere(limits[:, :, 0] >= limits[:, :, 1]):  # an empty leaf would prove anything
            limits[leaf, i], proofs[leaf][i] = plain[leaf, i], [None, None]
        for leaf, found in enumerate(result):
            found.append(NeuronRanges(limits[leaf], tuple((low, high) for low, high in proofs[leaf])))
        ranges.append(limits)
    return result


def interval_limits(view: View, layer: int, below: Array) -> Array:
    """Plain interval arithmetic: (B, h, 2) from the ranges of the layer below, a little wider than needed."""
    sigma, shift = view.activation(layer - 1), view.shift if layer == 2 else 0.0
    one, none = np.ones(below.shape[:2]), np.zeros(below.shape[:2])
    least = best_constants(sigma, one, shift, none, none, below)
    most = -best_constants(sigma, -one, shift, none, none, below)
    weights, bias = view.weights(layer), view.bias(layer)
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    low, high = least @ up.T + most @ down.T + bias, most @ up.T + least @ down.T + bias
    room = 1e-12 * (np.abs(least) @ np.abs(weights).T + np.abs(most) @ np.abs(weights).T + np.abs(bias))
    return np.stack([low - room, high + room], axis=-1)


def _functionals(
    view: View, ranges: list[Array], gamma: Array, radius: Array, deadline: Deadline
) -> tuple[Array, list[Bound]]:
    """Lower bounds of γ·a for a batch of γ, worse ones if the time is up."""
    if sum(r.shape[1] for r in ranges) > WIDEST:
        return linear_bounds(view, ranges, gamma, radius)
    none = np.zeros(len(gamma))
    program = GramRelaxation.build(view, ranges, gamma, none, radius)
    return rigorous(view, ranges, gamma, none, radius, program, maximise(program, tolerance=1e-6, deadline=deadline).x)
