"""Functions of one variable that neurons compute, on intervals: least values by Bernstein coefficients, many rows at once.

On [l, h] write g(l + (h − l) s) = Σ b_i C(d, i) s^i (1 − s)^(d − i): the least b_i is a lower bound, b_0 and b_d are values. De
Casteljau's halving makes the bounds converge quadratically. What is not decided is judged one row at a time in balls.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from flint import arb, arb_poly, fmpq
from numpy.typing import NDArray

from polymargin_checker import univariate
from polymargin_checker.relaxation.arithmetic import Arithmetic, EnclosedMatrix, Floats
from polymargin_checker.stages import Piecewise
from polymargin_checker.work import spend_doubles

_ROUNDS = 60
_SHARP = 2.0**-36
"""What bounds may miss of the least value, as a part of the largest coefficient."""
_OPERATIONS = 32
"""Products that an entry counts for in one step of the recurrences below."""


@dataclass(frozen=True, eq=False)
class Polynomials:
    """Polynomials on intervals, a row each: coefficients (m, d + 1), ends (m,), and which function (m,) each is part of."""

    coefficients: EnclosedMatrix
    low: Floats
    high: Floats
    owner: NDArray[np.int64]

    def least(self, arithmetic: Arithmetic) -> Floats:
        """Return lower bounds (m,), sharp but for a small part of the coefficients; −∞ where nothing is known."""
        bernstein = _bernstein(arithmetic, self.coefficients, self.low, self.high)
        rows = np.arange(bernstein.shape[0])
        result = np.full(len(rows), np.inf)
        sharp = _SHARP * bernstein.magnitude().max(axis=1, initial=0.0)
        attained = np.full(len(rows), np.inf)
        for _ in range(_ROUNDS):
            ends = bernstein[:, [0, -1]].lower().min(axis=1)
            np.minimum.at(attained, rows, ends)
            bounds = bernstein.lower().min(axis=1)
            settled = ~(bounds < attained[rows] - sharp[rows])
            np.minimum.at(result, rows[settled], bounds[settled])
            if settled.all():
                return result
            bernstein, rows = bernstein[~settled], rows[~settled]
            if len(rows) > 4 * len(result) + 64:
                break
            bernstein, rows = _halves(arithmetic, bernstein), np.tile(rows, 2)
        np.minimum.at(result, rows, bernstein.lower().min(axis=1))
        return result


def nonnegative(arithmetic: Arithmetic, polynomials: Polynomials) -> bool:
    """Return True only if all polynomials are ≥ 0 on their intervals."""
    doubtful = np.flatnonzero(~(polynomials.least(arithmetic) >= 0))
    if not len(doubtful):
        return True
    degree = polynomials.coefficients.shape[1]
    balls = polynomials.coefficients[doubtful].balls()
    for place, row in enumerate(doubtful.tolist()):
        interval = arb(float(polynomials.low[row])), arb(float(polynomials.high[row]))
        if not univariate.nonnegative(_lowered(balls[place * degree : (place + 1) * degree], interval), interval):
            return False
    return True


def _lowered(coefficients: list[arb], interval: tuple[arb, arb]) -> arb_poly:
    """Return an exact polynomial that is nowhere on the interval above any in the balls."""
    farthest = max(abs(interval[0]), abs(interval[1]))
    off = sum((value.rad() * farthest**k for k, value in enumerate(coefficients)), arb(0))
    exact = [value.mid() for value in coefficients]
    return arb_poly([exact[0] - off.abs_upper(), *exact[1:]])


def ranges(arithmetic: Arithmetic, polynomials: Polynomials, count: int) -> tuple[Floats, Floats]:
    """Return ends (count,) of the values of each function over all its parts."""
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, polynomials.owner, polynomials.least(arithmetic))
    mirrored = Polynomials(-polynomials.coefficients, polynomials.low, polynomials.high, polynomials.owner)
    np.maximum.at(high, polynomials.owner, -mirrored.least(arithmetic))
    return low, high


def parts_of(
    stage: Piecewise, low: Floats, high: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
    """Return which functions (their numbers) meet which pieces on [low, high], and the ends of the parts.

    A breakpoint belongs to both of its pieces, so that jumps which rounding of coefficients makes are covered.
    """
    edges = np.concatenate([[-np.inf], stage.breakpoints, [np.inf]])
    starts = np.maximum(low[:, None], edges[None, :-1])
    stops = np.minimum(high[:, None], edges[None, 1:])
    owner, piece = np.nonzero(starts <= stops)
    return owner, piece, starts[owner, piece], stops[owner, piece]


def _bernstein(arithmetic: Arithmetic, coefficients: EnclosedMatrix, low: Floats, high: Floats) -> EnclosedMatrix:
    """Shift to l, scale by h − l, and mix with C(i, k) / C(d, k); the values at both ends are computed there.

    So a polynomial that is exactly zero at an end is seen to be, as those of y ≥ 0 and y ≥ z are at zero.
    """
    exact = arithmetic.exact
    count = 1 + int(np.flatnonzero(coefficients.used.any(axis=0)).max(initial=0))
    spend_doubles(_OPERATIONS * len(low) * count * count, "polynomials in one variable")
    start, width = exact(low[:, None]), exact(high[:, None]) - exact(low[:, None])
    columns = [coefficients[:, k : k + 1] for k in range(count)]
    last = columns[-1]
    for column in columns[-2::-1]:
        last = last * exact(high[:, None]) + column
    for k in range(count - 1):
        for j in range(count - 2, k - 1, -1):
            columns[j] = columns[j] + start * columns[j + 1]
    power = width
    for k in range(1, count):
        columns[k] = columns[k] * power
        power = power * width if k + 1 < count else power
    if count == 1:
        return columns[0].beside([columns[0]])
    degree = count - 1
    mixed = [columns[0]]
    for i in range(1, degree):
        total = columns[0]
        for k in range(1, i + 1):
            ratio = fmpq(comb(i, k), comb(degree, k))
            total = total + (columns[k] if ratio == 1 else columns[k] * arithmetic.column([ratio]))
        mixed.append(total)
    return last.beside([*mixed, last])


def _halves(arithmetic: Arithmetic, bernstein: EnclosedMatrix) -> EnclosedMatrix:
    """Return the coefficients on the left halves, then on the right ones."""
    count, half = bernstein.shape[1], arithmetic.exact([[0.5]])
    spend_doubles(_OPERATIONS * bernstein.shape[0] * count * count // 2, "polynomials in one variable")
    left, right, current = [bernstein[:, :1]], [bernstein[:, -1:]], bernstein
    while current.shape[1] > 1:
        current = (current[:, :-1] + current[:, 1:]) * half
        left.append(current[:, :1])
        right.append(current[:, -1:])
    return bernstein.stacked([bernstein.beside(left), bernstein.beside(right[::-1])])
