"""The last hidden layer as a quadratic in its t = z − p: exactly, or from below.

    Σ_j γ_j σ(p_j + t_j) + constant ≥ c + Σ_j (b_j t_j + a_j t_j²)   for all t_j in their ranges.

For an activation of degree two both sides are equal. Any other one gets, neuron by neuron, the parabola that touches γσ at
the worst t* known, with the largest curvature that stays below on the range: with h(τ) = γσ(p + t* + τ) = h₀ + h₁τ +
τ² d(τ) that curvature is the least value of the polynomial d. Where the relaxation is tight its own minimiser is that
input, and no other parabola would do better there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.minorants import critical_places, horner, taylor

Array = NDArray[np.float64]

# Parabolas are lowered by this fraction of the terms that were added up: the checker needs room where they touch.
LOWERED = 1e-9


@dataclass(frozen=True, eq=False)
class Top:
    """constant + linear·t + square·t²; `minorants` (h, 3), rows (a, b, c) per neuron, None where nothing is lost."""

    linear: Array
    square: Array
    constant: float
    minorants: Array | None = None


def top_terms(
    expansion: LiftedExpansion, gamma: Array, constant: float, radius: float, ranges: Array, touch: Array
) -> Top:
    """`ranges` (h, 2) are those of the rests of the last layer, `touch` the t (h,) at which parabolas touch."""
    layer, sigma = expansion.layers[-1], expansion.view.activation(len(expansion.layers))
    if len(sigma) <= 3:
        factors = np.concatenate([gamma, np.zeros(len(layer.value) - len(gamma))])  # nobody listens to combinations
        value = float(factors @ horner(sigma[None], layer.value[None])[0] + constant)
        return Top(factors * layer.rise, factors * layer.bend, value)
    reach = radius * np.linalg.norm(layer.slopes, axis=1) * (1 + 1e-6)
    low, high = ranges[:, 0] - reach, ranges[:, 1] + reach
    place = np.clip(touch, low, high)
    series = gamma[:, None] * taylor(sigma, layer.value + place, np.ones_like(place))
    rest = series[:, 2:]
    middle, half = (low + high) / 2 - place, (high - low) / 2
    moved = np.zeros_like(rest)
    for k in range(rest.shape[1]):
        moved += rest[:, k, None] * _power(middle, half, k, rest.shape[1])
    spots = np.concatenate([np.clip(_critical(moved), -1.0, 1.0), np.ones((len(low), 2)) * [-1.0, 1.0]], axis=1)
    square = horner(moved, spots).min(axis=1)
    largest = np.maximum(np.abs(low), np.abs(high))
    size = np.abs(gamma) * horner(np.abs(sigma)[None], (np.abs(layer.value) + largest)[None])[0]
    size = size + np.abs(series[:, 1]) * largest + np.abs(square) * largest**2
    linear = series[:, 1] - 2 * square * place
    free = series[:, 0] - series[:, 1] * place + square * place**2 - LOWERED * size
    minorants = np.stack([square, linear, free], axis=1)
    return Top(linear, square, float(free.sum() + constant), minorants)


def _power(middle: Array, half: Array, k: int, width: int) -> Array:
    """Coefficients in ξ of (middle + half ξ)^k, padded to `width` columns."""
    unit = np.zeros(k + 1)
    unit[k] = 1.0
    result = np.zeros((len(middle), width))
    result[:, : k + 1] = taylor(unit, middle, half)
    return result


def _critical(polynomials: Array) -> Array:
    """Places where the derivative may vanish; none for constants and lines."""
    return critical_places(polynomials) if polynomials.shape[1] > 2 else np.zeros((len(polynomials), 0))
