"""Rational numbers from their residues modulo many primes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt


class Residues:
    """A vector of rational numbers, known modulo more and more primes.

    The guess made from the primes so far is given out when the next prime confirms it.

    >>> residues = Residues()
    >>> third = [residues.add(p, [pow(3, -1, p), 5]) for p in (1009, 1013, 1019)][-1]
    >>> third == [Fraction(1, 3), 5]
    True
    """

    def __init__(self) -> None:
        self._modulus = 1
        self._values: list[int] = []
        self._guess: list[Fraction] | None = None
        self._count = 0
        self._next_attempt = 1

    def add(self, prime: int, values: Sequence[int]) -> list[Fraction] | None:
        """Take in the residues modulo a further prime; the numbers, once a guess is confirmed."""
        if self._guess is not None and all(
            (number.numerator - value * number.denominator) % prime == 0
            for number, value in zip(self._guess, values, strict=True)
        ):
            return self._guess
        self._combine(prime, values)
        self._count += 1
        self._guess = None
        if self._count >= self._next_attempt:
            self._next_attempt = self._count + 1 + self._count // 4
            self._guess = _reconstruct(self._values, self._modulus)
        return None

    def _combine(self, prime: int, values: Sequence[int]) -> None:
        if not self._values:
            self._values = [0] * len(values)
        inverse = pow(self._modulus, -1, prime)
        self._values = [
            old + self._modulus * ((new - old) * inverse % prime) for old, new in zip(self._values, values, strict=True)
        ]
        self._modulus *= prime


def _reconstruct(values: Sequence[int], modulus: int) -> list[Fraction] | None:
    """Return numerators and a common denominator below √(modulus/2), or None if there are none."""
    bound = isqrt(modulus // 2)
    common = 1
    numerators: list[tuple[int, int]] = []
    for value in values:
        numerator, denominator = _ratio(value * common % modulus, modulus, bound)
        common *= denominator
        if common > bound:
            return None
        numerators.append((numerator, common))
    return [Fraction(numerator, denominator) for numerator, denominator in numerators]


def _ratio(value: int, modulus: int, bound: int) -> tuple[int, int]:
    """Return n, d with n/d ≡ value, |n| ≤ bound and the smallest d > 0: Euclid's algorithm, stopped halfway."""
    old, new, old_factor, factor = modulus, value, 0, 1
    while new > bound:
        quotient = old // new
        old, new, old_factor, factor = new, old - quotient * new, factor, old_factor - quotient * factor
    return (new, factor) if factor > 0 else (-new, -factor)
