"""Exact arithmetic for the tests of this folder."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import flint


def rational(value: float | Fraction) -> flint.fmpq:
    exact = Fraction(value)
    return flint.fmpq(exact.numerator, exact.denominator)


def positive_on(polynomial: flint.fmpq_poly, low: flint.fmpq, high: flint.fmpq) -> bool:
    """R > 0 on [low, high], by a Sturm sequence."""
    if polynomial(low) <= 0 or polynomial(high) <= 0:
        return False
    sequence = [polynomial, polynomial.derivative()]
    while sequence[-1] != 0:
        sequence.append(-(sequence[-2] % sequence[-1]))

    def changes(place: flint.fmpq) -> int:
        signs = [value > 0 for value in (p(place) for p in sequence[:-1]) if value != 0]
        return sum(a != b for a, b in pairwise(signs))

    return changes(low) == changes(high)


def positive_definite(matrix: list[list[Fraction]]) -> bool:
    """All pivots of exact elimination are positive."""
    rows = [[rational(v) for v in row] for row in matrix]
    for k in range(len(rows)):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return True
