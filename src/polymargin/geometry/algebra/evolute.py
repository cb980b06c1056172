"""The evolute of a plane curve: the equation of its centres of curvature.

For the critical points of {b = 0} with metric G (see `equations`) two of them merge where the Jacobian of the Lagrange
equations is singular. In two variables its determinant is linear in λ, so that every point y of the curve has one centre

    v = y − (N/q) G∇b,     N = ∇bᵀ G ∇b,     q = det G · ∇bᵀ adj(H) ∇b,     H the Hessian of b.

The closure of all centres is a curve {D = 0}, or a point if the curve is a circle, or nothing if it is straight (q = 0 on
it). For random x₀ the centres over y₁ = x₀ have coordinates in the ring Q[y₂]/b(x₀, y₂), and D = 0 at them is a set of linear
equations for the coefficients of D. They are solved modulo word-sized primes and the coefficients put together by the Chinese
remainder theorem. The degree of D is known beforehand: it is the number of centres on a general line, one resultant.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import lcm
from typing import Any

import flint

from polymargin.errors import InputError
from polymargin.geometry.algebra.engines import OutOfTimeError
from polymargin.geometry.algebra.equations import Equations
from polymargin.geometry.algebra.plane import univariate
from polymargin.geometry.algebra.reconstruction import Residues
from polymargin.geometry.algebra.rings import Ring, gradient, integer_form


@dataclass(frozen=True, eq=False)
class CentreMap:
    """The map from a curve {f = 0} to its centres of curvature, v = numerators / q, with integer coefficients; `square` is N."""

    ring: Ring
    curve: Any
    numerators: tuple[Any, Any]
    q: Any
    square: Any

    @property
    def isotropic(self) -> bool:
        """Return whether N vanishes on the whole curve: lines at which every normal is a tangent."""
        return bool(divmod(self.square, self.curve)[1].is_zero())

    @property
    def straight(self) -> bool:
        """Return whether q vanishes on the whole curve: a line, or several conjugate ones."""
        return bool(divmod(self.q, self.curve)[1].is_zero())

    def modulo(self, prime: int) -> CentreMap:
        """Return the map modulo a prime."""
        ring = Ring(self.ring.names, prime)

        def reduced(polynomial: Any) -> Any:
            return ring.context.from_dict({e: int(c.p) % prime for e, c in polynomial.to_dict().items()})

        first, second = (reduced(numerator) for numerator in self.numerators)
        return CentreMap(ring, reduced(self.curve), (first, second), reduced(self.q), reduced(self.square))

    def over(self, place: Any) -> tuple[Any, Any, Any] | None:
        """Return the centres over y₁ = place as polynomials in y₂ modulo f(place, y₂), and that; None at a special place."""
        curve, first, second, q = (
            univariate(self.ring, p.subs({self.ring.names[0]: place}), 1)
            for p in (self.curve, *self.numerators, self.q)
        )
        if curve.degree() < self.curve.degrees()[1]:
            return None
        common, inverse, _ = q.xgcd(curve)
        if common.degree() != 0:
            return None
        inverse = inverse / common[0]
        return first * inverse % curve, second * inverse % curve, curve


def centre_map(surface: Equations, factor: Any) -> CentreMap:
    """Return the centres of the component {factor = 0} of a curve over the rationals."""
    y1, y2 = surface.ring.variables
    first, second = gradient(factor, 2)
    (g11, g12), (_, g22) = surface.metric.table()
    conormal = (g11 * first + g12 * second, g12 * first + g22 * second)
    square = first * conormal[0] + second * conormal[1]
    q = first**2 * second.derivative(1) - 2 * first * second * first.derivative(1) + second**2 * first.derivative(0)
    q *= surface.metric.det()
    polynomials = [factor, y1 * q - square * conormal[0], y2 * q - square * conormal[1], q, square]
    scale = lcm(*(int(c.q) for p in polynomials for c in p.coeffs()))
    curve, first, second, q, square = (p * scale for p in polynomials)
    return CentreMap(surface.ring, curve, (first, second), q, square)


def evolute(centres: CentreMap, *, deadline: float, progress: Callable[[int], None] | None = None) -> Any:
    """Return D as a primitive integer polynomial in v₁, v₂; the constant 1 if the curve is straight or a circle.

    `progress` is called with 1 after each prime.
    """
    ring = centres.ring
    if centres.straight:
        return integer_form(ring.constant(1))
    generator = random.Random(20265)
    degree = _degree(centres.modulo(_random_prime(generator)), generator)
    if degree == 0:
        return integer_form(ring.constant(1))
    residues = Residues()
    while time.monotonic() < deadline:
        prime = _random_prime(generator)
        solution = _coefficients(centres.modulo(prime), degree, generator)
        if solution is None:
            degree = _image_degree(centres.modulo(prime), degree, generator)
            continue
        found = residues.add(prime, solution)
        if progress is not None:
            progress(1)
        if found is not None:
            terms = zip(_monomials(degree), found, strict=True)
            return integer_form(ring.context.from_dict({e: ring.scalar(c) for e, c in terms if c}))
    raise OutOfTimeError(
        f"the evolute, a curve of degree {degree}, was not found in time; give it more with timeout= (--timeout), or use chambers"
    )


def circle_centre(centres: CentreMap) -> tuple[Any, Any]:
    """Return the centre of a circle, as rational numbers."""
    found = next(filter(None, (centres.over(flint.fmpq(place, 7)) for place in range(1, 1000))))
    if found[0].degree() > 0 or found[1].degree() > 0:
        raise InputError("the boundary contains circles whose centres are not rational; use method='elimination'")
    return found[0][0], found[1][0]


def _degree(centres: CentreMap, generator: random.Random) -> int:
    """Return the number of centres on the line v₁ + c v₂ = s for random s: zeros of a resultant that move with s."""
    ring = centres.ring
    combination = centres.numerators[0] + ring.random_scalar(generator) * centres.numerators[1]
    first, second = (
        univariate(ring, centres.curve.resultant(combination - ring.random_scalar(generator) * centres.q, 1))
        for _ in range(2)
    )
    return int(first.degree() - first.gcd(second).degree())


def _image_degree(centres: CentreMap, degree: int, generator: random.Random) -> int:
    """Return the degree of D where several points of the curve share a centre, as on a curve that is its own offset."""
    for sheets in range(2, degree + 1):
        if degree % sheets == 0 and _coefficients(centres, degree // sheets, generator) is not None:
            return degree // sheets
    return degree


def _coefficients(centres: CentreMap, degree: int, generator: random.Random) -> list[int] | None:
    """Return the coefficients of D modulo the prime, the last one that is not zero being 1; None unless there is one solution."""
    unknowns = (degree + 1) * (degree + 2) // 2
    columns: list[list[int]] = [[] for _ in range(unknowns)]
    size = centres.curve.degrees()[1]
    # Symmetries split the equations into up to `size` classes of nearly equal size: enough for each of them.
    wanted = unknowns + size * (degree + 2)
    while len(columns[0]) < wanted:
        found = centres.over(centres.ring.random_scalar(generator))
        if found is None:
            continue
        for column, value in zip(columns, _monomial_values(*found, degree), strict=True):
            coefficients = [int(c) for c in value.coeffs()]
            column.extend(coefficients + [0] * (size - len(coefficients)))
    kernel, nullity = centres.ring.matrix(columns, len(columns[0])).transpose().nullspace()
    if nullity != 1:
        return None
    solution = [kernel[row, 0] for row in range(unknowns)]
    last = next(c for c in reversed(solution) if c != 0)
    return [int(c / last) for c in solution]


def _monomials(degree: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]


def _monomial_values(first: Any, second: Any, curve: Any, degree: int) -> list[Any]:
    """Return first^i second^j modulo the curve, in the order of `_monomials`."""
    values = []
    row = first * 0 + 1
    for i in range(degree + 1):
        value = row
        for _ in range(degree + 1 - i):
            values.append(value)
            value = value * second % curve
        row = row * first % curve
    return values


def _random_prime(generator: random.Random) -> int:
    """Return a random prime of 62 bits."""
    while True:
        candidate = generator.randrange(1 << 61, 1 << 62) | 1
        if flint.fmpz(candidate).is_prime():
            return candidate
