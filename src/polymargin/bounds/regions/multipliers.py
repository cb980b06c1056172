"""Multipliers that prove a quadratic positive on a region.

    q(v) − Σ d_i (δ_i − l_i)(h_i − δ_i) − λ (bound − N) − Σ κ (w − lo)(hi − w)     positive definite in (1, v)   ⇒   q > 0.

One for every coordinate of the box, one for the norm, one for every lifted rest. If the relaxation is tight, the worst point
is stationary for the Lagrangian: its gradient there says what d and λ are, without a program to solve. What is missing for
a positive definite matrix is added to all coordinates alike; an interior-point method improves on that where it pays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.regions.quadratic import QuadraticBelow
from polymargin.bounds.regions.region import AllowedRegion
from polymargin.deadlines import Deadline
from polymargin.relaxation.interior_point import maximise
from polymargin.relaxation.program import SemidefiniteProgram

Array = NDArray[np.float64]

# What all coordinates get at least, and then in addition until the matrix is positive definite; relative to the largest.
SHIFTS = (1e-6, 1e-3, 5e-3, 0.02, 0.1, 0.5)
# Variables up to which a program is solved where a guess does not do.
LARGEST_PROGRAM = 900
# A part of what a bound leaves goes to the multipliers, so that rounding cannot undo it.
ROOM = 0.5


@dataclass(frozen=True, eq=False)
class RegionMultipliers:
    """d on the moving coordinates, λ, κ of all lifted rests."""

    box: Array
    norm: float
    rests: Array


@dataclass(frozen=True, eq=False)
class ScaledQuadratic:
    """The quadratic and its constraints in variables from −1 to 1 about the middle of the box and of the ranges of w."""

    corner: float
    border: Array
    inner: Array
    halves: Array
    norm: tuple[Array, Array, float] | None

    @classmethod
    def of(cls, quadratic: QuadraticBelow, region: AllowedRegion, centre: Array, rests: Array) -> ScaledQuadratic:
        """`rests` (k, 2): the ranges of the lifted rests."""
        moving = region.moving
        low = np.concatenate([region.low[moving] - centre[moving], rests[:, 0]])
        high = np.concatenate([region.high[moving] - centre[moving], rests[:, 1]])
        middle, halves = (low + high) / 2, (high - low) / 2
        pulled = quadratic.inner @ middle
        corner = quadratic.corner + float(quadratic.border @ middle + middle @ pulled)
        border = halves * (quadratic.border + 2 * pulled)
        inner = quadratic.inner * halves[:, None] * halves
        norm = None
        if not region.is_box:
            a, b, bound = region.norm_terms
            count = len(moving)
            offset = middle[:count] + (centre - region.point)[moving]
            half = halves[:count]
            about = (2 * a * offset + b) * half / bound
            norm = a * half**2 / bound, about, float((a * offset**2 + b * offset).sum() / bound - 1)
        return cls(corner, border, inner, halves, norm)

    def matrix(self, d: Array, norm: float) -> Array:
        """[[corner, border/2], [border/2, inner]] with what the multipliers (of 1 − s², N/bound ≤ 1) add."""
        side = len(self.border)
        result = np.empty((side + 1, side + 1))
        result[1:, 1:] = self.inner
        border, corner = self.border.copy(), self.corner - float(d.sum())
        places = np.arange(1, side + 1)
        result[places, places] += d
        if self.norm is not None and norm:
            squares, linear, constant = self.norm
            inside = places[: len(squares)]
            result[inside, inside] += norm * squares
            border[: len(squares)] += norm * linear
            corner += norm * constant
        result[0, 0], result[0, 1:], result[1:, 0] = corner, border / 2, border / 2
        return result

    def natural(self, d: Array, norm: float, region: AllowedRegion) -> RegionMultipliers:
        """In the variables as they are."""
        scaled = d / self.halves**2
        count = len(region.moving)
        bound = 1.0 if region.is_box else region.norm_terms[2]
        return RegionMultipliers(scaled[:count], norm / bound, scaled[count:])


def bound_of(matrix: Array) -> float:
    """The largest γ for which the matrix with corner − γ is positive semidefinite; −∞ if the rest is not definite."""
    factor, info = linalg.lapack.dpotrf(matrix[1:, 1:], lower=1)
    if info:
        return -math.inf
    half = linalg.solve_triangular(factor, matrix[1:, 0], lower=True, check_finite=False)
    return float(matrix[0, 0] - half @ half)


def guessed(scaled: ScaledQuadratic, place: Array, rests: Array, enough: float) -> tuple[float, Array, float]:
    """Value, d and λ from the gradient at a place where the quadratic is small on the region; `rests` are κ, as they are."""
    count = len(place) - len(rests)
    slope = scaled.border + 2 * scaled.inner @ place
    best: tuple[float, Array, float] = (-math.inf, np.concatenate([np.ones(count), rests]), 0.0)
    for gradient, norm in _shares(scaled, place, slope):
        start = np.concatenate([np.abs(gradient[:count]) / 2, rests])
        scale = float(start[:count].max(initial=0.0)) + 1e-3 * float(np.abs(scaled.inner).max(initial=0.0)) + 1e-300
        before = -math.inf
        for shift in SHIFTS:
            d = start.copy()
            d[:count] += shift * scale
            value = bound_of(scaled.matrix(d, norm))
            if value > best[0]:
                best = (value, d, norm)
            if value > enough:
                return best
            if math.isfinite(before) and value <= before:
                break
            before = value
    return best


def _shares(scaled: ScaledQuadratic, place: Array, slope: Array) -> list[tuple[Array, float]]:
    """Ways to share the gradient between the norm and the box: what is left for the box, and λ.

    At the worst point the gradient points into the ball where the box does not hold it; at a coordinate of both, either may.
    """
    if scaled.norm is None:
        return [(slope, 0.0)]
    squares, linear, _ = scaled.norm
    outward = np.zeros_like(slope)
    outward[: len(squares)] = 2 * squares * place[: len(squares)] + linear
    result = []
    for chosen in (np.abs(place) < 1 - 1e-6, np.ones(len(place), dtype=bool)):
        size = float(outward[chosen] @ outward[chosen])
        norm = max(0.0, -float(slope[chosen] @ outward[chosen]) / size) if size > 0 else 0.0
        result.append((slope + norm * outward, norm))
    return result


def improved(
    scaled: ScaledQuadratic, start: tuple[float, Array, float], size: float, enough: float, deadline: Deadline
) -> tuple[float, Array, float]:
    """The best multipliers by an interior-point method; as far as the sign of the bound needs."""
    value, d, norm = start
    side = len(scaled.border)
    if not (np.isfinite(scaled.inner).all() and np.isfinite(scaled.border).all()):
        return start
    if not math.isfinite(value):
        least = float(linalg.eigh(scaled.inner, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)[0])
        d = np.full(side, max(0.0, -least) + 0.1 * float(np.abs(scaled.border).max(initial=0.0)) + 1e-3 * size)
        norm = 0.0
        value = bound_of(scaled.matrix(d, norm))
        if not math.isfinite(value):
            return start
    with_norm = scaled.norm is not None
    unknowns = 1 + side + int(with_norm)
    linear, diagonal = np.zeros((unknowns, side + 1)), np.zeros((unknowns, side + 1))
    diagonal[0, 0] = -1.0
    each = np.arange(1, side + 1)
    diagonal[each, 0], diagonal[each, each] = -1.0, 1.0
    if scaled.norm is not None:
        squares, about, constant = scaled.norm
        diagonal[-1, 1 : 1 + len(squares)] = squares
        linear[-1, 1 : 1 + len(squares)] = about
        diagonal[-1, 0] = constant
    base = scaled.matrix(np.zeros(side), 0.0)
    program = SemidefiniteProgram.build(
        base, np.zeros((0, side + 1)), np.zeros((unknowns, 0)), linear, diagonal, np.arange(1, unknowns)
    )
    scale = max(size, 0.01 * abs(value))
    # Far from zero: a multiplier that starts tiny stays there, and the method takes that for an optimum.
    y = np.concatenate([[0.0], np.maximum(d, 0.01 * scale), [max(norm, 0.3 * scale)] if with_norm else []])
    y[0] = bound_of(scaled.matrix(y[1 : side + 1], y[-1] if with_norm else 0.0)) - 0.1 * scale
    if not math.isfinite(y[0]):
        return start
    found = maximise(program.placed, y, scale, tolerance=1e-4, enough=enough, hopeless=0.0, deadline=deadline)
    if found is None or not found.y[0] > start[0]:
        return start
    return float(found.y[0]), found.y[1 : side + 1], float(found.y[-1]) if with_norm else 0.0


def with_room(value: float, d: Array) -> Array:
    """A part of a positive bound spread over the multipliers: the matrix is then definite by a margin."""
    return d + ROOM * value / max(len(d), 1)
