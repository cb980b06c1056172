"""The ED discriminant of a quadric: one univariate discriminant.

Let b(y) = yᵀAy + aᵀy + c with metric G (see `algebra.equations`) and K = GA, whose eigenvalues μ_j are real. The critical
points are y = (1 + 2λK)⁻¹(v − λGa) for the roots λ of E(λ) = b(y(λ)). With m(λ) = ∏(1 + 2λμ_j) over the different eigenvalues
other than 0, P = m²E is a polynomial in λ with coefficients of degree 2 in v, and

    E = S − λγ₀ + Σ_j w_j / (1 + 2λμ_j)²,     w_j = (1/(4μ_j)) · (size of ∇b(v) on the eigenspace of μ_j)².

Two critical points merge at λ with m(λ) ≠ 0 exactly if λ is a double root. Disc_λ(P) also vanishes where some w_j does, though
the two critical points that share λ = −1/(2μ_j) there are different: Res_λ(P, m), which is ∏ w_j up to a constant, is that
extraneous factor. What remains to be seen are the v with infinitely many critical points:

    an eigenvalue of multiplicity 2   At λ = −1/(2μ_j), for v in a subspace of codimension 2 (the axis of a spheroid, the centre
                                      of a circle), they form a circle. Larger multiplicities give a Jacobian that loses two
                                      ranks; the saturation in the paper's Algorithm 3 leaves them out (the centre of a sphere).
    P = 0 for all λ                   All w_j vanish, and S and γ₀: v is the apex of a cone, or the crossing of two planes, or
                                      one of some points around it that are not real. On {D = 0} unless D is constant, which
                                      happens for two eigenvalues.
    P = w                             A cone with one eigenvalue, b = μ|y|², is isotropic: no critical points for general v, a
                                      line of them for v on the cone, which is its own discriminant.
"""

from __future__ import annotations

from typing import Any

import flint

from polymargin.errors import InputError
from polymargin.geometry.algebra.equations import Equations
from polymargin.geometry.algebra.factorisation import irreducible_factors
from polymargin.geometry.algebra.linear_spaces import kernel, linear_forms, vanishes_on
from polymargin.geometry.algebra.rings import Ring, determinant, integer_form
from polymargin.geometry.discriminants.result import DiscriminantComponent

# D has degree 6(n − 1) for a general quadric, 7,315 terms for four variables, which take half a minute.
LARGEST_DIMENSION = 3


def quadric_components(surface: Equations) -> list[DiscriminantComponent]:
    """Return the pieces of the discriminant of a hypersurface of degree two over the rationals, in its own variables."""
    if surface.dimension > LARGEST_DIMENSION:
        raise InputError(
            f"a quadric in {surface.dimension} variables: its discriminant is written out for at most {LARGEST_DIMENSION}; "
            f"count critical points with quadric_critical_points instead"
        )
    A, a = _form(surface)
    K = surface.metric * A
    P, m = _secular(surface, A, a, K)
    polynomial = _main_polynomial(surface.ring, P, m)
    components = [DiscriminantComponent((factor,), 1) for factor in irreducible_factors(polynomial)]
    pieces = _double_eigenspaces(surface, a, K)
    components += [DiscriminantComponent(forms, 2) for forms in pieces if not vanishes_on(polynomial, forms)]
    if polynomial.is_constant() and _is_cone(surface, A, a):
        components.append(DiscriminantComponent(_degenerate_locus(surface, P, A, a, K), 2))
    return components


def _form(surface: Equations) -> tuple[Any, list[Any]]:
    """Return A and a of b = yᵀAy + aᵀy + c."""
    b, size = surface.polynomial, surface.dimension
    origin = [flint.fmpq(0)] * size
    entries = [b.derivative(i).derivative(j)(*origin) / 2 for i in range(size) for j in range(size)]
    return flint.fmpq_mat(size, size, entries), [b.derivative(i)(*origin) for i in range(size)]


def _secular(surface: Equations, A: Any, a: list[Any], K: Any) -> tuple[Any, Any]:
    """Return P and m in the variables v and λ: P = m² b((1 + 2λK)⁻¹(v − λGa)), with the inverse as adj(1 + 2λK)/det."""
    size = surface.dimension
    axes = range(size)
    ring = surface.ring.extended("l")
    multiplier = ring.variables[size]
    seen = [v - multiplier * entry for v, entry in zip(ring.variables, _times(surface.metric, a), strict=False)]
    shifted = [[int(i == j) + 2 * multiplier * K[i, j] + 0 * multiplier for j in axes] for i in axes]
    adjugate = [[(-1) ** (i + j) * _minor(shifted, j, i) for j in axes] for i in axes]
    poles = _poles(K)
    m = ring.linear(poles.coeffs(), [multiplier**k for k in range(poles.length())])
    common = divmod(determinant(shifted), m)[0]
    y = [divmod(sum((c * r for c, r in zip(row, seen, strict=True)), ring.constant(0)), common)[0] for row in adjugate]
    P = m * m * surface.polynomial(*[flint.fmpq(0)] * size) + m * ring.linear(a, y)
    for left, row in zip(y, A.table(), strict=True):
        P += left * ring.linear(row, y)
    return P, m


