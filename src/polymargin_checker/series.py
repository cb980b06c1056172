"""Series in polynomials of one variable that are given by a recurrence with whole numbers.

    P_0 = 1,      d P_(k+1) = a z P_k − b P_(k−1),

powers (letter A), Chebyshev's (C), Legendre's (L), Hermite's of physicists (H) and of probabilists (E): their values in whole
numbers, and the same series in Chebyshev polynomials or in powers of z as rationals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flint import fmpq, fmpz

from polymargin_checker.work import spend

NAMES = {"A": "powers", "C": "chebyshev", "L": "legendre", "H": "hermite", "E": "hermite_e"}
LETTERS = {name: letter for letter, name in NAMES.items()}


def steps(letter: str, k: int) -> tuple[int, int, int]:
    """Return a, b and d of order k."""
    if letter == "A" or (letter == "C" and k == 0):
        return 1, 0, 1
    if letter == "C":
        return 2, 1, 1
    if letter == "L":
        return 2 * k + 1, k, k + 1
    return (2, 2 * k, 1) if letter == "H" else (1, k, 1)


def bits_each(letter: str, exponent: int) -> int:
    """Return bits for which P_k at a multiple of 2^(−exponent) is a multiple of 2^(−k·bits)."""
    return exponent + (letter == "L")


def value(letter: str, coefficients: Sequence[Any], z: Any, exponent: int) -> Any:
    """Return Σ c_k P_k(z 2^(−exponent)) times 2^(bits·degree), from P_0 upwards; all divisions come out even."""
    bits = bits_each(letter, exponent)
    degree = len(coefficients) - 1
    z = z << (bits - exponent)
    before, current = fmpz(0), fmpz(1)
    total = coefficients[0] << (bits * degree)
    for k in range(degree):
        a, b, d = steps(letter, k)
        before, current = current, (a * z * current - ((b * before) << (2 * bits))) // d
        total += (coefficients[k + 1] * current) << (bits * (degree - k - 1))
    return total


def in_chebyshev(letter: str, coefficients: Sequence[float]) -> list[fmpq]:
    """Return the coefficients of Chebyshev polynomials: z T_k = (T_(k+1) + T_(k−1)) / 2, z T_0 = T_1."""

    def times(row: list[fmpq]) -> list[fmpq]:
        result = [fmpq(0), row[0], *[fmpq(0)] * (len(row) - 1)]
        for k in range(1, len(row)):
            result[k - 1] += row[k] / 2
            result[k + 1] += row[k] / 2
        return result

    return _rewritten(letter, coefficients, times)


def in_powers(letter: str, coefficients: Sequence[float]) -> list[fmpq]:
    """Return the coefficients of powers."""
    return _rewritten(letter, coefficients, lambda row: [fmpq(0), *row])


def _rewritten(letter: str, coefficients: Sequence[float], times: Callable[[list[fmpq]], list[fmpq]]) -> list[fmpq]:
    """Return Σ c_k P_k, every P_k written in the other basis."""
    count = len(coefficients)
    spend(8 * count * count, 16 * count + 1100, "the series of an activation")
    total = [fmpq(0)] * count
    before: list[fmpq] = []
    current = [fmpq(1)]
    for k, c in enumerate(coefficients):
        exact = fmpq(*c.as_integer_ratio())
        for place, entry in enumerate(current):
            total[place] += exact * entry
        a, b, d = steps(letter, k)
        after = [fmpq(a, d) * entry for entry in times(current)]
        for place, entry in enumerate(before):
            after[place] -= fmpq(b, d) * entry
        before, current = current, after
    return total
