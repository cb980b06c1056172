"""Critical points of the distance from a rational point, exactly, with their multiplicities.

At a general point all critical points are simple. On the ED discriminant some merge: the ideal of the critical points then has a
primary component that is smaller than its prime, and the ratio of the two degrees is the multiplicity. Linear algebra over the
rationals finds the components (`algebra.finite_ideals`).

Singular points of the boundary are no solutions of the Lagrange equations and are not listed; if the point u itself is one,
`at_singular_point` says so.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from polymargin.arguments import checked, checked_point
from polymargin.boundary import Boundary
from polymargin.geometry.algebra.components import PrimaryComponent
from polymargin.geometry.algebra.equations import Equations, System, exact_equations
from polymargin.geometry.algebra.finite_ideals import primary_components
from polymargin.geometry.algebra.linear_spaces import kernel
from polymargin.geometry.algebra.plane import minors_of
from polymargin.geometry.algebra.rings import Ring, gradient, integer_form
from polymargin.polynomials import exact


@dataclass(frozen=True, eq=False)
class CriticalMultiplicities:
    """All critical points with finite multiplier of the distance from `point`, in groups.

    components   of the ideal of the critical points, in x1, x2, …
    """

    point: tuple[Fraction, ...]
    components: tuple[PrimaryComponent, ...]
    at_singular_point: bool

    @property
    def merged(self) -> tuple[PrimaryComponent, ...]:
        """Return components in which critical points have merged: multiple points and families."""
        return tuple(component for component in self.components if component.multiplicity != 1)

    @property
    def total(self) -> int | None:
        """Number of critical points counted with multiplicity; None if there are families."""
        if any(component.dimension for component in self.components):
            return None
        return sum((component.multiplicity or 0) * (component.size or 0) for component in self.components)

    @property
    def real_points(self) -> tuple[tuple[float, ...], ...]:
        """Return the different real critical points outside families."""
        return tuple(point for component in self.components for point in component.real_points)


@checked(Boundary)
def critical_points_with_multiplicity(boundary: Boundary, point: Sequence[Any]) -> CriticalMultiplicities:
    """Return the critical points at a rational point, with those that have merged.

    Floats are taken as the dyadic rationals they are; Fractions and integers are exact anyway.

    >>> parabola = Boundary.from_expression("y - x**2", "x y")
    >>> critical_points_with_multiplicity(parabola, [0, Fraction(1, 2)]).components
    (PrimaryComponent(⟨x1^2 - x2, x1*x2, x2^2⟩, points: 1, real: 1, multiplicity: 3),)
    """
    checked_point(point, boundary.dimension)
    surface = exact_equations([boundary])
    data = [surface.ring.scalar(exact(coordinate)) for coordinate in point]
    seen = surface.coordinates(data)
    conditions = (surface.polynomial, *gradient(surface.polynomial, surface.dimension))
    singular = all(condition(*seen) == 0 for condition in conditions)
    components = _components(surface, seen, singular)
    return CriticalMultiplicities(
        point=tuple(exact(coordinate) for coordinate in point),
        components=tuple(_in_inputs(surface, data, seen, component) for component in components),
        at_singular_point=singular,
    )


def _components(surface: Equations, point: Sequence[Any], singular: bool) -> list[PrimaryComponent]:
    """Return the primary components in the variables y.

    By the Lagrange equations in (y, λ); in the plane, and at singular points, by minors, which vanish at singular points, too.
    """
    ring, curve = surface.ring, surface.polynomial
    if surface.dimension > 2 and not singular:
        lagrange = surface.normal_to(1, surface.offsets(point), random.Random(0))
        return primary_components(lagrange, surface.dimension)
    minors, common = minors_of(surface, point), ring.constant(1)
    if surface.dimension == 2:  # components of the curve on which the minor vanishes are families
        common = curve.gcd(minors[0])
    components = []
    for factor, _ in common.factor()[1]:
        ideal = (integer_form(factor),)
        components.append(PrimaryComponent(ideal, ideal, 1))
    rest, slopes = divmod(curve, common)[0], gradient(curve, surface.dimension)
    if not rest.is_constant():
        points = primary_components(System(ring, (rest, *minors)))
        components += [group for group in points if not all(map(group.vanishes, slopes))]
    return components


def _in_inputs(
    surface: Equations, data: Sequence[Any], seen: Sequence[Any], component: PrimaryComponent
) -> PrimaryComponent:
    """Return a component in y = W x as one in x: there x − u = Wᵀ G⁻¹ (y − W u), and x − u has no part orthogonal to the rows."""
    ring = Ring(tuple(f"x{index}" for index in range(1, len(data) + 1)))
    forms = [ring.linear(row, ring.variables) for row in surface.rows.table()]
    offsets = [x - u for x, u in zip(ring.variables, data, strict=True)]
    flat = tuple(integer_form(ring.linear(vector, offsets)) for vector in kernel(surface.rows))

    def pulled_back(generators: tuple[Any, ...]) -> tuple[Any, ...]:
        rational = (surface.ring.context.from_dict(dict(p.to_dict().items())) for p in generators)
        return (*flat, *(integer_form(p.compose(*forms, ctx=ring.context)) for p in rational))

    coordinates = []
    if component.coordinates:
        moved = [y - v for y, v in zip(component.coordinates, seen, strict=True)]
        for row, u in zip((surface.rows.transpose() * surface.metric.inv()).table(), data, strict=True):
            coordinates.append(sum((c * m for c, m in zip(row, moved, strict=True)), flint.fmpq_poly([u])))
    return PrimaryComponent(
        pulled_back(component.primary),
        pulled_back(component.prime),
        component.dimension,
        component.multiplicity,
        component.minimal,
        tuple(coordinates),
    )
