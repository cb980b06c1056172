"""Classical polynomials by their explicit sums over powers, in Fractions: the truth that recurrences are held against."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial


def explicit(basis: str, n: int, z: Fraction) -> Fraction:
    """z^n, T_n, P_n (Legendre), H_n (Hermite's of physicists) or He_n (of probabilists) at z."""
    if basis == "powers":
        return z**n
    total = Fraction(0)
    for j in range(n // 2 + 1):
        sign, power = (-1) ** j, z ** (n - 2 * j)
        if basis == "chebyshev":
            weight = Fraction(1) if n == 0 else Fraction(n * comb(n - j, j) * 2 ** (n - 2 * j), 2 * (n - j))
        elif basis == "legendre":
            weight = Fraction(comb(n, j) * comb(2 * n - 2 * j, n), 2**n)
        else:
            weight = Fraction(factorial(n), factorial(j) * factorial(n - 2 * j))
            weight *= 2 ** (n - 2 * j) if basis == "hermite" else Fraction(1, 2**j)
        total += sign * weight * power
    return total
