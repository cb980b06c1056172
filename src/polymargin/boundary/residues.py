"""Random prime fields in which structure is decided.

Weights are rational numbers, and a rank or a degree modulo a prime is never larger than the true one; it is smaller only if the
prime divides some minor or coefficient. Primes of 62 bits are drawn from a hash of the polynomial's own coefficients, so that
no weights can be chosen to be divisible by them, and several have to agree on what is lower than it could be.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import flint

from polymargin.polynomials.roots import Root, is_square, prime_factors

# Primes that have to agree where a rank or a degree is lower than the shape of the polynomial allows.
PRIMES = 3


class ResidueField:
    """The integers modulo a prime, with a source of random residues."""

    def __init__(self, prime: int, generator: random.Random) -> None:
        self.prime = prime
        self._generator = generator

    def __call__(self, number: Fraction | Root) -> Any:
        """Return a number modulo the prime."""
        if isinstance(number, Root):
            return number.modulo(self.prime)
        return flint.nmod(number.numerator, self.prime) / flint.nmod(number.denominator, self.prime)

    def random(self) -> Any:
        """Return a random residue."""
        return flint.nmod(self._generator.randrange(self.prime), self.prime)

    def polynomial(self, *coefficients: Any) -> Any:
        """Return a polynomial in one variable, lowest power first."""
        return flint.nmod_poly([int(entry) for entry in coefficients], self.prime)

    def rank(self, rows: Sequence[Sequence[Any]]) -> int:
        """Return the rank of a matrix of residues."""
        if not rows or not rows[0]:
            return 0
        return int(flint.nmod_mat([[int(entry) for entry in row] for row in rows], self.prime).rank())


def residue_fields(fingerprint: str, count: int, radicands: Sequence[int] = ()) -> Iterator[ResidueField]:
    """Yield fields for a polynomial with this fingerprint; the same ones every time."""
    generator = random.Random(f"residues of {fingerprint}")
    for _ in range(count):
        yield ResidueField(random_prime(generator, 62, radicands), generator)


def random_prime(generator: random.Random, bits: int, radicands: Sequence[int] = ()) -> int:
    """Return a prime with so many bits, modulo which the prime factors of the radicands are squares.

    >>> random_prime(random.Random(0), 30)
    950524921
    """
    candidate = generator.randrange(1 << bits - 1, 1 << bits) | 1
    factors = {factor for radicand in radicands for factor in prime_factors(radicand)}
    while not (flint.fmpz(candidate).is_prime() and all(is_square(factor, candidate) for factor in factors)):
        candidate += 2
    return candidate
