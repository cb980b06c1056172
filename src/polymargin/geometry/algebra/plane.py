"""Two variables without a Gröbner engine: critical points by one resultant.

For a curve {b = 0} with metric G and a point v the critical points are common zeros of b and of the minor

    m = (y₁ − v₁)(G∇b)₂ − (y₂ − v₂)(G∇b)₁.

In coordinates in which b has a constant leading coefficient in y₂, the resultant R(y₁) = Res(b, m; y₂) = c ∏ m(y₁, y₂ⁱ) over the
roots y₂ⁱ of b vanishes at the common zeros, each with its intersection number. At a singular point of the curve b has
multiplicity at least 2 and m vanishes, so the intersection number is at least 2. At a regular critical point of a general v it
is 1 (see `equations`), and general coordinates keep all points apart: the ED degree is the number of simple roots of R.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import flint

from polymargin.geometry.algebra.equations import Equations
from polymargin.geometry.algebra.rings import Ring


def plane_ed_degree(surface: Equations, point: Sequence[Any], generator: random.Random) -> int:
    """Return the number of regular critical points for a general point; one or two variables.

    On a line every point of {b = 0} is critical.
    """
    if surface.dimension == 1:
        return surface.degree
    ring, (y1, y2) = surface.ring, surface.ring.variables
    # After y₁ ↦ y₁ + slope · y₂ the coefficient of the highest power of y₂ is constant.
    slope = ring.random_scalar(generator)
    curve, minor = (
        p.compose(y1 + slope * y2, y2, ctx=ring.context) for p in (surface.polynomial, *minors_of(surface, point))
    )
    resultant = univariate(ring, curve.resultant(minor, 1))
    return sum(int(factor.degree()) for factor, multiplicity in resultant.factor_squarefree()[1] if multiplicity == 1)


def minors_of(surface: Equations, point: Sequence[Any]) -> list[Any]:
    """Return the 2-minors of (y − v | G∇b), which vanish where both are parallel; in the plane there is one."""
    pairs = combinations(zip(surface.offsets(point), surface.conormal(surface.polynomial), strict=True), 2)
    return [first * second_slope - second * first_slope for (first, first_slope), (second, second_slope) in pairs]


def univariate(ring: Ring, polynomial: Any, index: int = 0) -> Any:
    """Return a polynomial that contains one variable only, as python-flint's univariate one."""
    degree = polynomial.degrees()[index] if not polynomial.is_zero() else 0
    exponents = [[0] * len(ring.names) for _ in range(degree + 1)]
    for power, exponent in enumerate(exponents):
        exponent[index] = power
    coefficients = [polynomial[tuple(exponent)] for exponent in exponents]
    if ring.prime is None:
        return flint.fmpq_poly(coefficients)
    return flint.nmod_poly([int(c) for c in coefficients], ring.prime)
