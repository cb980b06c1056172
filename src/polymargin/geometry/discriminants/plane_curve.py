"""The ED discriminant of a plane curve: evolutes, centres of circles, singular points.

Algorithm 3 of the paper gives, for a curve in the plane, the evolutes of its components, and besides them single points: the
centre of a circle (its evolute), and every singular point of the curve, where critical points of all branches merge when the
data point reaches it. Points that lie on the evolutes are not listed again. Isotropic lines (x² + y² = 0)
consist of critical points of all of their own points, and belong to the discriminant themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from polymargin.geometry.algebra.equations import Equations, System
from polymargin.geometry.algebra.evolute import centre_map, circle_centre, evolute
from polymargin.geometry.algebra.factorisation import irreducible_factors
from polymargin.geometry.algebra.finite_ideals import primary_components
from polymargin.geometry.algebra.rings import gradient, integer_form
from polymargin.geometry.discriminants.result import DiscriminantComponent


def plane_components(
    surface: Equations, *, deadline: float, progress: Callable[[int], None] | None = None
) -> list[DiscriminantComponent]:
    """Return the pieces of the discriminant of a curve over the rationals, in its own two variables."""
    ring = surface.ring
    factors: list[Any] = []
    points: list[tuple[Any, ...]] = []
    for factor, _ in surface.polynomial.factor()[1]:
        centres = centre_map(surface, factor)
        polynomial = evolute(centres, deadline=deadline, progress=progress)
        if centres.isotropic:
            factors.append(integer_form(factor))
        elif not polynomial.is_constant():
            factors += [found for found in irreducible_factors(polynomial) if found not in factors]
        elif not centres.straight:
            pairs = zip(ring.variables, circle_centre(centres), strict=True)
            points.append(tuple(integer_form(v - c) for v, c in pairs))
    curve = prod(factors, start=integer_form(ring.constant(1)))
    singular = primary_components(System(ring, (surface.polynomial, *gradient(surface.polynomial, 2))))
    points += [component.prime for component in singular if not component.vanishes(curve)]
    components = [DiscriminantComponent((factor,), 1) for factor in factors]
    for point in points:
        if all(point != component.generators for component in components):
            components.append(DiscriminantComponent(point, 2))
    return components
