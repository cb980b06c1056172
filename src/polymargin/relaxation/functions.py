"""Functions of one variable that neurons compute, on intervals: least and largest values, many rows at once.

A polynomial takes its least value on [l, h] at an end or where its derivative vanishes. With z = middle + half·x all of it
happens on [−1, 1], where rounding is harmless.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.stages import Piecewise

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FunctionParts:
    """Polynomials on intervals, a row each: coefficients (m, d + 1), ends (m,), and which function (m,) each is part of."""

    coefficients: Array
    low: Array
    high: Array
    owner: NDArray[np.int64]

    def of(self, chosen: NDArray[np.int64]) -> FunctionParts:
        """Return the parts of some functions, which are numbered anew; `chosen` may repeat."""
        starts, stops = (np.searchsorted(self.owner, chosen, side) for side in ("left", "right"))
        owner = np.repeat(np.arange(len(chosen)), stops - starts)
        part = np.arange(len(owner)) - np.repeat(np.cumsum(stops - starts) - stops, stops - starts)
        return FunctionParts(self.coefficients[part], self.low[part], self.high[part], owner)

    def minus(self, parabolas: Array) -> FunctionParts:
        """Return the functions minus a parabola (c, b, a) each."""
        width = max(3, self.coefficients.shape[1])
        rows = np.zeros((len(self.owner), width))
        rows[:, : self.coefficients.shape[1]] = self.coefficients
        rows[:, :3] -= parabolas[self.owner]
        return FunctionParts(rows, self.low, self.high, self.owner)

    def least(self) -> tuple[Array, Array]:
        """Return the least value of each row, and where it is taken."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        g = _scaled(self.coefficients, middle, half)
        places = np.concatenate([np.clip(_flat_places(g), -1.0, 1.0), np.tile([-1.0, 1.0], (len(g), 1))], axis=1)
        found, rows = values(g, places), np.arange(len(g))
        best = found.argmin(axis=1)
        return found[rows, best], middle + half * places[rows, best]

    def lowest_of(self, count: int) -> tuple[Array, Array]:
        """Return the least value of each of so many functions, and where it is taken."""
        least, places = self.least()
        order = np.lexsort((-least, self.owner))
        result, where = np.full(count, np.inf), np.zeros(count)
        result[self.owner[order]], where[self.owner[order]] = least[order], places[order]
        return result, where


def parts_of(stage: Piecewise, low: Array, high: Array) -> FunctionParts:
    """Return the pieces that a piecewise polynomial has on intervals, in the order of the intervals."""
    edges = np.concatenate([[-np.inf], stage.breakpoints, [np.inf]])
    starts, stops = np.maximum(low[:, None], edges[None, :-1]), np.minimum(high[:, None], edges[None, 1:])
    owner, piece = np.nonzero(starts <= stops)
    return FunctionParts(stage.table[piece], starts[owner, piece], stops[owner, piece], owner)


def ranges(parts: FunctionParts, count: int) -> tuple[Array, Array]:
    """Return the ends (count,) of the values of each function."""
    mirrored = FunctionParts(-parts.coefficients, parts.low, parts.high, parts.owner)
    return parts.lowest_of(count)[0], -mirrored.lowest_of(count)[0]


def values(coefficients: Array, places: Array) -> Array:
    """Return Σ c_k x^k for rows of coefficients (m, d + 1) at places (m, q)."""
    total = np.repeat(coefficients[:, -1:], places.shape[1], axis=1)
    for k in reversed(range(coefficients.shape[1] - 1)):
        total = total * places + coefficients[:, k : k + 1]
    return total


def _scaled(coefficients: Array, middle: Array, half: Array) -> Array:
    """Coefficients in x of the polynomials at middle + half·x."""
    degree = coefficients.shape[1] - 1
    powers = middle[:, None] ** np.arange(degree + 1)
    columns = [
        sum(coefficients[:, k] * comb(k, i) * powers[:, k - i] for k in range(i, degree + 1)) * half**i
        for i in range(degree + 1)
    ]
    return np.stack(columns, axis=1)


def _flat_places(g: Array) -> Array:
    """Real parts of all roots of g'; places without meaning do no harm where the least value is sought."""
    slope = g[:, 1:] * np.arange(1, g.shape[1])
    if slope.shape[1] == 0:
        return np.zeros((len(g), 0))
    size = np.maximum(np.abs(slope).max(axis=1), 1e-300)
    lead = np.where(np.abs(slope[:, -1]) > 1e-14 * size, slope[:, -1], np.copysign(1e-14 * size, slope[:, -1]))
    degree = slope.shape[1] - 1
    companion = np.zeros((len(g), degree, degree))
    companion[:, np.arange(1, degree), np.arange(degree - 1)] = 1.0
    if degree:
        companion[:, :, -1] = -slope[:, :-1] / lead[:, None]
    return np.asarray(np.linalg.eigvals(companion).real) if degree else np.zeros((len(g), 0))
