"""Ranges of the nonlinear rests wˡ on a ball around the point.

The rests of the second layer are quadratic forms, w_i = δᵀQ_iδ with Q_i = c W¹ᵀ diag(W²_i) W¹, so they lie between r² times
the extreme eigenvalues of Q_i. These do not depend on the point, the rival or the radius: they are computed once per network.
Deeper rests get plain intervals from the ranges below,

    w_i = Σ_j W_ij (σ'(p_j) w_j + c t_j²),       |t_j − w_j| ≤ r‖a_j‖.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.expansion import Expansion
from polymargin.networks.polynomial_network import PolynomialNetwork

Array = NDArray[np.float64]

# Ranges are this much wider than computed, relative to their size: room for rounding here and in the checker.
OUTWARD = 1e-8
# Ranges are not narrower than this fraction of the widest in their layer: a neuron without curvature has none.
NARROWEST = 1e-6

_spectra: WeakKeyDictionary[PolynomialNetwork, Array] = WeakKeyDictionary()


def rest_ranges(expansion: Expansion, radius: float) -> list[Array]:
    """(h, 2) for every layer from the second on."""
    network = expansion.view.layered
    if network not in _spectra:
        _spectra[network] = _extreme_eigenvalues(expansion)
    ranges = [radius * radius * _spectra[network]]
    for below, layer in zip(expansion.layers[1:], expansion.layers[2:], strict=False):
        ranges.append(_intervals(layer.weights, below.rise, below.bend, radius * below.slopes, ranges[-1]))
    return ranges


def curvature(expansion: Expansion, combination: Array) -> Array:
    """Σ c_i Q_i, in coordinates of the row space."""
    first, second = expansion.layers[0], expansion.layers[1]
    return np.asarray(first.weights.T @ ((first.bend * (combination @ second.weights))[:, None] * first.weights))


def _extreme_eigenvalues(expansion: Expansion) -> Array:
    count = len(expansion.layers[1].value)
    limits = np.empty((count, 2))
    for i, unit in enumerate(np.eye(count)):
        values = np.linalg.eigvalsh(curvature(expansion, unit))
        limits[i] = min(values[0], 0.0), max(values[-1], 0.0)  # zero where W¹ has fewer rows than columns, or δ = 0
    return _widened(limits)


def _intervals(weights: Array, rise: Array, bend: float, slopes: Array, below: Array) -> Array:
    reach = np.linalg.norm(slopes, axis=1)
    low, high = below[:, 0] - reach, below[:, 1] + reach
    most = np.maximum(low * low, high * high)
    least = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low * low, high * high))
    steep, flat = weights * rise, bend * weights
    ends = [
        np.minimum(steep, 0) @ below[:, 1 - side]
        + np.maximum(steep, 0) @ below[:, side]
        + np.minimum(flat, 0) @ (most, least)[side]
        + np.maximum(flat, 0) @ (least, most)[side]
        for side in (0, 1)
    ]
    return _widened(np.stack(ends, axis=-1))


def _widened(limits: Array) -> Array:
    size = np.abs(limits).max(axis=1, keepdims=True)
    room = OUTWARD * size + NARROWEST * size.max() + 1e-200
    return np.asarray(limits + room * np.array([-1.0, 1.0]))