def _minor(rows: list[list[Any]], row: int, column: int) -> Any:
    """Return the determinant without a row and a column."""
    rest = [[entry for j, entry in enumerate(line) if j != column] for i, line in enumerate(rows) if i != row]
    return determinant(rest) if rest else rows[0][0] ** 0


def _poles(K: Any) -> Any:
    """Return m(λ) = ∏ (1 + 2λμ) over the different eigenvalues μ ≠ 0 of K."""
    characteristic = K.charpoly()
    squarefree = characteristic // characteristic.gcd(characteristic.derivative())
    if squarefree[0] == 0:
        squarefree = squarefree.right_shift(1)
    degree = squarefree.degree()
    return flint.fmpq_poly([squarefree[degree - k] * flint.fmpq(-2) ** k for k in range(degree + 1)])


def _main_polynomial(ring: Ring, P: Any, m: Any) -> Any:
    """Return Disc_λ(P) / Res_λ(P, m) as a primitive integer polynomial in v."""
    size = len(ring.names)
    if P.degrees()[size] > 0:  # otherwise P = w: an isotropic cone
        P = divmod(P.discriminant(size), P.resultant(m, size))[0]
    return integer_form(_at(ring, P, ring.constant(0)))


def _at(ring: Ring, polynomial: Any, multiplier: Any) -> Any:
    """Return a polynomial in v and λ at a value of λ."""
    return polynomial.compose(*ring.variables, multiplier, ctx=ring.context)


def _double_eigenspaces(surface: Equations, a: list[Any], K: Any) -> list[tuple[Any, ...]]:
    """Return the equations of the v without a part in an eigenspace of dimension two."""
    return [
        _eigenspace_forms(surface, a, K, -flint.fmpq(factor[0]) / factor[1])
        for factor, multiplicity in _nonzero_eigenvalues(K)
        if multiplicity == 2  # in three variables it is rational
    ]


def _nonzero_eigenvalues(K: Any) -> list[tuple[Any, int]]:
    """Return the irreducible factors of the characteristic polynomial with their multiplicities, without the eigenvalue 0."""
    return [(factor, multiplicity) for factor, multiplicity in K.charpoly().factor()[1] if factor[0] != 0]


def _eigenspace_forms(surface: Equations, a: list[Any], K: Any, eigenvalue: Any) -> tuple[Any, ...]:
    """Return ℓ(v − λGa) for the left eigenvectors ℓ of an eigenvalue μ and λ = −1/(2μ); for real v they vanish with w."""
    size = surface.dimension
    unit = flint.fmpq_mat(size, size, [eigenvalue * int(i == j) for i in range(size) for j in range(size)])
    offset = [entry / (2 * eigenvalue) for entry in _times(surface.metric, a)]
    vectors = kernel((K - unit).transpose())
    rows = [[*vector, sum(x * y for x, y in zip(vector, offset, strict=True))] for vector in vectors]
    return linear_forms(surface.ring, rows)


def _is_cone(surface: Equations, A: Any, a: list[Any]) -> bool:
    """Return whether rank M = rank A: the quadric has a singular point."""
    half = [entry / 2 for entry in a]
    constant = surface.polynomial(*[flint.fmpq(0)] * surface.dimension)
    rows = [[*row, entry] for row, entry in zip(A.table(), half, strict=True)]
    return bool(flint.fmpq_mat([*rows, [*half, constant]]).rank() == A.rank())


def _degenerate_locus(surface: Equations, P: Any, A: Any, a: list[Any], K: Any) -> tuple[Any, ...]:
    """Return w₁ = w₂ = 0 for a cone with two eigenvalues; w is the square of a linear form for a simple one."""
    eigenvalues = _nonzero_eigenvalues(K)
    if all(multiplicity == 1 for _, multiplicity in eigenvalues):
        return linear_forms(
            surface.ring, [[2 * x for x in row] + [entry] for row, entry in zip(A.table(), a, strict=True)]
        )
    generators: list[Any] = []
    for factor, multiplicity in eigenvalues:
        eigenvalue = -flint.fmpq(factor[0]) / factor[1]
        if multiplicity == 1:
            generators += _eigenspace_forms(surface, a, K, eigenvalue)
        else:
            place = -1 / (2 * eigenvalue)
            generators.append(integer_form(_at(surface.ring, P, surface.ring.constant(place))))
    return tuple(generators)


def _times(matrix: Any, vector: list[Any]) -> list[Any]:
    return [sum(x * y for x, y in zip(row, vector, strict=True)) for row in matrix.table()]
