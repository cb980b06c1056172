"""The polynomial of a degree that is closest to an activation on an interval, and a proved bound of its error.

A linear program finds the coefficients of Chebyshev polynomials for which the largest error on a fine grid is least. The error on
the whole interval is bounded in ball arithmetic: on a piece with the middle m it is within f(m) + f'(piece) (piece − m), and
pieces are halved until this is sharp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import isfinite

import numpy as np
from flint import arb, arb_series, ctx
from numpy.polynomial import Chebyshev, chebyshev
from scipy.optimize import linprog

from polymargin.errors import InputError

ACTIVATIONS: dict[str, Callable[[arb_series], arb_series]] = {
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "tanh": lambda x: 1 - 2 / (1 + (2 * x).exp()),
    "silu": lambda x: x / (1 + (-x).exp()),
    "gelu": lambda x: x * (1 + (x / arb(2).sqrt()).erf()) / 2,
    "softplus": lambda x: (1 + x.exp()).log(),
}
POINTS = 40
"""Of the grid, for each coefficient."""
SHARP, PIECES, FIRST = 1e-3, 20_000, 64
"""Relative accuracy of the bound; pieces at most, and at first."""


@dataclass(frozen=True, eq=False)
class Approximation:
    """A Chebyshev series on [low, high], and |activation − polynomial| ≤ error there, which is proved."""

    activation: str
    polynomial: Chebyshev
    error: float


def approximation(activation: str, degree: int, low: float, high: float) -> Approximation:
    """Return the polynomial of a degree that is nearly the closest to an activation on [low, high], with its proved error.

    The activations are relu, sigmoid, tanh, silu, gelu and softplus. `load` takes the polynomial as an activation.

    >>> found = approximation("relu", 2, -1, 1)                 # half of |x| − x² − 1/8, and x/2
    >>> 0.0625 <= found.error < 0.0627
    True
    """
    if activation != "relu" and activation not in ACTIVATIONS:
        raise InputError(f"activation {activation!r}: expected one of relu, {', '.join(ACTIVATIONS)}")
    if not (isfinite(low) and isfinite(high) and low < high):
        raise InputError(f"the interval from {low} to {high}: expected finite ends with low < high")
    if not 0 <= degree <= 127:
        raise InputError(f"degree {degree}: expected 0 to 127")
    pieces = _pieces(activation, low, high)
    s = np.cos(np.linspace(0, np.pi, POINTS * (degree + 1) + 1))
    x = np.clip((low + high) / 2 + (high - low) / 2 * s, low, high)
    values = np.array(
        [float(_function(activation, place)(arb_series([arb(place)], 1))[0].mid()) for place in x.tolist()]
    )
    basis = chebyshev.chebvander(s, degree)
    ones = np.ones((len(s), 1))
    rows = np.vstack([np.hstack([basis, -ones]), np.hstack([-basis, -ones])])
    bounds = [(None, None)] * (degree + 1) + [(0, None)]
    found = linprog(np.append(np.zeros(degree + 1), 1.0), rows, np.append(values, -values), bounds=bounds)
    series = Chebyshev(found.x[:-1], domain=[low, high])
    return Approximation(activation, series, _largest_error(activation, pieces, series, low, high))


def _function(activation: str, place: float) -> Callable[[arb_series], arb_series]:
    if activation != "relu":
        return ACTIVATIONS[activation]
    return (lambda x: x) if place >= 0 else (lambda x: 0 * x)


def _pieces(activation: str, low: float, high: float) -> list[tuple[float, float]]:
    return [(low, 0.0), (0.0, high)] if activation == "relu" and low < 0 < high else [(low, high)]


def _largest_error(
    activation: str, pieces: list[tuple[float, float]], series: Chebyshev, low: float, high: float
) -> float:
    """Return an upper bound of |activation − series| on all pieces."""
    precision = ctx.prec
    ctx.prec = 128
    try:
        waiting, least = list[tuple[float, float, float]](), 0.0
        for first, last in pieces:
            places = np.linspace(first, last, FIRST + 1).tolist()
            waiting += [(-_bound(activation, series, low, high, a, b), a, b) for a, b in pairwise(places)]
        heapify(waiting)
        for _ in range(PIECES):
            bound, a, b = waiting[0]
            middle = a + (b - a) / 2
            least = max(least, _bound(activation, series, low, high, middle, middle, side=a))
            if -bound <= (1 + SHARP) * least or not a < middle < b:
                break
            heappop(waiting)
            for start, stop in ((a, middle), (middle, b)):
                heappush(waiting, (-_bound(activation, series, low, high, start, stop), start, stop))
        return -waiting[0][0]
    finally:
        ctx.prec = precision


def _bound(
    activation: str, series: Chebyshev, low: float, high: float, a: float, b: float, side: float | None = None
) -> float:
    """Return a double above |activation − series| on [a, b]; `side` says which piece of the activation counts."""
    function = _function(activation, a if side is None else side)
    middle = a + (b - a) / 2
    value = abs(_difference(function, series, low, high, arb(middle))[0])
    if a < b:
        whole = arb(middle, (b - a) * 0.5000001)
        value += abs(_difference(function, series, low, high, whole)[1]) * arb((b - a) * 0.5000001)
    return float(np.nextafter(float(value.upper()), np.inf))


def _difference(
    function: Callable[[arb_series], arb_series], series: Chebyshev, low: float, high: float, place: arb
) -> arb_series:
    """Return the value and slope of activation − series, by Clenshaw's recurrence."""
    x = arb_series([place, 1], 2)
    s = (2 * x - arb(low) - arb(high)) / (arb(high) - arb(low))
    one = two = arb_series([0], 2)
    for c in series.coef[:0:-1].tolist():
        one, two = 2 * s * one - two + arb(c), one
    return function(x) - (s * one - two + arb(float(series.coef[0])))
