"""Ranges of the nonlinear rests wˡ on a ball around the point.

The rests of the second layer are quadratic forms, w_i = δᵀQ_iδ with Q_i = c W¹ᵀ diag(W²_i) W¹, so they lie between r² times
the extreme eigenvalues of Q_i. These do not depend on the point, the rival or the radius: they are computed once per network.
Deeper rests lie within what their curvatures allow (`third_layer.py`, `spectra.py`), and within plain intervals from those below,

    w_i = Σ_j W_ij (σ'(p_j) w_j + c t_j²),       |t_j − w_j| ≤ r‖a_j‖.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.bounds.lifted.curved import Curved
from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.spectra import Below, Spectra, curved_combinations, curved_layer, second_spectrum
from polymargin.deadlines import NEVER, Deadline

Array = NDArray[np.float64]

# Ranges are this much wider than computed, relative to their size: room for rounding here and in the checker.
OUTWARD = 1e-6
# Ranges are not narrower than this fraction of the widest in their layer: a neuron without curvature has none.
NARROWEST = 1e-6


@dataclass(frozen=True, eq=False)
class _Layer:
    """Ranges (h, 2) of the rests of a layer, and what they were found from; None of the second."""

    ranges: Array
    curved: Curved | None = None

    def below(self, radius: float) -> Below | None:
        """What the layer above needs to know; nothing of the second, and the third needs nothing."""
        if self.curved is None or self.curved.errors is None:
            return None
        return Below(np.abs(self.ranges).max(axis=1) / radius**2, self.curved.errors)


def rest_ranges(expansion: LiftedExpansion, radius: float, deadline: Deadline = NEVER) -> list[Array]:
    """(h, 2) for every layer from the second on."""
    return [layer.ranges for layer in _layers(expansion, radius, deadline)]


def spectra(expansion: LiftedExpansion, radius: float, deadline: Deadline = NEVER) -> Spectra | None:
    """What proves these ranges beyond the second layer; None for two hidden layers or fewer."""
    found = [layer.curved for layer in _layers(expansion, radius, deadline) if layer.curved is not None]
    if len(expansion.layers) < 3 or found[0].balances is None:
        return None
    return Spectra(tuple(curved.errors for curved in found if curved.errors is not None), found[0].balances)


def _layers(expansion: LiftedExpansion, radius: float, deadline: Deadline) -> list[_Layer]:
    """From the second on; combinations are in the last. Those of the last radius are kept."""
    if _Layer not in expansion.known or expansion.known[_Layer][0] != radius:
        expansion.known[_Layer] = (radius, _found_layers(expansion, radius, deadline))
    layers: list[_Layer] = expansion.known[_Layer][1]
    return layers


def _found_layers(expansion: LiftedExpansion, radius: float, deadline: Deadline) -> list[_Layer]:
    plain = expansion.plain
    if len(plain.layers) < 2:
        return []
    result = [_Layer(_widened(radius * radius * second_spectrum(plain, deadline)))]
    below = None
    for number in range(3, len(plain.layers) + 1):
        below = result[-1].below(radius)
        found = curved_layer(plain, number, radius, below, deadline)
        intervals, curved = (
            _intervals(plain, number, radius, {}, result[-1].ranges),
            _widened(radius**2 * found.eigenvalues),
        )
        low, high = np.maximum(intervals[:, 0], curved[:, 0]), np.minimum(intervals[:, 1], curved[:, 1])
        result.append(_Layer(np.stack([low, high], axis=-1), found))
    if expansion.combinations is not None:
        more = curved_combinations(expansion, radius, below, deadline)
        ranges = np.concatenate([result[-1].ranges, _widened(radius**2 * more.eigenvalues)])
        result[-1] = _Layer(ranges, Curved.stacked([found, more]))
    return result


def interval_ranges(expansion: LiftedExpansion, radius: float) -> list[Array]:
    """The same by interval arithmetic alone: wider, and at no cost."""
    ranges: list[Array] = []
    for number in range(2, len(expansion.layers) + 1):
        ranges.append(_intervals(expansion, number, radius, {}, ranges[-1] if ranges else np.zeros((0, 2))))
    return ranges


def narrowed(
    expansion: LiftedExpansion, radius: float, ranges: Sequence[Array], first: Mapping[int, tuple[float, float]]
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
    expansion: LiftedExpansion, number: int, radius: float, first: Mapping[int, tuple[float, float]], below: Array
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
