"""What is true of a plane curve {B = 0}, by elimination over the rationals: no prime, no float, no path.

The critical points of the distance from u are common zeros of B and m = (x − u) ∧ ∇B, and so are the singular points of the
curve. In the coordinate t = x + k·y the resultant R(t) = Res(B, m; y) vanishes at the common zeros, each as often as the two
curves meet there: once at a simple critical point, more often at a singular point. Real roots are counted by Sturm's theorem, and
points are put together from the roots for three slopes k. Shares nothing with the package but python-flint's polynomials.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint
import numpy as np

RING = flint.fmpq_mpoly_ctx.get(["x", "y"], "lex")
BITS = 400
SLOPES = (flint.fmpq(3, 7), flint.fmpq(-5, 11), flint.fmpq(17, 13))


def ed_degree_in_plane(curve: Any, seed: int = 0) -> int:
    """The number of simple critical points for a random rational point; it is never more than the ED degree."""
    generator = random.Random(seed)
    u = [Fraction(generator.randrange(-(10**6), 10**6), generator.randrange(1, 10**3)) for _ in range(2)]
    return sum(_simple_part(_eliminated(factor, u, SLOPES[0])).degree() for factor, _ in curve.factor()[1])


def real_critical_count(curve: Any, u: tuple[Any, Any]) -> int | None:
    """How many simple critical points at u are real; None where fewer than the ED degree are simple: u is on the discriminant."""
    simple = [_simple_part(_eliminated(factor, u, SLOPES[0])) for factor, _ in curve.factor()[1]]
    if sum(part.degree() for part in simple) < ed_degree_in_plane(curve):
        return None
    return sum(sturm_count(part) for part in simple)


def sturm_count(polynomial: Any) -> int:
    """The number of different real roots, by the changes of sign of Sturm's chain at both infinities."""
    chain = [polynomial, polynomial.derivative()]
    while chain[-1] != 0:
        remainder = -(chain[-2] % chain[-1])
        content = max((abs(c) for c in remainder.coeffs()), default=flint.fmpq(1))
        chain.append(remainder / content if content else remainder)
    chain.pop()
    ahead = [c[c.degree()] > 0 for c in chain]
    behind = [(c[c.degree()] > 0) == (c.degree() % 2 == 0) for c in chain]
    return _changes(behind) - _changes(ahead)


def nearest_in_plane(curve: Any, u: tuple[Any, Any]) -> float:
    """The distance from u to the real curve {B = 0}; infinite if it has no real point."""
    x, y = RING.gens()
    moved = curve.compose(x + _rational(u[0]), y + _rational(u[1]), ctx=RING)
    if moved(0, 0) == 0:
        return 0.0
    return min((_nearest_to_origin(factor) for factor, _ in moved.factor()[1]), default=math.inf)


def real_critical_points_in_plane(curve: Any, u: tuple[Any, Any]) -> np.ndarray:
    """The real critical points and singular points (N, 2) of the curve; of components that are circles around u, none."""
    x, y = RING.gens()
    moved = curve.compose(x + _rational(u[0]), y + _rational(u[1]), ctx=RING)
    square_free = math.prod((factor for factor, _ in moved.factor()[1]), start=1 + 0 * x)
    points = real_common_zeros(square_free) if _minor(square_free, (0, 0)).gcd(square_free) == 1 else []
    return np.array(points).reshape(-1, 2) + np.array([float(c) for c in u])


def _nearest_to_origin(factor: Any) -> float:
    if _minor(factor, (0, 0)).gcd(factor) == 1:
        return min((math.hypot(*point) for point in real_common_zeros(factor)), default=math.inf)
    along = factor.compose(RING.gens()[0], 0 * RING.gens()[0], ctx=RING)  # circles around u: a polynomial in x² + y²
    with flint.ctx.workprec(BITS):
        roots = [root.real for root, _ in _univariate(along).numer().complex_roots() if root.imag == 0]
    return min((abs(float(root.mid())) for root in roots), default=math.inf)


def real_common_zeros(factor: Any) -> list[tuple[float, float]]:
    """The real points with B = m = 0 for u = 0: critical points and singular points."""
    parts = [_squarefree(_eliminated(factor, (0, 0), slope)) for slope in SLOPES]
    assert len({part.degree() for part in parts}) == 1, "a slope does not tell the points apart"
    with flint.ctx.workprec(BITS):
        first, second, third = ([r.real for r, _ in p.numer().complex_roots() if r.imag == 0] for p in parts)
        points = []
        for s in first:
            pairs = [((t - s) / (SLOPES[1] - SLOPES[0]), s) for t in second]
            places = [(s - SLOPES[0] * y, y) for y, s in pairs]
            found = [(x, y) for x, y in places if any((x + SLOPES[2] * y).overlaps(t) for t in third)]
            assert len(found) == 1, "more bits are needed"
            points.append(tuple(float(c.mid()) for c in found[0]))
    return points


def _minor(factor: Any, u: tuple[Any, Any]) -> Any:
    x, y = RING.gens()
    return (x - _rational(u[0])) * factor.derivative(1) - (y - _rational(u[1])) * factor.derivative(0)


def _eliminated(factor: Any, u: Any, slope: Any) -> Any:
    """R(t), for a factor whose form of highest degree does not vanish at (−k, 1)."""
    x, y = RING.gens()
    curve, minor = (p.compose(x - slope * y, y, ctx=RING) for p in (factor, _minor(factor, u)))
    assert curve.degrees()[1] == curve.total_degree(), "take another slope"
    return _univariate(curve.resultant(minor, 1))


def _univariate(polynomial: Any) -> Any:
    powers = {exponents[0]: c for exponents, c in polynomial.to_dict().items()}
    return flint.fmpq_poly([powers.get(i, 0) for i in range(max(powers, default=0) + 1)])


def _simple_part(polynomial: Any) -> Any:
    """The factor with the simple roots."""
    product = flint.fmpz_poly([1])
    for factor, multiplicity in polynomial.numer().factor_squarefree()[1]:
        product *= factor if multiplicity == 1 else 1
    return flint.fmpq_poly(product)


def _squarefree(polynomial: Any) -> Any:
    return polynomial / polynomial.gcd(polynomial.derivative())


def _changes(signs: list[bool]) -> int:
    return sum(a != b for a, b in pairwise(signs))


def _rational(number: Any) -> Any:
    exact = Fraction(number)
    return flint.fmpq(exact.numerator, exact.denominator)
