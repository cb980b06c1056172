"""The parameter discriminant: where a quadratic boundary has fewer critical points than others of its size.

For B(x) = xᵀAx + bᵀx + c with M = [[A, b/2], [bᵀ/2, c]] the ED degree is 2n unless

    Δ = det A · det M · Disc_λ(det(λI − A)) = 0.

On the strata of {Δ = 0} it follows from E(λ) = S + b_ker·u − λ|b_ker|² + Σ_j μ_j c_j/(1 + 2λμ_j)², summed over the r distinct
nonzero eigenvalues μ_j (c_j ≠ 0 for a general point u): the critical points are the zeros of E, and the numerator of E has
degree 2r + 1 if b_ker ≠ 0 (rank M = rank A + 2), 2r if b_ker = 0 ≠ S (rank A + 1), and 2r − 2 if both vanish (rank A).

Two remarks on the last case. A double hyperplane B = μℓ² (rank A = rank M = 1) has no regular critical point of B, so the
formula gives 0; as a variety it is the hyperplane {ℓ = 0}, whose ED degree is 1, and 1 is what is reported. B = 0 vanishes
everywhere; the only critical point on the whole space is u itself. And det M = 0 means that the closure of the boundary in
projective space is singular; the boundary itself has a singular point only where rank M = rank A.

Everything is decided in rational arithmetic; the weights of a network are the dyadic rationals that they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import pairwise
from typing import Any, overload

import flint

from polymargin.arguments import checked
from polymargin.boundary import Boundary, ParametricBoundary
from polymargin.errors import InputError
from polymargin.geometry.strata.parameter_polynomials import ParameterPolynomials, parameter_polynomials
from polymargin.networks import Network
from polymargin.quadric import ed_degree_by_ranks, exact_form
from polymargin.quadric.classification import QuadricClass

# Discriminants of larger characteristic polynomials take seconds.
MOST_INPUTS = 48


@dataclass(frozen=True)
class ParameterDiscriminant(QuadricClass):
    """Where a quadratic boundary stands; signatures, ranks and the `name` of a conic are those of `QuadricClass`.

    rank_factor         det A; zero if the quadratic form is rank-deficient (Δ_par of a conic)
    singular_factor     det M; zero if the boundary is singular, perhaps at infinity (Δ_sing)
    eigenvalue_factor   discriminant of the characteristic polynomial of A; zero if eigenvalues repeat (Δ_circ)
    """

    rank_factor: Fraction
    singular_factor: Fraction
    eigenvalue_factor: Fraction

    @property
    def value(self) -> Fraction:
        """Return Δ, the product of the three factors."""
        return self.rank_factor * self.singular_factor * self.eigenvalue_factor

    @property
    def stratum(self) -> str:
        """Return 'generic', or the factors of Δ that vanish, joined by ' + '; 'constant' or 'zero' without a variable."""
        if self.augmented_rank <= 1 and self.rank == 0:
            return "constant" if self.augmented_rank else "zero"
        vanishing = {
            "rank-deficient": self.rank_factor,
            "singular": self.singular_factor,
            "repeated eigenvalues": self.eigenvalue_factor,
        }
        return " + ".join(name for name, factor in vanishing.items() if factor == 0) or "generic"

    @property
    def ed_degree(self) -> int:
        """Return the number of critical points of the distance from a general point."""
        if self.augmented_rank == 0:
            return 1
        return ed_degree_by_ranks(self.distinct_eigenvalues, self.rank, self.augmented_rank, exact=True).of_set

    @property
    def generic_ed_degree(self) -> int:
        """Return 2n."""
        return 2 * self.dimension

    @property
    def has_singular_point(self) -> bool:
        """Return whether some (complex) point of the boundary has gradient zero."""
        return self.augmented_rank == self.rank

    def __repr__(self) -> str:
        name = f"{self.name}, " if self.dimension == 2 else ""
        return f"ParameterDiscriminant({name}{self.stratum}, ED degree {self.ed_degree} of {self.generic_ed_degree})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, keys named as the attributes; Fractions as strings."""
        names = (
            "name",
            "stratum",
            "rank",
            "augmented_rank",
            "ed_degree",
            "generic_ed_degree",
            "has_singular_point",
            "empty",
        )
        values = {name: getattr(self, name) for name in (*names, *(item.name for item in fields(self)))}
        return {
            name: str(value) if isinstance(value, Fraction) else list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }


@overload
def parameter_discriminant(source: ParametricBoundary, label: int = 0, rival: int = 1) -> ParameterPolynomials: ...


@overload
def parameter_discriminant(source: Network | Boundary, label: int = 0, rival: int = 1) -> ParameterDiscriminant: ...


@checked(Network, Boundary, ParametricBoundary)
def parameter_discriminant(
    source: Network | Boundary | ParametricBoundary, label: int = 0, rival: int = 1
) -> ParameterDiscriminant | ParameterPolynomials:
    """Return the stratum of the boundary between `label` and `rival`, or of a boundary given alone.

    >>> parameter_discriminant(Boundary.from_expression("y - x**2"))
    ParameterDiscriminant(parabola, rank-deficient, ED degree 3 of 4)

    Of an expression with parameters it is a set of polynomials in them:

    >>> parameter_discriminant(Boundary.from_expression("a*x**2 + y**2 - b*y", parameters="a b"))
    ParameterPolynomials(a, a - 1, b)
    """
    if isinstance(source, ParametricBoundary):
        return parameter_polynomials(source)
    boundary = source if isinstance(source, Boundary) else Boundary.from_network(source, label, rival)
    if boundary.dimension > MOST_INPUTS:
        raise InputError(f"{boundary.dimension} inputs: strata are decided exactly, for at most {MOST_INPUTS}")
    matrix, linear, constant = exact_form(boundary)
    inner = _matrix(matrix)
    rows = [[*row, slope / 2] for row, slope in zip(matrix, linear, strict=True)]
    outer = _matrix([*rows, [*(slope / 2 for slope in linear), constant]])
    polynomial = inner.charpoly()
    distinct = polynomial.degree() - polynomial.gcd(polynomial.derivative()).degree()
    return ParameterDiscriminant(
        dimension=len(linear),
        signature=_signature(polynomial),
        augmented_signature=_signature(outer.charpoly()),
        distinct_eigenvalues=distinct - (polynomial[0] == 0),
        traceless=sum(matrix[i][i] for i in range(len(linear))) == 0,
        rank_factor=_fraction(inner.det()),
        singular_factor=_fraction(outer.det()),
        eigenvalue_factor=_fraction(polynomial.discriminant()),
    )


def _matrix(rows: Sequence[Sequence[Fraction]]) -> Any:
    return flint.fmpq_mat([[flint.fmpq(entry.numerator, entry.denominator) for entry in row] for row in rows])


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _signature(polynomial: Any) -> tuple[int, int]:
    """Return the numbers of positive and negative roots; all are real, so Descartes' rule counts them exactly."""
    signs = [(1 if polynomial[k] > 0 else -1, k) for k in range(polynomial.degree() + 1) if polynomial[k] != 0]
    positive = sum(first != second for (first, _), (second, _) in pairwise(signs))
    negative = sum(first * (-1) ** i != second * (-1) ** j for (first, i), (second, j) in pairwise(signs))
    return positive, negative
