"""The secular equation of the nearest point, for many points at once.

Minimise ‖δ‖ subject to B = β + gᵀδ + Σ σ_i δ_i² = 0 with β > 0 (flip the sign of B otherwise). Stationarity of
½‖δ‖² + λ B gives d_i δ_i = −λ g_i with d_i = 1 + 2λσ_i. Put into B:

    B(δ(λ)) = β − φ(λ),    φ(λ) = ½ Σ g_i² (λ/d_i)(1 + 1/d_i),    φ'(λ) = Σ g_i² / d_i³.

Let λ₊ = 1/(2|σ_min|) if σ_min < 0, else ∞. On [0, λ₊) all d_i > 0: the Lagrangian is strictly convex, so a stationary point
with B = 0 is *the* global minimiser, and φ rises strictly from 0, so there is at most one. If φ stays below β:

* λ₊ finite (the hard case; g vanishes on the eigenspace of σ_min): at λ₊ the Lagrangian is still convex; add any z of
  that eigenspace with |σ_min| ‖z‖² = β − φ(λ₊). All of this sphere is nearest.
* λ₊ = ∞, A ⪰ 0, g in the range of A: inf B = S = β − Σ g_i²/(4σ_i) ≥ 0. S > 0: no real point. S = 0: B vanishes exactly where
  ∇B = 0, and λ → ∞ leads to the nearest such point.

These cases exhaust all quadrics (strong duality for one quadratic equation). Numerically: Newton's method on log φ as a
function of log λ below λ₊/2, and of log t with λ = λ₊(1 − t) above it: both are nearly straight lines (φ ~ λ, φ ~ t⁻²), and
each variable keeps its relative accuracy where it is used. A bracket safeguards every step. Cf. Moré & Sorensen 1983.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from polymargin.quadric.spectrum import EPSILON, TOUCH_TOLERANCE, Spectrum, Views
from polymargin.quadric.squares import Array

MOST_ITERATIONS = 200
# A step in log x after which Newton's method has converged.
LAST_STEP = 1e-9
SMALLEST = 1e-200


class NearestKind(IntEnum):
    """What the nearest point is."""

    REGULAR = 0
    SPHERE = 1  # one of a sphere of nearest points (two of them if the sphere has dimension 0)
    SINGULAR = 2  # a singular point of the boundary: ∇B = 0 there
    EMPTY = 3  # the boundary has no real point
    ON_BOUNDARY = 4


@dataclass(frozen=True, eq=False)
class SecularRoots:
    """kinds (p,), multipliers λ (p,), steps δ (p, m); steps are NaN and λ infinite where the boundary is empty."""

    kinds: NDArray[np.int8]
    multipliers: Array
    steps: Array


def solve_secular(spectrum: Spectrum, views: Views) -> SecularRoots:
    """The nearest point for every row of `views`; rows with β = 0 are on the boundary."""
    count = len(views.values)
    roots = SecularRoots(
        kinds=np.full(count, NearestKind.ON_BOUNDARY, dtype=np.int8),
        multipliers=np.zeros(count),
        steps=np.zeros(views.gradients.shape),
    )
    for sign in (1.0, -1.0):
        rows = np.flatnonzero(sign * views.values > 0)
        if not len(rows):
            continue
        eigenvalues = sign * spectrum.eigenvalues
        gradients, values = sign * views.gradients[rows], sign * views.values[rows]
        if (lowest := float(eigenvalues.min())) < 0:
            extreme = eigenvalues <= lowest + spectrum.cluster_tolerance
            _clean(eigenvalues, lowest, extreme, gradients, spectrum.tolerance)
            found = _indefinite(eigenvalues, lowest, gradients, values, views.value_sizes[rows])
        else:
            found = _semidefinite(eigenvalues, gradients, values, sign * spectrum.least)
        roots.kinds[rows], roots.steps[rows] = found.kinds, found.steps
        roots.multipliers[rows] = sign * found.multipliers
    return roots


def _clean(eigenvalues: Array, lowest: float, extreme: NDArray[np.bool_], g: Array, tolerance: float) -> None:
    """Set g to zero on the lowest eigenspace where the error of its computed eigenvectors can account for it."""
    others = g[:, ~extreme] / (eigenvalues[~extreme] - lowest)
    noise = tolerance * np.linalg.norm(others, axis=1)
    rows = np.linalg.norm(g[:, extreme], axis=1) <= noise
    g[np.ix_(rows, extreme)] = 0.0


def _indefinite(eigenvalues: Array, lowest: float, g: Array, values: Array, value_sizes: Array) -> SecularRoots:
    count, end = len(values), 1 / (2 * abs(lowest))
    kinds = np.zeros(count, dtype=np.int8)
    multipliers, steps, squares = np.zeros(count), np.zeros(g.shape), g**2
    relative = eigenvalues / abs(lowest)
    gaps = relative + 1

    def from_zero(rows: NDArray[np.intp], x: Array) -> tuple[Array, Array]:
        phi, slope = _phi(squares[rows], x, 1 + np.multiply.outer(2 * x, eigenvalues))
        return phi, slope * x

    def from_pole(rows: NDArray[np.intp], t: Array) -> tuple[Array, Array]:
        phi, slope = _phi(squares[rows], end * (1 - t), gaps - np.multiply.outer(t, relative))
        return phi, -slope * t * end

    everything = np.arange(count)
    half = _phi(squares, np.full(count, end / 2), np.broadcast_to(1 + end * eigenvalues, g.shape))[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = np.where(squares > 0, squares * (end / gaps) * (1 + 1 / gaps) / 2, 0.0).sum(axis=1)
    near, hard = half >= values, limits < values
    far = ~near & ~hard

    rows = everything[near]
    total = squares[rows].sum(axis=1)
    x = _root(
        from_zero, rows, values[rows], values[rows] / (3 * total), np.full(len(rows), end / 2), values[rows] / total
    )
    multipliers[rows] = x
    steps[rows] = -x[:, None] * g[rows] / (1 + np.multiply.outer(2 * x, eigenvalues))

    rows = everything[far]
    poles = squares[np.ix_(far, eigenvalues == lowest)].sum(axis=1)
    low = np.maximum(np.sqrt(poles * end / (4 * values[rows])), SMALLEST)  # one term of φ alone reaches β there
    t = _root(from_pole, rows, values[rows], np.minimum(low, 0.5), np.full(len(rows), 0.5), low)
    multipliers[rows] = end * (1 - t)
    steps[rows] = -multipliers[rows, None] * g[rows] / (gaps - np.multiply.outer(t, relative))

    missing = values - limits
    kinds[hard & (missing > TOUCH_TOLERANCE * value_sizes)] = NearestKind.SPHERE
    multipliers[hard] = end
    with np.errstate(divide="ignore", invalid="ignore"):
        steps[hard] = np.where(g[hard] == 0, 0.0, -end * g[hard] / gaps)
    sphere = kinds == NearestKind.SPHERE
    steps[sphere, int(np.argmin(eigenvalues))] = np.sqrt(missing[sphere] / abs(lowest))
    return SecularRoots(kinds, multipliers, steps)


def _semidefinite(eigenvalues: Array, g: Array, values: Array, least: float) -> SecularRoots:
    count = len(values)
    kinds = np.zeros(count, dtype=np.int8)
    multipliers, steps, squares = np.zeros(count), np.zeros(g.shape), g**2
    positive = eigenvalues > 0
    kernel = squares[:, ~positive].sum(axis=1)
    flat = kernel == 0
    if least >= 0:
        kinds[flat] = NearestKind.EMPTY if least > 0 else NearestKind.SINGULAR
    kinds[~squares.any(axis=1) & (kinds == NearestKind.REGULAR)] = (
        NearestKind.SINGULAR
    )  # β = S, and rounding gave them two signs

    def from_zero(rows: NDArray[np.intp], x: Array) -> tuple[Array, Array]:
        phi, slope = _phi(squares[rows], x, 1 + np.multiply.outer(2 * x, eigenvalues))
        return phi, slope * x

    def from_infinity(rows: NDArray[np.intp], x: Array) -> tuple[Array, Array]:
        inverse = 1 / (1 + np.multiply.outer(2 * x, curvatures))
        terms = depth[rows] * inverse**2
        return terms.sum(axis=1), -4 * x * (terms * inverse * curvatures).sum(axis=1)

    # B = S + Σ w_i/d_i², w_i = g_i²/(4σ_i): far away β is a difference of large numbers, and Σ w_i/d_i² = −S is solved.
    curvatures = eigenvalues[positive]
    depth = squares[:, positive] / (4 * curvatures)
    total = depth.sum(axis=1)
    far = flat & (values > -least) & (total > -2 * least) & (kinds == NearestKind.REGULAR)
    if (rows := np.flatnonzero(far)).size:
        ratio = (np.sqrt(total[rows] / -least) - 1) / 2
        low = ratio / curvatures.max()
        high = ratio / np.where(depth[rows] > 0, curvatures, np.inf).min(axis=1)
        multipliers[rows] = _root(from_infinity, rows, np.full(len(rows), -least), low, high, low)

    rows = np.flatnonzero(~far & (kinds == NearestKind.REGULAR))
    low = values[rows] / squares[rows].sum(axis=1)
    # Without kernel slopes Σ w_i/d_i² = −S ≥ Σ w_i/2 here, so that (1 + 2λσ)² ≤ 2 for the least σ_i that counts.
    bend = np.where(depth[rows] > 0, curvatures, np.inf).min(axis=1, initial=np.inf)
    with np.errstate(divide="ignore"):
        high = np.where(flat[rows], 0.25 / bend, values[rows] / kernel[rows])
    multipliers[rows] = _root(from_zero, rows, values[rows], low, np.maximum(high, low), low)

    regular = kinds == NearestKind.REGULAR
    x = multipliers[regular]
    steps[regular] = -x[:, None] * g[regular] / (1 + np.multiply.outer(2 * x, eigenvalues))
    singular = kinds == NearestKind.SINGULAR
    multipliers[~regular] = np.inf
    steps[np.ix_(singular, positive)] = -g[np.ix_(singular, positive)] / (2 * curvatures)
    steps[kinds == NearestKind.EMPTY] = np.nan
    return SecularRoots(kinds, multipliers, steps)


def _phi(squares: Array, multipliers: Array, d: Array) -> tuple[Array, Array]:
    """φ and φ', summed from terms of one sign."""
    inverse = 1 / d
    weighted = squares * inverse
    phi = multipliers / 2 * (weighted * (1 + inverse)).sum(axis=1)
    return phi, (weighted * inverse * inverse).sum(axis=1)


