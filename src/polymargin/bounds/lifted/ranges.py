"""Ranges of the nonlinear rests wˡ on a ball around the point.

The rests of the second layer are quadratic forms, w_i = δᵀQ_iδ with Q_i = c W¹ᵀ diag(W²_i) W¹, so they lie between r² times
the extreme eigenvalues of Q_i. These do not depend on the point, the rival or the radius: they are computed once per network.
Deeper rests lie within what their curvatures allow (`spectra.py`), and within plain intervals from those below,

    w_i = Σ_j W_ij (σ'(p_j) w_j + c t_j²),       |t_j − w_j| ≤ r‖a_j‖.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.lifted.expansion import Expansion
from polymargin.bounds.lifted.spectra import Below, Spectra, combined_spectrum, deeper_spectrum, second_spectrum
from polymargin.deadlines import NEVER, Deadline

Array = NDArray[np.float64]

# Ranges are this much wider than computed, relative to their size: room for rounding here and in the checker.
OUTWARD = 1e-6
# Ranges are not narrower than this fraction of the widest in their layer: a neuron without curvature has none.
NARROWEST = 1e-6


def rest_ranges(expansion: Expansion, radius: float, deadline: Deadline = NEVER) -> list[Array]:
    """(h, 2) for every layer from the second on."""
    return [ranges for ranges, _ in _curved(expansion, radius, deadline)]


def spectra(expansion: Expansion, radius: float, deadline: Deadline = NEVER) -> Spectra | None:
    """What proves these ranges beyond the second layer; None for two hidden layers or fewer."""
    if len(expansion.layers) < 3:
        return None
    return Spectra(tuple(errors for _, errors in _curved(expansion, radius, deadline) if errors is not None))


def _curved(expansion: Expansion, radius: float, deadline: Deadline) -> Iterator[tuple[Array, Array | None]]:
    """Ranges layer by layer, and from the third on, but for the last, how far the rests are from quadratic forms."""
    if expansion.combinations is not None:
        *lower, (last, _) = _curved(expansion.plain, radius, deadline)
        yield from lower
        below = _below(*lower[-1], radius) if lower else None
        found = combined_spectrum(expansion, deadline).on(radius, below, deadline)
        yield np.concatenate([last, _widened(radius**2 * found.eigenvalues)]), None
        return
    if len(expansion.layers) < 2:
        return
    ranges, errors = _widened(radius * radius * second_spectrum(expansion, deadline)), None
    yield ranges, None
    for number in range(3, len(expansion.layers) + 1):
        below = _below(ranges, errors, radius)
        found = deeper_spectrum(expansion, number, deadline).on(radius, below, deadline)
        plain, curved = _intervals(expansion, number, radius, {}, ranges), _widened(radius**2 * found.eigenvalues)
        low, high = np.maximum(plain[:, 0], curved[:, 0]), np.minimum(plain[:, 1], curved[:, 1])
        ranges, errors = np.stack([low, high], axis=-1), found.errors
        yield ranges, errors


def _below(ranges: Array, errors: Array | None, radius: float) -> Below | None:
    """What a layer needs to know of that below; nothing of the second."""
    return None if errors is None else Below(np.abs(ranges).max(axis=1) / radius**2, errors)


def interval_ranges(expansion: Expansion, radius: float) -> list[Array]:
    """The same by interval arithmetic alone: wider, and at no cost."""
    ranges: list[Array] = []
    for number in range(2, len(expansion.layers) + 1):
        ranges.append(_intervals(expansion, number, radius, {}, ranges[-1] if ranges else np.zeros((0, 2))))
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
    steep, flat = layer.rise[:, None] * below, layer.bend * np.stack([least, most], axis=-1)
    inner = np.sort(steep, axis=1) + np.sort(flat, axis=1)
    positive, negative = (
        (weights.maximum(0), weights.minimum(0))
        if sparse.issparse(weights)
        else (weights.clip(0), weights.clip(None, 0))
    )
    limits = [positive @ inner[:, side] + negative @ inner[:, 1 - side] for side in (0, 1)]
    return _widened(np.stack(limits, axis=-1))


def _widened(limits: Array) -> Array:
    size = np.abs(limits).max(axis=1, keepdims=True)
    room = OUTWARD * size + NARROWEST * size.max() + 1e-20
    return np.asarray(limits + room * np.array([-1.0, 1.0]))
