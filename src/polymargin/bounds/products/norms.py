"""A proof on a ball from norms alone, for when there is no time to find a better one: no eigenvalue, no matrix over the inputs.

Around the point f_label − f_rival = b + g·η + Σ_j f_j (rest of product j). Multipliers ν of the equalities, from the last sums
back to the first, take the rests out of its linear part: b + g·η + Σ_j f_j t_L t_R is left, with other f_j, where t = a·η + w.
On the ball η = rξ, and w_s = h_s ω_s where |w_s| ≤ h_s. Every product of two terms costs at most half of both their squares:

    |(a_L·η)(a_R·η)| ≤ r² (‖a_L‖‖a_R‖ + |a_L·a_R|)/2 ‖ξ‖²,
    |(a·η) w_s| ≤ r‖a‖ h_s (‖ξ‖² + ω_s²)/2,    |w_s w_t| ≤ h_s h_t (ω_s² + ω_t²)/2.

What they cost in ‖ξ‖² goes to μ, what they cost in ω_s² to κ_s, and γ = b − r‖g‖ − all of it. Instead of what the products cost
one by one in ‖ξ‖² the largest row sum of Σ_j |f_j| |a_L||a_R|ᵀ is taken where that is less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.products.expansion import ProductExpansion
from polymargin.bounds.products.ranges import LEAST, OUTWARD, RestRanges, ranges_from
from polymargin.bounds.products.relaxation import ProductMultipliers

Array = NDArray[np.float64]
Functional = tuple[float, Array, Array]


def norm_curvatures(expansion: ProductExpansion) -> Array:
    """(S, 2): as `ranges.curvatures`, from (a_L·a_R ± ‖a_L‖‖a_R‖)/2 of every product alone."""
    lengths, angles = expansion.lengths, expansion.angles
    size = lengths[0] * lengths[1] * (1 + OUTWARD) + LEAST
    up, down = (size + angles) / 2, (size - angles) / 2
    positive, negative = expansion.curvature.maximum(0.0), (-expansion.curvature).maximum(0.0)
    return np.stack([-(positive @ down + negative @ up), positive @ up + negative @ down], axis=1)


def norm_ranges(expansion: ProductExpansion, curvatures: Array, radius: float) -> RestRanges:
    """As wide below zero as above."""
    ranges = ranges_from(expansion, curvatures, radius)
    half = np.abs(ranges.limits).max(axis=1, keepdims=True)
    return RestRanges(half * np.array([-1.0, 1.0]), ranges.factors)


def norm_multipliers(
    expansion: ProductExpansion, functional: Functional, radius: float, ranges: RestRanges
) -> tuple[float, ProductMultipliers]:
    """γ, and multipliers that prove the functional positive if it is; half of γ is given to μ, a quarter to all κ."""
    value, slope, weights = functional
    equalities, factors = _without_rests(expansion, weights)
    halves = np.append(ranges.limits[:, 1], 0.0)  # the last is that of no sum
    sides = (expansion.left, expansion.right)
    lengths = [radius * length for length in expansion.lengths]
    rests = [halves[side.sums] for side in sides]
    sizes = np.abs(factors) * (1 + OUTWARD)
    mixed = sizes @ (lengths[0] * rests[1] + lengths[1] * rests[0]) / 2
    ball = _cost_of_linear_parts(expansion, sizes, radius) + float(mixed)
    intervals = np.zeros(expansion.sums + 1)
    for side, rest, length, other in zip(sides, rests, reversed(lengths), reversed(rests), strict=True):
        np.add.at(intervals, side.sums, sizes * rest * (length + other) / 2)
    intervals = intervals[: expansion.sums]
    steep = radius * float(np.linalg.norm(slope)) * (1 + OUTWARD)
    bound = value - steep - ball - float(intervals.sum())
    room = max(bound, 0.0)
    multipliers = ProductMultipliers(
        (ball + steep / 2 + room / 2) / radius**2,
        equalities,
        (intervals + room / (4 * max(1, expansion.sums))) / halves[:-1] ** 2,
        np.zeros((len(expansion.single[0]), 3)),
    )
    return bound, multipliers


def _without_rests(expansion: ProductExpansion, weights: Array) -> tuple[Array, Array]:
    """ν, and the factors f of t_L t_R that are left when no rest is in the linear part."""
    equalities, factors = np.zeros(expansion.sums), weights.copy()
    for own in reversed(expansion.order):
        equalities[own] = -(expansion.passing.T @ factors)[own]
        factors -= expansion.wiring.sums[own].T @ equalities[own]
    return equalities, factors


def _cost_of_linear_parts(expansion: ProductExpansion, sizes: Array, radius: float) -> float:
    """What Σ ± sizes_j (a_L·η)(a_R·η) costs in ‖ξ‖²."""
    one_by_one = sizes @ (expansion.lengths[0] * expansion.lengths[1] + np.abs(expansion.angles)) / 2
    a, b = np.abs(expansion.left.slopes), np.abs(expansion.right.slopes)
    rows = (sizes * b.sum(axis=1)) @ a + (sizes * a.sum(axis=1)) @ b
    return radius**2 * min(float(one_by_one), float(rows.max(initial=0.0)) / 2) * (1 + OUTWARD)
