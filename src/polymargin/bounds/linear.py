"""Linear bounds, for functionals of wide layers: no program to solve.

Every neuron gets a line with the slope of its chord between the Chebyshev points ±1/√2 of its range, lowered until it
lies below γσ. What remains is a linear function of δ with gradient b, whose least value on the ball is c − r‖b‖; the
multiplier μ = ‖b‖ / 2r proves it in the form that the S-lemma wants.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.bound import MARGIN, Bound
from polymargin.bounds.minorants import best_constants, horner
from polymargin.bounds.view import View

Array = NDArray[np.float64]


def linear_bounds(view: View, ranges: Sequence[Array], gamma: Array, radius: Array) -> tuple[Array, list[Bound]]:
    """Lower bounds of γ·a for γ (B, h) of the layer of the last ranges, with their proofs."""
    total, size = np.zeros(len(gamma)), np.zeros(len(gamma))
    terms = np.abs(gamma)
    lines: list[Array] = []
    for layer in range(len(ranges), 0, -1):
        sigma, shift = view.activation(layer), view.shift if layer == 1 else 0.0
        middle = ranges[layer - 1].mean(axis=-1)
        half = (ranges[layer - 1][..., 1] - ranges[layer - 1][..., 0]) / 2
        places = shift + middle + np.array([-1.0, 1.0])[:, None, None] * half / np.sqrt(2.0)
        below, above = horner(sigma[None], places.reshape(2, -1)).reshape(places.shape)
        slope = gamma * (above - below) / np.maximum(np.sqrt(2.0) * half, 1e-300)
        constants = best_constants(sigma, gamma, shift, np.zeros_like(slope), slope, ranges[layer - 1], terms)
        lines.append(np.stack([slope, constants], axis=-1))
        total, size = total + constants.sum(axis=1), size + np.abs(constants).sum(axis=1)
        if layer > 1:
            total, size = total + slope @ view.bias(layer), size + np.abs(slope) @ np.abs(view.bias(layer))
            gamma, terms = slope @ view.weights(layer), np.abs(slope) @ np.abs(view.weights(layer))
    steepness = np.linalg.norm(slope @ view.factor, axis=1) * (1 + 1e-12) + 1e-12 * size / radius
    values = total - radius * steepness - MARGIN * (size + radius * steepness)
    flat = np.concatenate([np.zeros((*lines[-1].shape[:2], 1)), lines[-1]], axis=-1)
    multipliers = steepness / (2 * radius)
    deeper = lines[:-1]
    return values, [Bound(tuple(s[i] for s in deeper), flat[i], float(multipliers[i])) for i in range(len(gamma))]
