"""Primary components of ideals with finitely many zeros over the rationals, by linear algebra in the quotient A.

Let t be a linear form that separates the zeros. The characteristic polynomial of multiplication by t has an irreducible factor f
for every set of conjugate zeros, and its exponent e is their multiplicity. The coordinates of the zeros are rational functions of
t (Rouillier's univariate representation): with the squarefree part χ of the characteristic polynomial and its Horner polynomials,

    g_v = Σ_i Tr(v tⁱ) H_{deg χ − 1 − i},        v = g_v(t) / g₁(t) at every zero.

Whether t separates is decided by the rank of the form Tr(ab), which is the number of different zeros. The primary ideal is the
kernel of Q[x] → A/f(t)^e, the prime one that of Q[x] → Q[t]/f; both are written as reduced Gröbner bases (Buchberger and Möller).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flint

from polymargin.errors import InputError
from polymargin.geometry.algebra.components import PrimaryComponent
from polymargin.geometry.algebra.equations import System
from polymargin.geometry.algebra.linear_quotient import Quotient, quotient
from polymargin.geometry.algebra.linear_spaces import kernel
from polymargin.geometry.algebra.rings import Ring, integer_form

# Entries of the largest matrix of rational numbers.
MOST_ENTRIES = 400_000
# Random forms that are tried; nearly every one separates.
MOST_FORMS = 20


def primary_components(system: System, kept: int | None = None) -> list[PrimaryComponent]:
    """Return the primary components in the first `kept` variables, which must determine the others at every zero.

    >>> ring = Ring(("x", "y"))
    >>> x, y = ring.variables
    >>> for component in primary_components(System(ring, (x**2 - y, y**2 * (y - 2)))):
    ...     print(component)
    PrimaryComponent(⟨y - 2, x^2 - 2⟩, points: 2, real: 2, multiplicity: 1)
    PrimaryComponent(⟨x^2 - y, y^2⟩, points: 1, real: 1, multiplicity: 4)
    """
    found = quotient(system, MOST_ENTRIES)
    if found is None:
        raise InputError(
            "the equations have infinitely many common zeros, or too many for linear algebra over the rationals"
        )
    if not found.basis:
        return []
    size = len(system.ring.names) if kept is None else kept
    ring = Ring(system.ring.names[:size])
    matrices = [found.multiplication(variable) for variable in range(len(system.ring.names))]
    one = _column([int(not any(found.monomials[place])) for place in found.basis])
    t, coordinates, characteristic = _separated(found, matrices, size, one)
    components = []
    for factor, multiplicity in characteristic.factor()[1]:
        f = flint.fmpq_poly(factor)
        inside = tuple(coordinate(f) for coordinate in coordinates)
        rows = flint.fmpq_mat(kernel((_power(f, t) ** int(multiplicity)).transpose()))  # they vanish on f(t)^e A
        primary = _basis(ring, _Images(matrices, rows), one)
        prime = _basis(ring, _Values(inside, f), flint.fmpq_poly([1]))
        components.append(PrimaryComponent(primary, prime, 0, int(multiplicity), f, inside))
    return sorted(components, key=lambda component: (component.multiplicity, str(component.primary)))


def _separated(
    found: Quotient, matrices: list[Any], kept: int, one: Any
) -> tuple[Any, list[Callable[[Any], Any]], Any]:
    """Return multiplication by a separating form, the coordinates modulo a factor, and its characteristic polynomial."""
    products = [_monomial(found.monomials[place], matrices, len(found)) for place in found.basis]
    traces = _row([sum(matrix[k, k] for k in range(len(found))) for matrix in products])
    points = flint.fmpq_mat([(traces * matrix).entries() for matrix in products]).rank()
    generator = random.Random(20264)
    for _ in range(MOST_FORMS):
        t = sum((matrix * generator.randrange(1, 1000) for matrix in matrices[1:kept]), matrices[0])
        characteristic = t.charpoly()
        squarefree = characteristic // characteristic.gcd(characteristic.derivative())
        if squarefree.degree() == points:
            break
    else:
        raise InputError("different zeros agree in the variables that are kept")
    powers, vector = [], one
    for _ in range(points):
        powers.append(vector)
        vector = t * vector
    horner = [flint.fmpq_poly([squarefree[k] for k in range(i + 1, points + 1)]) for i in range(points)]

    def g(matrix: Any) -> Any:
        return sum(
            (h * (traces * (matrix * power))[0, 0] for h, power in zip(horner, powers, strict=True)),
            flint.fmpq_poly([]),
        )

    below = g(matrices[0] ** 0)
    above = [g(matrix) for matrix in matrices[:kept]]

    def coordinate(numerator: Any) -> Callable[[Any], Any]:
        return lambda f: numerator * _inverse(below, f) % f

    return t, [coordinate(numerator) for numerator in above], characteristic


@dataclass(frozen=True)
class _Images:
    """Polynomials as vectors of A, looked at modulo a subspace, on which the rows vanish."""

    matrices: list[Any]
    rows: Any

    def times(self, variable: int, vector: Any) -> Any:
        return self.matrices[variable] * vector

    def entries(self, vector: Any) -> list[Any]:
        return list((self.rows * vector).entries())


@dataclass(frozen=True)
class _Values:
    """Polynomials as their values at conjugate points, elements of Q[t]/f."""

    coordinates: tuple[Any, ...]
    modulus: Any

    def times(self, variable: int, value: Any) -> Any:
        return value * self.coordinates[variable] % self.modulus

    def entries(self, value: Any) -> list[Any]:
        return [value[k] for k in range(self.modulus.degree())]


def _basis(ring: Ring, images: _Images | _Values, one: Any) -> tuple[Any, ...]:
    """Return the reduced Gröbner basis of the polynomials whose image is zero; `one` is the image of 1."""
    size = len(ring.names)
    standard = {(0,) * size: one}
    leads: list[tuple[int, ...]] = []
    basis, last = [], dict(standard)
    while last:
        candidates = {
            (*monomial[:i], monomial[i] + 1, *monomial[i + 1 :]): (i, value)
            for monomial, value in last.items()
            for i in range(size)
        }
        last = {}
        for monomial in sorted(candidates, key=lambda powers: [-power for power in reversed(powers)]):
            if any(all(a <= b for a, b in zip(lead, monomial, strict=True)) for lead in leads):
                continue
            value = images.times(*candidates[monomial])
            columns = [images.entries(image) for image in (*standard.values(), value)]
            relations = kernel(flint.fmpq_mat(columns).transpose())
            if relations:
                (relation,) = relations
                terms = zip((*standard, monomial), relation, strict=True)
                basis.append(integer_form(ring.context.from_dict({powers: c for powers, c in terms if c != 0})))
                leads.append(monomial)
            else:
                standard[monomial] = last[monomial] = value
    return tuple(sorted(basis, key=lambda p: (p.total_degree(), [-power for power in p.monoms()[0]])))


def _monomial(powers: tuple[int, ...], matrices: list[Any], size: int) -> Any:
    product = flint.fmpq_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
    for matrix, power in zip(matrices, powers, strict=True):
        product *= matrix**power
    return product


def _power(polynomial: Any, matrix: Any) -> Any:
    """Return a polynomial of a matrix."""
    total = matrix * 0
    for coefficient in reversed(polynomial.coeffs()):
        total = total * matrix + matrix**0 * coefficient
    return total


def _inverse(value: Any, modulus: Any) -> Any:
    common, factor, _ = value.xgcd(modulus)
    return factor / common[0]


def _column(entries: list[Any]) -> Any:
    return flint.fmpq_mat(len(entries), 1, entries)


def _row(entries: list[Any]) -> Any:
    return flint.fmpq_mat(1, len(entries), entries)
