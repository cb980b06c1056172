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
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, overload

import numpy as np

from polymargin.arguments import checked
from polymargin.boundary import Boundary, ParametricBoundary
from polymargin.boundary.sources import ExpressionSource
from polymargin.errors import InputError
from polymargin.geometry.strata.conics import Conic, conic_of
from polymargin.geometry.strata.parameter_polynomials import ParameterPolynomials, parameter_polynomials
from polymargin.geometry.strata.quadric_invariants import (
    QuadricInvariants,
    invariants_in_doubles,
    invariants_in_rationals,
)
from polymargin.networks import Network
from polymargin.quadric import QuadricForm, ed_degree_by_ranks, exact_form

# Relative; well above what computing the coefficients in doubles costs, well below what a picture would show.
DEFAULT_TOLERANCE = 1e-9
# Up to this size the coefficients of a network are computed exactly and rounded once.
EXACT_COEFFICIENTS = 24


@dataclass(frozen=True)
class ParameterDiscriminant:
    """Where a quadratic boundary stands.

    stratum                   'generic', or which factors of Δ vanish: 'rank-deficient', 'singular', 'repeated eigenvalues',
                              joined by ' + '; 'constant' and 'zero' for boundaries without a variable
    rank_factor               det A; zero if the quadratic form is rank-deficient
    singular_factor           det M; zero if the boundary is singular, perhaps at infinity
    eigenvalue_factor         discriminant of the characteristic polynomial of A; zero if eigenvalues repeat
    dimension                 number n of inputs
    rank, augmented_rank      of A and M
    signature                 positive and negative eigenvalues of A
    distinct_eigenvalues      the number r of distinct nonzero eigenvalues of A
    ed_degree                 critical points of the distance from a general point
    generic_ed_degree         2n
    has_singular_point        whether some (complex) point of the boundary has gradient zero
    empty                     whether the boundary has no real point
    conic                     for two inputs: its name and Δ_sing, Δ_par, Δ_circ
    exact                     factors are Fractions and zero means zero
    tolerance                 otherwise: relative size below which something counts as zero
    """

    stratum: str
    rank_factor: Fraction | float
    singular_factor: Fraction | float
    eigenvalue_factor: Fraction | float
    dimension: int
    rank: int
    augmented_rank: int
    signature: tuple[int, int]
    distinct_eigenvalues: int
    ed_degree: int
    generic_ed_degree: int
    has_singular_point: bool
    empty: bool
    conic: Conic | None
    exact: bool
    tolerance: float

    @property
    def value(self) -> Fraction | float:
        """Δ, the product of the three factors."""
        return self.rank_factor * self.singular_factor * self.eigenvalue_factor

    @property
    def generic(self) -> bool:
        """Whether Δ ≠ 0."""
        return self.stratum == "generic"

    def __repr__(self) -> str:
        name = "" if self.conic is None else f"{self.conic.name}, "
        known = "exact" if self.exact else f"tolerance {self.tolerance:g}"
        return f"ParameterDiscriminant({name}{self.stratum}, ED degree {self.ed_degree} of {self.generic_ed_degree}; {known})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, keys named as the attributes; Fractions as strings."""
        plain = {item.name: _plain(getattr(self, item.name)) for item in fields(self)}
        if self.conic is not None:
            plain["conic"] = {item.name: _plain(getattr(self.conic, item.name)) for item in fields(self.conic)}
        return plain


