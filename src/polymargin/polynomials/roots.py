"""Square roots of integers as coefficients: √2 in √2 x² + y² − 1.

A root is a leaf of the graph without an input. What its value is, the arithmetic decides: a double, a ball, a double-double, or
modulo a prime one of the two residues whose square it is. Roots modulo p are products of those of prime numbers, so that
√2 · √3 = √6 holds there too. Rational arithmetic has no value for it and refuses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import flint

from polymargin.errors import InputError

# Larger numbers under a root would have to be factored.
LARGEST = 10**12
# Bits of the rational approximation from which double-doubles are made.
BITS = 256


@dataclass(frozen=True, order=True)
class Root:
    """√radicand for a squarefree integer above 1."""

    radicand: int

    def __float__(self) -> float:
        return math.sqrt(self.radicand)

    def approximation(self) -> Fraction:
        """Return a rational number below the root, with an error of less than 2⁻²⁵⁶."""
        return Fraction(isqrt(self.radicand << 2 * BITS), 1 << BITS)

    def modulo(self, prime: int) -> flint.nmod:
        """Return the root modulo a prime, in which every prime factor of the radicand must be a square.

        >>> Root(2).modulo(7), Root(2).modulo(23) * Root(3).modulo(23) == Root(6).modulo(23)
        (3, True)
        """
        result = flint.nmod(1, prime)
        for factor in prime_factors(self.radicand):
            if not is_square(factor, prime):
                raise InputError(f"√{factor} does not exist modulo the prime {prime}: choose another prime= or seed=")
            result *= min(root := flint.fmpz(factor).sqrtmod(prime), prime - root)
        return result


def is_square(number: int, prime: int) -> bool:
    """Return whether a number is a nonzero square modulo an odd prime."""
    return pow(number, (prime - 1) // 2, prime) == 1


def prime_factors(number: int) -> list[int]:
    """Return the distinct prime factors."""
    return [int(factor) for factor, _ in flint.fmpz(number).factor()]


def square_root(number: Fraction) -> tuple[Fraction, int]:
    """Return factor and radicand of √number = factor · √radicand with a squarefree radicand.

    >>> square_root(Fraction(8, 9)), square_root(Fraction(1, 4))
    ((Fraction(2, 3), 2), (Fraction(1, 2), 1))
    """
    if number < 0:
        raise InputError(f"sqrt({number}): a boundary has real coefficients")
    product = number.numerator * number.denominator
    if product > LARGEST:
        raise InputError(f"sqrt({number}): expected a number whose numerator times denominator is below {LARGEST:,}")
    factor, radicand = Fraction(1, number.denominator), 1
    for prime, power in flint.fmpz(product).factor() if product else ():
        factor *= int(prime) ** (power // 2)
        radicand *= int(prime) ** (power % 2)
    return (factor, radicand) if product else (Fraction(0), 1)


def radicands(constants: Iterable[Fraction | Root]) -> tuple[int, ...]:
    """Return the radicands of the roots among the constants of a program."""
    return tuple(sorted(constant.radicand for constant in constants if isinstance(constant, Root)))
