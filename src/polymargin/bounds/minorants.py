"""Quadratics below a neuron.

    p y² + t y + c ≤ γ σ(s + y)   for all y in [l, h].

For given p and t the best c is the least value of the polynomial g(y) = γ σ(s + y) − p y² − t y on [l, h], attained at
an end or where g' = 0. With the affine map y = mid + half·ξ all of it happens on [−1, 1], where rounding is harmless.
Slopes for deeper layers are the case p = 0, s = 0.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# c is lowered by this fraction of everything that was added up, so that exact arithmetic agrees.
SLACK = 1e-12


def taylor(coefficients: Array, centre: Array, half: Array) -> Array:
    """Coefficients in ξ of σ(centre + half·ξ), along a new last axis, lowest power first."""
    degree = len(coefficients) - 1
    powers = [np.ones_like(centre)]
    for _ in range(degree):
        powers.append(powers[-1] * centre)
    terms = [
        sum(coefficients[k] * comb(k, i) * powers[k - i] for k in range(i, degree + 1)) * half**i
        for i in range(degree + 1)
    ]
    return np.stack(terms, axis=-1)


def horner(coefficients: Array, values: Array) -> Array:
    """Σ_i coefficients[..., i] values^i for values of shape (..., K)."""
    total = np.zeros(np.broadcast_shapes((*coefficients.shape[:-1], 1), values.shape))
    for i in reversed(range(coefficients.shape[-1])):
        total = total * values + coefficients[..., i, None]
    return total


def best_constants(
    sigma: Array, gamma: Array, shift: Array | float, p: Array, t: Array, ranges: Array, terms: Array | None = None
) -> Array:
    """The largest safe c for every neuron.

    Arrays broadcast over any leading axes; `ranges` has shape (..., 2), `sigma` holds the coefficients of σ. `terms` bounds what
    γ was summed from: where it cancels, its rounding error is large beside γ itself.
    """
    low, high = ranges[..., 0], ranges[..., 1]
    middle, half = (low + high) / 2, (high - low) / 2
    g = gamma[..., None] * taylor(sigma, shift + middle, half)
    g = np.concatenate([g, np.zeros((*g.shape[:-1], max(0, 3 - g.shape[-1])))], axis=-1)
    g[..., 0] -= (p * middle + t) * middle
    g[..., 1] -= (2 * p * middle + t) * half
    g[..., 2] -= p * half * half
    places = np.concatenate(
        [np.clip(critical_places(g), -1.0, 1.0), np.ones((*g.shape[:-1], 2)) * [-1.0, 1.0]], axis=-1
    )
    reach = np.maximum(np.abs(low), np.abs(high))
    factor = np.abs(gamma) if terms is None else np.maximum(np.abs(gamma), terms)
    size = factor * horner(np.abs(sigma), np.asarray(np.abs(shift) + reach)[..., None])[..., 0]
    size = size + (np.abs(p) * reach + np.abs(t)) * reach
    return np.asarray(horner(g, places).min(axis=-1) - SLACK * size)


def critical_places(g: Array) -> Array:
    """Real parts of all roots of g' (extra places do no harm where only the least value is sought)."""
    slope = g[..., 1:] * np.arange(1, g.shape[-1])
    if slope.shape[-1] == 2:
        b, a = slope[..., 0], slope[..., 1]
        return np.asarray(_ratio(-b, a)[..., None])
    if slope.shape[-1] == 3:
        c, b, a = slope[..., 0], slope[..., 1], slope[..., 2]
        root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
        q = -(b + np.copysign(root, b)) / 2
        return np.stack([_ratio(q, a), _ratio(c, q)], axis=-1)
    return _companion_roots(slope)


def _ratio(top: Array, bottom: Array) -> Array:
    """top / bottom kept finite; only places inside [−1, 1] matter."""
    safe = np.where(np.abs(bottom) > np.abs(top) / 4, bottom, 1.0)
    return np.where(np.abs(bottom) > np.abs(top) / 4, top / safe, 2.0)


def _companion_roots(slope: Array) -> Array:
    degree = slope.shape[-1] - 1
    size = np.abs(slope).max(axis=-1)
    size = np.where(size > 0, size, 1.0)
    lead = slope[..., -1]
    lead = np.where(np.abs(lead) > 1e-14 * size, lead, np.copysign(1e-14 * size, lead))
    companion = np.zeros((*slope.shape[:-1], degree, degree))
    companion[..., np.arange(1, degree), np.arange(degree - 1)] = 1.0
    companion[..., :, -1] = -slope[..., :-1] / lead[..., None]
    return np.asarray(np.linalg.eigvals(companion).real)
