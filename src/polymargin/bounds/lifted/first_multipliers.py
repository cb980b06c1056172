"""The first multipliers of a lifted relaxation, without solving its program.

Around the centre of the ranges, then around the worst input known, ν makes the Lagrangian stationary in the rests and θ or κ
make it convex in them; the best μ then follows from an eigenproblem, or from norms alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.best_ball import best_ball
from polymargin.bounds.lifted.relaxation import LiftedRelaxation
from polymargin.deadlines import NEVER, Deadline

Array = NDArray[np.float64]

# The multiplier of the cut at the start; optimal ones were seen between 1.5 and 2.6.
START_CUT = 2.0
START_EXTRA = 0.5
# How much more convex in the rests than needed the Lagrangian is made around the worst input, relative to its curvatures.
SLACKS = (0.3, 1.0)
# How much of the products in each direction combinations take over at the start: all of it costs more than it gives. And how
# much of those of the second layer a cubic cut takes over.
START_EXCHANGE = 0.5
START_CUBIC = 0.5


def first_multipliers(
    relaxation: LiftedRelaxation, enough: float = np.inf, deadline: Deadline = NEVER
) -> tuple[Array, float]:
    """A strictly feasible y, and the best γ that its other multipliers prove: the first beyond `enough`, or the best."""
    best: tuple[float, Array] = (-np.inf, np.zeros(relaxation.unknown_count))
    for place, slack in _guesses(relaxation):
        y = _guess(relaxation, place, slack)
        value, y[1] = best_ball(relaxation.reduced(y), abs(relaxation.size))
        if value > best[0] or not best[1].any():
            best = (value, y)
        if value > enough or deadline.passed:
            break
    value, y = best
    y[0] = value - 0.3 * relaxation.scale(value)
    return y, value


def multipliers_by_norms(relaxation: LiftedRelaxation) -> tuple[float, Array]:
    """The γ that norms alone prove with the first guess of the multipliers, and these; −∞ if none. For no cuts.

    The least eigenvalue of Σ d_j a_j a_jᵀ is at least minus the largest row sum of Σ |a_j| max(0, −d_j) |a_j|ᵀ.
    """
    y = _guess(relaxation, None, 0.0)
    terms = relaxation.terms(y)
    if terms is None:
        return -np.inf, y
    corner, border, weights = terms
    sums = np.zeros(relaxation.expansion.dimension)
    for squares, factors in weights:
        sizes = np.abs(squares.rows)
        sums += relaxation.radius**2 * ((np.maximum(0.0, -factors) * sizes.sum(axis=1)) @ sizes)
    least, length = float(sums.max()) * (1 + 1e-9), float(np.linalg.norm(border)) + 1e-9 * abs(relaxation.size)
    y[1] = least + length
    return corner - y[1] - length, y


def _guesses(relaxation: LiftedRelaxation) -> list[tuple[Array | None, float]]:
    """Where the Lagrangian is made stationary in w, and how much more convex than needed.

    The centre of the ranges comes first, then the worst input known: where the relaxation is tight, the Lagrangian is
    stationary there.
    """
    if relaxation.worst is None or not relaxation.ranges:
        return [(None, 0.0)]
    return [(None, 0.0), *((relaxation.worst, slack) for slack in SLACKS)]


def _guess(relaxation: LiftedRelaxation, place: Array | None, slack: float) -> Array:
    """From the last layer down: θ or κ makes the Lagrangian convex in w, ν makes it stationary at δ = place.

    No place is δ = 0 with all rests in the middle of their ranges.
    """
    states = [(middle, middle) for middle in relaxation.middles]
    if place is not None:
        states = relaxation.expansion.rests(place)[1:]
    y = np.zeros(relaxation.unknown_count)
    scale = abs(relaxation.size)
    theta = np.full(len(relaxation.cuts), START_EXTRA)
    theta[:1] = START_CUT
    y[relaxation.first_place] = 0.01 * scale
    y[relaxation.cut_place] = theta * relaxation.cut_scales
    y[relaxation.cubic_place] = START_CUBIC * scale
    exchanges = y[relaxation.exchange_place] = 2 * START_EXCHANGE * relaxation.exchange_scales
    slope, square = relaxation.top.linear, relaxation.top.square
    if states:
        slope = slope + 2 * square * states[-1][1]
        slope = slope if place is None else slope + 2 * relaxation.products(y) @ place
    for k in reversed(range(len(states))):
        (nu, kappa), half, rest = relaxation.unknowns[k], relaxation.halves[k], states[k][1]
        bend = square * half**2
        cut = relaxation.cuts.T @ theta if k == 0 else np.zeros_like(half)
        y[kappa] = (1.2 + slack) * np.maximum(0.0, -bend - cut * half**2) + slack * np.maximum(0.0, bend)
        y[kappa] += 0.02 * np.abs(bend).mean() + 1e-6 * scale
        if k + 1 == len(states):
            y[kappa][len(half) - len(exchanges) :] += exchanges / 2
        y[nu] = -(slope * half + 2 * y[kappa] * (rest - relaxation.middles[k]) / half + 2 * cut * rest * half)
        if k:
            layer, above = relaxation.expansion.layers[k], relaxation.expansion.layers[k + 1]
            outer = -(above.weights.T @ (y[nu] / half))
            slope, square = outer * (layer.rise + 2 * layer.bend * states[k - 1][0]), outer * layer.bend
            if k == 1 and relaxation.cubic is not None:
                slope = slope - 2 * START_CUBIC * relaxation.cubic.weights * (states[0][0] - states[0][1])
    return y
