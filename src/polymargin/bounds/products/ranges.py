"""Ranges of the rests of sums on a ball around the point.

To second order the rest of a sum is a quadratic form of few products, Σ_j c_j (a_Lj·η)(a_Rj·η), whose extreme eigenvalues
times r² bound it; of one product they are (a_L·a_R ± ‖a_L‖‖a_R‖)/2. What is left is of third order: with |w| ≤ ω and |e| ≤ ε for
the sums in the factors

    |e_j| ≤ |p_L| ε_R + |p_R| ε_L + r‖a_L‖ ω_R + r‖a_R‖ ω_L + ω_L ω_R.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.products.expansion import ProductExpansion
from polymargin.deadlines import NEVER, Deadline

Array = NDArray[np.float64]

# Eigenvalues and ranges are this much wider than computed, relative to their size: room for rounding here and in the checker.
OUTWARD = 1e-7
# Nor are they less than this, where factors have no slope: the checker shows strict inequalities.
LEAST = 1e-30
# Ranges are not narrower than this fraction of the widest.
NARROWEST = 1e-6

_known: WeakKeyDictionary[ProductExpansion, Array] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class RestRanges:
    """limits (S, 2) of the rests; factors (J, 2): bounds of |t_L| and |t_R|."""

    limits: Array
    factors: Array


def rest_ranges(expansion: ProductExpansion, radius: float, deadline: Deadline = NEVER) -> RestRanges:
    return ranges_from(expansion, curvatures(expansion, deadline), radius)


def ranges_from(expansion: ProductExpansion, eigenvalues: Array, radius: float) -> RestRanges:
    """On the ball, from (S, 2) eigenvalues between which those of the second-order forms lie."""
    sides = (expansion.left, expansion.right)
    lengths = [radius * length * (1 + OUTWARD) for length in expansion.lengths]
    limits = radius**2 * eigenvalues
    errors, sizes = np.zeros(expansion.sums + 1), np.zeros(expansion.sums + 1)  # the last is that of no sum
    (p, q), (left, right) = (np.abs(side.value) for side in sides), (side.sums for side in sides)
    for own in expansion.order:
        rests = p * errors[right] + q * errors[left]
        rests += lengths[0] * sizes[right] + lengths[1] * sizes[left] + sizes[left] * sizes[right]
        errors[own] = (abs(expansion.wiring.sums[own]) @ rests) * (1 + OUTWARD)
        limits[own] += errors[own, None] * np.array([-1.0, 1.0])
        largest = np.abs(limits[own]).max(axis=1)
        room = OUTWARD * largest + NARROWEST * largest.max() + LEAST
        limits[own] += room[:, None] * np.array([-1.0, 1.0])
        sizes[own] = np.abs(limits[own]).max(axis=1)
    factors = np.stack([lengths[0] + sizes[left], lengths[1] + sizes[right]], axis=1)
    return RestRanges(limits, factors)


def curvatures(expansion: ProductExpansion, deadline: Deadline = NEVER) -> Array:
    """(S, 2): eigenvalues between which those of the second-order forms of the sums lie; zero is between them."""
    if expansion not in _known:
        _known[expansion] = _curvatures(expansion, deadline)
    return _known[expansion]


def _curvatures(expansion: ProductExpansion, deadline: Deadline) -> Array:
    result = np.zeros((expansion.sums, 2))
    for index, row in enumerate(expansion.curvature):
        deadline.check()
        columns, weights = row.indices, row.data
        stacked = np.concatenate([expansion.left.slopes[columns], expansion.right.slopes[columns]])
        count = len(columns)
        if 2 * count < expansion.dimension:
            stacked = np.asarray(np.linalg.qr(stacked.T, mode="r")).T
        a, b = stacked[:count], stacked[count:]
        half = a.T @ (weights[:, None] * b)
        values = np.linalg.eigvalsh((half + half.T) / 2)
        result[index] = min(values[0], 0.0), max(values[-1], 0.0)
    size = np.abs(result).max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(result + (OUTWARD * size + LEAST) * np.array([-1.0, 1.0]))
