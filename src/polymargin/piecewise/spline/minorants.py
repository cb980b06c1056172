"""Linear minorants of α·σ on an interval, σ a polynomial spline.

For any slope s the line s z + c with c = min over the interval of (ασ(z) − s z) lies below ασ and touches it. The minimum of a
spline minus a line is taken at an end, at a breakpoint or where a piece has the slope s, so it is found exactly.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.stages import Piecewise

Array = NDArray[np.float64]


def minorants(function: Piecewise, factors: Array, low: Array, high: Array, places: Array) -> tuple[Array, Array]:
    """Return the slopes and constants of lines below factors·σ on [low, high], one per neuron, nearly best at `places`.

    The tangent at the place is right where the function is convex, the chord where it is concave.
    """
    places = np.clip(places, low, high)
    width = high - low
    rise = factors * (function.activate(high) - function.activate(low))
    tangents = factors * function.slopes(places)
    chords = np.where(width > 0, rise / np.where(width > 0, width, 1.0), tangents)
    slopes, constants = np.zeros(len(factors)), np.full(len(factors), -np.inf)
    for candidates in (tangents, chords):
        below = np.array([_least(function, *row) for row in zip(factors, candidates, low, high, strict=True)])
        better = candidates * places + below > slopes * places + constants
        slopes, constants = np.where(better, candidates, slopes), np.where(better, below, constants)
    return slopes, constants


def _least(function: Piecewise, factor: float, slope: float, low: float, high: float) -> float:
    """Return min over [low, high] of factor·σ(z) − slope·z."""
    if factor == 0.0:
        return float(min(-slope * low, -slope * high))
    points = np.array(function.breakpoints)
    inner = points[(points > low) & (points < high)]
    ends = np.array([low, *inner, high])
    least = np.inf
    for left, right in pairwise(ends):
        index = int(np.searchsorted(points, 0.5 * (left + right), side="right"))
        places = np.array([left, right, *_with_slope(function.pieces[index], slope / factor, left, right)])
        values = factor * function.on_pieces(np.full(len(places), index), places) - slope * places
        least = min(least, float(values.min()))
    return least


def _with_slope(piece: tuple[float, ...], slope: float, left: float, right: float) -> list[float]:
    """Return places inside (left, right) where the polynomial has the given slope."""
    derivative = [power * coefficient for power, coefficient in enumerate(piece)][1:]
    if len(derivative) < 2:
        return []
    derivative[0] -= slope
    roots = np.roots(derivative[::-1]) if len(derivative) > 2 else np.array([-derivative[0] / derivative[1]])
    near_real = roots[np.abs(roots.imag) <= 1e-6 * (1 + np.abs(roots))].real
    return [float(root) for root in near_real if left < root < right]
