"""Irreducible factors of integer polynomials in several variables.

Restricted to a random plane a polynomial has at least as many factors as before, so an irreducible restriction of the same degree
proves irreducibility at a fraction of the cost. Only where the restriction splits is the polynomial itself factorised.
"""

from __future__ import annotations

import random
from typing import Any

from polymargin.geometry.algebra.rings import Ring, integer_form


def irreducible_factors(polynomial: Any) -> list[Any]:
    """Return the different irreducible factors that are not constant, leading coefficients positive, smallest degree first.

    >>> x, y, z = Ring(("x", "y", "z")).variables
    >>> irreducible_factors(integer_form((x - y * z) ** 2 * (2 - x)))
    [x - 2, y*z - x]
    """
    if polynomial.is_constant():
        return []
    if len(polynomial.context().names()) > 2 and _irreducible_on_a_plane(polynomial):
        return [polynomial if polynomial.leading_coefficient() > 0 else -polynomial]
    factors = [factor if factor.leading_coefficient() > 0 else -factor for factor, _ in polynomial.factor()[1]]
    return sorted(factors, key=lambda factor: (factor.total_degree(), len(factor), str(factor)))


def _irreducible_on_a_plane(polynomial: Any) -> bool:
    plane = Ring(("s", "t"))
    s, t = plane.variables
    generator = random.Random(20268)
    names = polynomial.context().names()
    point = [
        generator.randrange(-9, 10) + generator.randrange(-9, 10) * s + generator.randrange(-9, 10) * t for _ in names
    ]
    rational = Ring(tuple(names)).context.from_dict(dict(polynomial.to_dict().items()))
    restricted = integer_form(rational.compose(*point, ctx=plane.context))
    if restricted.total_degree() < polynomial.total_degree():
        return False
    factors = restricted.factor()[1]
    return len(factors) == 1 and factors[0][1] == 1
