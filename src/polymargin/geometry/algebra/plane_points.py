"""Points of a plane curve, exactly: its singular points, and its intersections with another curve elsewhere.

Choose a linear form t and a second coordinate z such that p, the polynomial of the curve, has a constant leading coefficient in
z. The resultant R(t) = Res(p, q; z) vanishes at the values of t on the common zeros of p and q, each as often as the
intersection numbers add up to. Over a root of an irreducible factor f of R the zeros are the roots of a greatest common divisor
over the number field Q[t]/f. If there is one root only, and it is regular on the curve, then

    Q[x, y]/(p, q)  localised there  =  Q[t]/f^e     for f^e exactly dividing R,

with z given by p(t, z) = 0 (Newton's iteration): conjugate zeros of multiplicity e, with the primary ideal (f^e, z − z(t)). If t
does not tell the zeros apart or is stationary at one, another form is tried; the coordinates themselves come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import flint

from polymargin.geometry.algebra.components import PrimaryComponent
from polymargin.geometry.algebra.number_fields import common_divisor, distinct_roots, inverse, reduced, without_roots
from polymargin.geometry.algebra.plane import univariate
from polymargin.geometry.algebra.rings import Ring, gradient, integer_form

Form = tuple[int, int]


@dataclass(frozen=True, eq=False)
class PointGroup:
    """Conjugate points: one for every root of the irreducible polynomial `minimal` in t = form[0]·x₁ + form[1]·x₂.

    `coordinates` are rational polynomials in t modulo minimal^multiplicity.
    """

    minimal: Any
    form: Form
    coordinates: tuple[Any, Any]
    multiplicity: int

    @property
    def size(self) -> int:
        """Number of points."""
        return int(self.minimal.degree())

    def component(self, ring: Ring) -> PrimaryComponent:
        """The same as a component of the ideal of the intersection."""
        primary = self.ideal(ring, self.multiplicity)
        return PrimaryComponent(primary, self.ideal(ring), 0, self.multiplicity, self.minimal, self.coordinates)

    def annihilates(self, polynomial: Any) -> bool:
        """Whether a polynomial in the plane vanishes at the points."""
        value: Any = flint.fmpq_poly([0])
        powers = [_powers(c, d, self.minimal) for c, d in zip(self.coordinates, polynomial.degrees(), strict=True)]
        for (i, j), coefficient in polynomial.to_dict().items():
            value += flint.fmpq(coefficient) * (powers[0][i] * powers[1][j] % self.minimal)
        return bool(value == 0)

    def ideal(self, ring: Ring, power: int = 1) -> tuple[Any, ...]:
        """Integer polynomials in the variables of the ring: the prime ideal, or the primary one for `multiplicity`."""
        if self.size == power == 1:
            pairs = zip(ring.variables, self.coordinates, strict=True)
            return tuple(integer_form(x - (c % self.minimal)[0]) for x, c in pairs)
        t = ring.linear(self.form, ring.variables)
        modulus = self.minimal**power
        index = 0 if self.form[0] == 0 else 1
        other = ring.variables[index] - _evaluated(ring, self.coordinates[index] % modulus, t)
        return tuple(integer_form(p) for p in (other, _evaluated(ring, modulus, t)))


def regular_intersections(ring: Ring, curve: Any, other: Any, slopes: Sequence[Any]) -> list[PointGroup]:
    """The common zeros of a squarefree curve and another one without common component, except where all `slopes` vanish:

    they must vanish at the singular points of the curve at least.
    """
    for form, (p, q, *rest) in _coordinates(ring, [curve, other, *slopes]):
        rows = _in_second(p)
        if len(rows) == 1 or rows[-1].degree() > 0:
            continue
        groups = []
        for factor, multiplicity in univariate(ring, p.resultant(q, 1)).numer().factor()[1]:
            f = flint.fmpq_poly(factor)
            zeros = _common(f, [p, q])
            regular = without_roots(zeros, _common(f, [p, *rest]), f)
            if len(regular) == 1:
                continue
            z = _lifted(rows, -regular[0], f, multiplicity) if len(zeros) == 2 else None
            if z is None:
                break
            groups.append(PointGroup(f, form, _back(form, z, f**multiplicity), int(multiplicity)))
        else:
            return groups
    raise AssertionError("every form was tried")  # pragma: no cover: there are infinitely many


def singular_points(ring: Ring, curve: Any) -> list[PointGroup]:
    """The singular points of a squarefree curve, each counted once."""
    slopes = gradient(curve, 2)
    if curve.total_degree() < 2:
        return []
    for form, (p, *rest) in _coordinates(ring, [curve, *slopes]):
        rows = _in_second(p)
        if len(rows) == 1 or rows[-1].degree() > 0:
            continue
        groups = []
        polars = (rest[0] + slope * rest[1] for slope in count(1))
        polar = next(polar for polar in polars if polar.gcd(p).is_constant())
        for factor, _ in univariate(ring, p.resultant(polar, 1)).numer().factor()[1]:
            f = flint.fmpq_poly(factor)
            zeros = distinct_roots(_common(f, [p, *rest]), f)
            if len(zeros) > 2:
                break
            if len(zeros) == 2:
                groups.append(PointGroup(f, form, _back(form, -zeros[0], f), 1))
        else:
            return groups
    raise AssertionError("every form was tried")  # pragma: no cover: there are infinitely many


def _coordinates(ring: Ring, polynomials: Sequence[Any]) -> Iterator[tuple[Form, list[Any]]]:
    """Forms t with the polynomials in the coordinates (t, z); z is x₁ for t = x₂, otherwise x₂."""
    t, z = ring.variables
    yield (0, 1), [p.compose(z, t, ctx=ring.context) for p in polynomials]
    yield (1, 0), list(polynomials)
    slope = 1
    while True:
        yield (1, slope), [p.compose(t - slope * z, z, ctx=ring.context) for p in polynomials]
        slope = -slope if slope > 0 else 1 - slope


def _back(form: Form, z: Any, modulus: Any) -> tuple[Any, Any]:
    """x₁ and x₂ from t and z."""
    t = flint.fmpq_poly([0, 1]) % modulus
    return (z, t) if form[0] == 0 else ((t - form[1] * z) % modulus, z)


def _common(f: Any, polynomials: Sequence[Any]) -> list[Any]:
    """The greatest common divisor of the polynomials in z over Q[t]/f."""
    result: list[Any] = []
    for polynomial in polynomials:
        result = common_divisor(result, reduced(_in_second(polynomial), f), f)
    return result


def _lifted(rows: list[Any], z: Any, f: Any, multiplicity: int) -> Any | None:
    """The root of Σ rows[k] z^k modulo f^multiplicity that is z modulo f; None where the derivative vanishes."""
    precision = 1
    while True:
        modulus = f ** min(precision, multiplicity)
        value, slope = flint.fmpq_poly([0]), flint.fmpq_poly([0])
        for row in reversed(rows):
            value, slope = (value * z + row) % modulus, (slope * z + value) % modulus
        factor = inverse(slope, modulus)
        if factor is None:
            return None
        z = (z - value * factor) % modulus
        if precision >= multiplicity:
            return z
        precision *= 2


def _in_second(polynomial: Any) -> list[Any]:
    """Coefficients of 1, z, z², … as polynomials in t."""
    table: list[dict[int, Any]] = [{} for _ in range(polynomial.degrees()[1] + 1)] if not polynomial.is_zero() else []
    for (i, j), coefficient in polynomial.to_dict().items():
        table[j][i] = coefficient
    return [flint.fmpq_poly([row.get(i, 0) for i in range(max(row, default=0) + 1)]) for row in table]


def _powers(value: Any, largest: int, modulus: Any) -> list[Any]:
    powers = [flint.fmpq_poly([1])]
    for _ in range(largest):
        powers.append(powers[-1] * value % modulus)
    return powers


def _evaluated(ring: Ring, polynomial: Any, argument: Any) -> Any:
    """A univariate polynomial at a polynomial of the ring."""
    total = ring.constant(0)
    for coefficient in reversed(polynomial.coeffs()):
        total = total * argument + coefficient
    return total