def _root(
    curve: Callable[[NDArray[np.intp], Array], tuple[Array, Array]],
    rows: NDArray[np.intp],
    targets: Array,
    low: Array,
    high: Array,
    guess: Array,
) -> Array:
    """Solve φ(x) = target for every row: `curve(rows, x)` gives φ and dφ/dlog x; one root lies in [low, high]."""
    x = np.clip(guess, low, high)
    result, place, before = x.copy(), np.arange(len(rows)), np.full(len(rows), np.inf)
    for _ in range(MOST_ITERATIONS):
        if not len(rows):
            break
        phi, slope = curve(rows, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            excess = np.log(phi / targets)
            above = (excess > 0) == (slope > 0)
            step = excess * phi / slope
            newton = np.where(excess == 0, x, x * np.exp(-step))
        high, low = np.where(above, x, high), np.where(above, low, x)
        done = (np.abs(step) <= LAST_STEP) | (np.abs(excess) <= 8 * EPSILON) | (high - low <= EPSILON * high)
        # One more step of Newton's method squares an error of LAST_STEP away; a rounding error may put it outside.
        result[place] = np.where(np.abs(step) <= LAST_STEP, newton, x)
        good = (newton > low) & (newton < high) & (np.abs(excess) <= before / 2)
        before = np.where(good, np.abs(excess), np.inf)
        x = np.where(good, newton, np.sqrt(low) * np.sqrt(high))
        keep = ~done
        rows, targets, place = rows[keep], targets[keep], place[keep]
        low, high, x, before = low[keep], high[keep], x[keep], before[keep]
    return result
