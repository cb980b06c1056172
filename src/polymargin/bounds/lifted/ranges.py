"""Ranges of the nonlinear rests wˡ on a ball around the point.

The rests of the second layer are quadratic forms, w_i = δᵀQ_iδ with Q_i = c W¹ᵀ diag(W²_i) W¹, so they lie between r² times
the extreme eigenvalues of Q_i. These do not depend on the point, the rival or the radius: they are computed once per network.
Deeper rests get plain intervals from the ranges below,

    w_i = Σ_j W_ij (σ'(p_j) w_j + c t_j²),       |t_j − w_j| ≤ r‖a_j‖.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.expansion import Expansion
from polymargin.networks.polynomial_network import PolynomialNetwork

Array = NDArray[np.float64]

# Ranges are this much wider than computed, relative to their size: room for rounding here and in the checker.
OUTWARD = 1e-6
# Ranges are not narrower than this fraction of the widest in their layer: a neuron without curvature has none.
NARROWEST = 1e-6

_spectra: WeakKeyDictionary[PolynomialNetwork, Array] = WeakKeyDictionary()


def rest_ranges(expansion: Expansion, radius: float) -> list[Array]:
    """(h, 2) for every layer from the second on."""
    network = expansion.view.layered
    if network not in _spectra:
        _spectra[network] = _extreme_eigenvalues(expansion)
    ranges = [radius * radius * _spectra[network]]
    for number in range(3, len(expansion.layers) + 1):
        ranges.append(_intervals(expansion, number, radius, {}, ranges[-1]))
    return ranges


def narrowed(
    expansion: Expansion, radius: float, ranges: Sequence[Array], first: Mapping[int, tuple[float, float]]
) -> tuple[Array, ...]:
    """The same ranges on the part of the ball where first-layer neurons lie in the ranges `first`."""
    result: list[Array] = []
    for number, limits in enumerate(ranges, start=2):
        plain = _intervals(expansion, number, radius, first, result[-1] if result else np.zeros((0, 2)))
        low, high = np.maximum(limits[:, 0], plain[:, 0]), np.minimum(limits[:, 1], plain[:, 1])
        empty = low >= high  # nothing is there; any valid range does
        result.append(np.where(empty[:, None], limits, np.stack([low, high], axis=-1)))
    return tuple(result)


def _extreme_eigenvalues(expansion: Expansion) -> Array:
    count = len(expansion.layers[1].value)
    limits = np.empty((count, 2))
    for i, unit in enumerate(np.eye(count)):
        values = np.linalg.eigvalsh(expansion.curvature(unit))
        limits[i] = min(values[0], 0.0), max(values[-1], 0.0)  # zero where W¹ has fewer rows than columns, or δ = 0
    return _widened(limits)


def _intervals(
    expansion: Expansion, number: int, radius: float, first: Mapping[int, tuple[float, float]], below: Array
) -> Array:
    """Interval arithmetic for the rests of a layer, from those of the layer below (none below the second layer)."""
    layer, weights = expansion.layers[number - 2], expansion.layers[number - 1].weights
    reach = radius * np.linalg.norm(layer.slopes, axis=1) * (1 + OUTWARD)
    low, high = -reach, reach
    if number == 2:
        for neuron, ends in first.items():
            low[neuron], high[neuron] = ends
        below = np.zeros((len(low), 2))
    low, high = low + below[:, 0], high + below[:, 1]
    most = np.maximum(low * low, high * high)
    least = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low * low, high * high))
    steep, flat = weights * layer.rise, layer.bend * weights
    limits = [
        np.minimum(steep, 0) @ below[:, 1 - side]
        + np.maximum(steep, 0) @ below[:, side]
        + np.minimum(flat, 0) @ (most, least)[side]
        + np.maximum(flat, 0) @ (least, most)[side]
        for side in (0, 1)
    ]
    return _widened(np.stack(limits, axis=-1))


def _widened(limits: Array) -> Array:
    size = np.abs(limits).max(axis=1, keepdims=True)
    room = OUTWARD * size + NARROWEST * size.max() + 1e-20
    return np.asarray(limits + room * np.array([-1.0, 1.0]))
