"""Ends of intervals, rounded outward: the same doubles as exact arithmetic gives, for whole arrays.

The rounding error of a difference is a double (Knuth's TwoSum); that of a quotient has the sign of a remainder, which is compared
in rational numbers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def difference_down(first: Floats, second: Floats) -> Floats:
    """Return the largest doubles that are at most first − second."""
    with np.errstate(invalid="ignore"):  # an infinite end has no rounding error
        difference = first - second
        back = difference - first
        error = (first - (difference - back)) - (second + back)
        return np.asarray(np.where(error < 0, np.nextafter(difference, -np.inf), difference))


def difference_up(first: Floats, second: Floats) -> Floats:
    """Return the smallest doubles that are at least first − second."""
    return -difference_down(-first, -second)


def quotients_up(value: float, divisors: Floats) -> Floats:
    """Return the smallest doubles that are at least value / divisor, for value ≥ 0 and positive divisors."""
    quotients, exact = value / divisors, Fraction(value)
    pairs = zip(quotients.tolist(), divisors.tolist(), strict=True)
    short = [np.isfinite(q) and Fraction(q) * Fraction(d) < exact for q, d in pairs]
    return np.asarray(np.where(short, np.nextafter(quotients, np.inf), quotients))


def square_down(values: Floats) -> Floats:
    """Return the largest doubles that are at most the squares."""
    squares = values * values
    pairs = zip(squares.tolist(), values.tolist(), strict=True)
    above = [Fraction(s) > Fraction(v) ** 2 for s, v in pairs]
    return np.asarray(np.where(above, np.nextafter(squares, -np.inf), squares))


def square_up(value: float) -> float:
    """Return the smallest double that is at least the square."""
    square = value * value
    return square if Fraction(square) >= Fraction(value) ** 2 else float(np.nextafter(square, np.inf))