@overload
def parameter_discriminant(
    source: ParametricBoundary,
    label: int = 0,
    rival: int = 1,
    *,
    exact: bool | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ParameterPolynomials: ...


@overload
def parameter_discriminant(
    source: Network | Boundary | QuadricForm,
    label: int = 0,
    rival: int = 1,
    *,
    exact: bool | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ParameterDiscriminant: ...


@checked(Network, Boundary, QuadricForm, ParametricBoundary)
def parameter_discriminant(
    source: Network | Boundary | QuadricForm | ParametricBoundary,
    label: int = 0,
    rival: int = 1,
    *,
    exact: bool | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ParameterDiscriminant | ParameterPolynomials:
    """The stratum of the boundary between `label` and `rival`, or of a boundary or quadric given alone.

    Boundaries given as expressions are judged in rational arithmetic, others in doubles with a relative `tolerance`;
    `exact=True` takes the weights as the dyadic rationals they are, `exact=False` rounds.

    >>> parameter_discriminant(Boundary.from_expression("y - x**2"))
    ParameterDiscriminant(parabola, rank-deficient, ED degree 3 of 4; exact)

    Of an expression with parameters it is a set of polynomials in them:

    >>> parameter_discriminant(Boundary.from_expression("a*x**2 + y**2 - b*y", parameters="a b"))
    ParameterPolynomials(a, a - 1, b)
    """
    if isinstance(source, ParametricBoundary):
        return parameter_polynomials(source)
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance {tolerance}: expected a relative size, at least 0 and below 1")
    if isinstance(source, Network):
        source = Boundary.from_network(source, label, rival)
    if exact is None:
        exact = isinstance(source, Boundary) and isinstance(source.source, ExpressionSource)
    if exact:
        return _described(invariants_in_rationals(*_rationals(source)), exact, 0.0)
    return _described(invariants_in_doubles(_doubles(source), tolerance), exact, tolerance)


def _ed_degree(invariants: QuadricInvariants) -> int:
    """Of the zero set; the whole space, zero set of B = 0, has the point itself as its only critical point."""
    if invariants.augmented_rank == 0:
        return 1
    ranks = invariants.rank, invariants.augmented_rank
    return ed_degree_by_ranks(invariants.distinct_eigenvalues, *ranks, exact=True).of_set


def _rationals(source: Boundary | QuadricForm) -> tuple[list[list[Fraction]], list[Fraction], Fraction]:
    if isinstance(source, Boundary):
        return exact_form(source)
    matrix = [[Fraction(entry) for entry in row] for row in source.matrix.tolist()]
    return matrix, [Fraction(entry) for entry in source.linear.tolist()], Fraction(source.constant)


def _doubles(source: Boundary | QuadricForm) -> QuadricForm:
    if isinstance(source, QuadricForm):
        return source
    if source.dimension <= EXACT_COEFFICIENTS:
        matrix, linear, constant = exact_form(source)
        return QuadricForm(np.array(matrix, dtype=np.float64), np.array(linear, dtype=np.float64), float(constant))
    form = QuadricForm.from_boundary(source)
    # The degree is known exactly: what cancels must not come back as rounding errors.
    matrix_factor, linear_factor = float(source.degree >= 2), float(source.degree >= 1)
    return QuadricForm(matrix_factor * form.matrix, linear_factor * form.linear, form.constant)


def _described(invariants: QuadricInvariants, exact: bool, tolerance: float) -> ParameterDiscriminant:
    n, rank, augmented_rank = invariants.dimension, invariants.rank, invariants.augmented_rank
    return ParameterDiscriminant(
        stratum=_stratum(invariants),
        rank_factor=invariants.determinant,
        singular_factor=invariants.augmented_determinant,
        eigenvalue_factor=invariants.eigenvalue_discriminant,
        dimension=n,
        rank=rank,
        augmented_rank=augmented_rank,
        signature=invariants.signature,
        distinct_eigenvalues=invariants.distinct_eigenvalues,
        ed_degree=_ed_degree(invariants),
        generic_ed_degree=2 * n,
        has_singular_point=augmented_rank == rank,
        empty=invariants.empty,
        conic=conic_of(invariants),
        exact=exact,
        tolerance=tolerance,
    )


def _stratum(invariants: QuadricInvariants) -> str:
    if invariants.augmented_rank <= 1 and invariants.rank == 0:
        return "constant" if invariants.augmented_rank else "zero"
    names = []
    if invariants.rank < invariants.dimension:
        names.append("rank-deficient")
    if invariants.augmented_rank <= invariants.dimension:
        names.append("singular")
    if invariants.repeated_eigenvalues:
        names.append("repeated eigenvalues")
    return " + ".join(names) or "generic"


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
