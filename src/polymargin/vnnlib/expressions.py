"""Exact polynomials in the inputs and outputs of a network, and the comparisons and disjunctions made of them.

Decimals are rationals: 0.1 is one tenth. A formula is kept in disjunctive normal form, a list of cases; a case is a list of
comparisons that must all hold. Sizes are bounded, so that a short hostile file cannot ask for a long computation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from polymargin.errors import InputError

MOST_TERMS = 200_000
MOST_PRODUCTS = 400  # of two sums multiplied with each other; the square of a difference has four
MOST_COMPARISONS = 200_000
LARGEST_DEGREE = 4
LARGEST_NUMBER = 10**60  # so that nothing overflows in float64 when it is squared and summed
_NUMBER = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, order=True)
class Variable:
    """An entry of the input (kind "X") or of the output (kind "Y"), in row-major order."""

    kind: str
    index: int


Monomial = tuple[Variable, ...]


@dataclass(frozen=True)
class VariablePolynomial:
    """Coefficients by monomial; none of them is zero."""

    terms: dict[Monomial, Fraction]

    @staticmethod
    def constant(value: Fraction) -> VariablePolynomial:
        """Return a constant polynomial."""
        return VariablePolynomial({(): value} if value else {})

    @staticmethod
    def of(variable: Variable) -> VariablePolynomial:
        """Return a variable as a polynomial."""
        return VariablePolynomial({(variable,): Fraction(1)})

    def __neg__(self) -> VariablePolynomial:
        return VariablePolynomial({monomial: -value for monomial, value in self.terms.items()})

    def __sub__(self, other: VariablePolynomial) -> VariablePolynomial:
        return total([self, -other])

    def __mul__(self, other: VariablePolynomial) -> VariablePolynomial:
        if len(self.terms) * len(other.terms) > MOST_PRODUCTS:
            raise InputError(f"a product of sums with more than {MOST_PRODUCTS} products of terms")
        result: dict[Monomial, Fraction] = {}
        for first, a in self.terms.items():
            for second, b in other.terms.items():
                monomial = tuple(sorted(first + second))
                result[monomial] = result.get(monomial, Fraction(0)) + a * b
        if any(len(monomial) > LARGEST_DEGREE for monomial in result):
            raise InputError(f"a polynomial of degree above {LARGEST_DEGREE} in the query")
        return _clean(result)

    @property
    def degree(self) -> int:
        """Return the degree."""
        return max(map(len, self.terms), default=0)

    @property
    def kinds(self) -> set[str]:
        """Return which of X and Y occur."""
        return {variable.kind for monomial in self.terms for variable in monomial}

    def coefficient(self, *monomial: Variable) -> Fraction:
        """Return the coefficient of a monomial."""
        return self.terms.get(monomial, Fraction(0))

    def value(self, inputs: Sequence[Fraction], outputs: Sequence[Fraction]) -> Fraction:
        """Evaluate the polynomial exactly."""
        result = Fraction(0)
        for monomial, coefficient in self.terms.items():
            for variable in monomial:
                coefficient *= (inputs if variable.kind == "X" else outputs)[variable.index]
            result += coefficient
        return result


def total(parts: Iterable[VariablePolynomial]) -> VariablePolynomial:
    """Return the sum of polynomials."""
    result: dict[Monomial, Fraction] = {}
    for part in parts:
        for monomial, value in part.terms.items():
            result[monomial] = result.get(monomial, Fraction(0)) + value
        if len(result) > MOST_TERMS:
            raise InputError(f"a sum of more than {MOST_TERMS} terms")
    return _clean(result)


def _clean(terms: dict[Monomial, Fraction]) -> VariablePolynomial:
    return VariablePolynomial({monomial: value for monomial, value in terms.items() if value})


@dataclass(frozen=True)
class ConstraintComparison:
    """polynomial ≥ 0, or > 0 where it is strict."""

    polynomial: VariablePolynomial
    strict: bool = False

    def holds(self, inputs: Sequence[Fraction], outputs: Sequence[Fraction]) -> bool:
        """Return whether the comparison holds, exactly."""
        value = self.polynomial.value(inputs, outputs)
        return value > 0 if self.strict else value >= 0


Case = tuple[ConstraintComparison, ...]
Formula = tuple[Case, ...]


def compared(operator: str, left: VariablePolynomial, right: VariablePolynomial) -> Formula:
    """Return `left operator right` as cases."""
    up, down = left - right, right - left
    match operator:
        case ">=":
            return ((ConstraintComparison(up),),)
        case "<=":
            return ((ConstraintComparison(down),),)
        case ">":
            return ((ConstraintComparison(up, strict=True),),)
        case "<":
            return ((ConstraintComparison(down, strict=True),),)
        case "==" | "=":
            return ((ConstraintComparison(up), ConstraintComparison(down)),)
        case "!=":
            return ((ConstraintComparison(up, strict=True),), (ConstraintComparison(down, strict=True),))
    raise InputError(f"the comparison {operator!r} is not known")


def all_of(formulas: Sequence[Formula]) -> Formula:
    """Return the conjunction, multiplied out."""
    result: Formula = (tuple(comparison for formula in formulas if len(formula) == 1 for comparison in formula[0]),)
    for formula in formulas:
        if len(formula) == 1:
            continue
        size = sum(len(case) for case in result) * len(formula) + len(result) * sum(len(case) for case in formula)
        if size > MOST_COMPARISONS:
            raise InputError(f"the query has more than {MOST_COMPARISONS} comparisons when its cases are written out")
        result = tuple(first + second for first in result for second in formula)
    return result


def any_of(formulas: Sequence[Formula]) -> Formula:
    """Return the disjunction."""
    return tuple(case for formula in formulas for case in formula)


def exact_number(text: str) -> Fraction:
    """Convert a decimal to a rational."""
    value = Fraction(text) if _NUMBER.fullmatch(text) else None
    if value is None or abs(value) > LARGEST_NUMBER:
        raise InputError(
            f"{text[:40]!r} is not a decimal number that can be read; expected digits, a point and a moderate exponent"
        )
    return value
