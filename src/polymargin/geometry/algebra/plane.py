"""Two variables without a Gröbner engine: critical points by one resultant.

For a curve {b = 0} with metric G and a point v the critical points are common zeros of b and of the minor

    m = (y₁ − v₁)(G∇b)₂ − (y₂ − v₂)(G∇b)₁.

In coordinates in which b has a constant leading coefficient in y₂, the resultant R(y₁) = Res(b, m; y₂) = c ∏ m(y₁, y₂ⁱ) over the
roots y₂ⁱ of b vanishes at the common zeros, each with its intersection number. At a singular point of the curve b has
multiplicity at least 2 and m vanishes, so the intersection number is at least 2. At a regular critical point of a general v it
is 1 (see `critical_ideals`), and general coordinates keep all points apart: the ED degree is the number of simple roots of R.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import flint

from polymargin.geometry.algebra.critical_ideals import minors_system
from polymargin.geometry.algebra.hypersurface import Hypersurface
from polymargin.geometry.algebra.rings import Ring


def plane_ed_degree(surface: Hypersurface, point: Sequence[Any], generator: random.Random) -> int:
    """The number of regular critical points for a general point; one or two variables.

    On a line every point of {b = 0} is critical.
    """
    if surface.dimension == 1:
        return surface.degree
    curve, minor = minors_system(surface, point).polynomials
    resultant = univariate(surface.ring, _sheared(surface.ring, curve, minor, surface.ring.random_scalar(generator)))
    return sum(int(factor.degree()) for factor, multiplicity in resultant.factor_squarefree()[1] if multiplicity == 1)


def _sheared(ring: Ring, curve: Any, minor: Any, slope: Any) -> Any:
    """Res(b, m; y₂) after y₁ ↦ y₁ + slope · y₂, which makes the coefficient of the highest power of y₂ constant."""
    y1, y2 = ring.variables
    curve, minor = (p.compose(y1 + slope * y2, y2, ctx=ring.context) for p in (curve, minor))
    return curve.resultant(minor, 1)


def univariate(ring: Ring, polynomial: Any, index: int = 0) -> Any:
    """A polynomial that contains one variable only, as python-flint's univariate one."""
    degree = polynomial.degrees()[index] if not polynomial.is_zero() else 0
    exponents = [[0] * len(ring.names) for _ in range(degree + 1)]
    for power, exponent in enumerate(exponents):
        exponent[index] = power
    coefficients = [polynomial[tuple(exponent)] for exponent in exponents]
    if ring.prime is None:
        return flint.fmpq_poly(coefficients)
    return flint.nmod_poly([int(c) for c in coefficients], ring.prime)
