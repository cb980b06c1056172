"""Polynomial rings over the rationals and over prime fields.

A thin layer over python-flint's sparse multivariate polynomials, so that the rest of the room is written once for both
kinds of coefficients. Nothing here ever rounds.

>>> ring = Ring(("x", "y"))
>>> x, y = ring.variables
>>> integer_form((x / 2 - y / 3) ** 2)
9*x^2 - 12*x*y + 4*y^2
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import Any

import flint

from polymargin.errors import InputError
from polymargin.polynomials import to_rational
from polymargin.polynomials.algebraic import Algebraic
from polymargin.polynomials.roots import Root

# Random rationals are integers of this size: general enough, and short.
RATIONAL_RANGE = 1 << 20


@dataclass(frozen=True)
class Ring:
    """Polynomials in `names` over the rationals (`prime` None) or over the integers modulo `prime`."""

    names: tuple[str, ...]
    prime: int | None = None

    @cached_property
    def context(self) -> Any:
        """Return python-flint's context: the monomials are ordered by degree first."""
        order = flint.Ordering.degrevlex
        if self.prime is None:
            return flint.fmpq_mpoly_ctx.get(self.names, order)
        return flint.nmod_mpoly_ctx.get(self.names, modulus=self.prime, ordering=order)

    @cached_property
    def variables(self) -> tuple[Any, ...]:
        """Return the variables of the ring."""
        return tuple(self.context.gens())

    def scalar(self, number: Fraction | Root | Algebraic | int) -> Any:
        """Return a number as an element of the field."""
        if isinstance(number, Algebraic):
            return number.lifted(self.scalar)
        if isinstance(number, Root):
            return to_rational(number) if self.prime is None else number.modulo(self.prime)
        exact = Fraction(number)
        if self.prime is None:
            return flint.fmpq(exact.numerator, exact.denominator)
        if exact.denominator % self.prime == 0:
            raise InputError(f"the prime {self.prime} divides a denominator ({exact}): choose another prime=")
        return flint.nmod(exact.numerator, self.prime) / flint.nmod(exact.denominator, self.prime)

    def constant(self, number: Any) -> Any:
        """Return a number as a polynomial: the lift with which a program runs on polynomials."""
        return self.context.constant(self.scalar(number) if isinstance(number, (int, Fraction, Root)) else number)

    def random_scalar(self, generator: random.Random) -> Any:
        """Return a random element of the field, not zero."""
        if self.prime is None:
            return flint.fmpq(generator.choice((-1, 1)) * generator.randrange(1, RATIONAL_RANGE))
        return flint.nmod(generator.randrange(1, self.prime), self.prime)

    def matrix(self, rows: Sequence[Sequence[Any]], columns: int) -> Any:
        """Return a matrix over the field from its rows of field elements."""
        entries = [entry for row in rows for entry in row]
        if self.prime is None:
            return flint.fmpq_mat(len(rows), columns, entries)
        return flint.nmod_mat(len(rows), columns, [int(entry) for entry in entries], self.prime)

    def linear(self, coefficients: Iterable[Any], arguments: Iterable[Any], constant: Any = 0) -> Any:
        """Return constant + Σ coefficients[i] · arguments[i] for field elements and polynomials."""
        total = self.constant(constant)
        for coefficient, argument in zip(coefficients, arguments, strict=True):
            total += coefficient * argument
        return total

    def extended(self, *names: str) -> Ring:
        """Return the ring with further variables behind the old ones."""
        return Ring((*self.names, *names), self.prime)

    def embed(self, polynomial: Any) -> Any:
        """Return a polynomial of a ring whose variables are the first ones of this ring, as a polynomial of this ring."""
        count = polynomial.context().nvars()
        return polynomial.compose(*self.variables[:count], ctx=self.context)


def gradient(polynomial: Any, count: int) -> list[Any]:
    """Return the derivatives by the first `count` variables."""
    return [polynomial.derivative(index) for index in range(count)]


def determinant(rows: list[list[Any]]) -> Any:
    """Return the determinant, by expansion along the first row; for the few rows that elimination can master."""
    if len(rows) == 1:
        return rows[0][0]
    total = 0 * rows[0][0]
    for column, entry in enumerate(rows[0]):
        if entry != 0:
            minor = determinant([[*row[:column], *row[column + 1 :]] for row in rows[1:]])
            total += (-1) ** column * entry * minor
    return total


def integer_form(polynomial: Any) -> Any:
    """Return the primitive integer multiple of a rational polynomial with positive leading coefficient, as an fmpz_mpoly."""
    context = polynomial.context()
    integers = flint.fmpz_mpoly_ctx.get(context.names(), flint.Ordering.degrevlex)
    terms = {exponents: Fraction(int(c.p), int(c.q)) for exponents, c in polynomial.to_dict().items()}
    if not terms:
        return integers.from_dict({})
    scale = lcm(*(c.denominator for c in terms.values()))
    whole = {exponents: int(c * scale) for exponents, c in terms.items()}
    content = gcd(*whole.values())
    result = integers.from_dict({exponents: c // content for exponents, c in whole.items()})
    return -result if result.leading_coefficient() < 0 else result


def squarefree_part(polynomial: Any) -> Any:
    """Return the product of the different irreducible factors, up to a constant."""
    product = polynomial.context().constant(1)
    for factor, _ in polynomial.factor_squarefree()[1]:
        product = product * factor
    return product


def parse_polynomial(ring: Ring, text: str) -> Any:
    """Return a polynomial from the expanded form that computer algebra systems print: 3*x^2*y-1/2*x+7.

    >>> parse_polynomial(Ring(("x", "y")), "-x^2*y+1/2*y-3")
    -x^2*y + 1/2*y - 3
    """
    terms: dict[tuple[int, ...], Any] = {}
    for sign, body in re.findall(r"([+-]?)([^+-]+)", text.replace(" ", "")):
        coefficient, exponents = flint.fmpq(-1 if sign == "-" else 1), [0] * len(ring.names)
        for factor in body.split("*"):
            base, _, power = factor.partition("^")
            if base in ring.names:
                exponents[ring.names.index(base)] += int(power or 1)
            else:  # python-flint reads numbers of any length
                numerator, _, denominator = base.partition("/")
                coefficient *= flint.fmpq(flint.fmpz(numerator), flint.fmpz(denominator or 1))
        key = tuple(exponents)
        terms[key] = terms.get(key, 0) + ring.scalar(Fraction(int(coefficient.p), int(coefficient.q)))
    return ring.context.from_dict(terms)
