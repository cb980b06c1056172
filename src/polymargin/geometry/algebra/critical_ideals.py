"""The critical equations of the distance as ideals.

For a hypersurface {b = 0} with metric G and a point v (see `hypersurface`), y is critical if y − v and G∇b are parallel:

    Lagrange form   y − v + λ G∇b = 0,  b = 0          in (y, λ)
    minors form     2-minors of (y − v | G∇b),  b = 0  in y, then saturated by ∇b.

**When they agree.** Where ∇b ≠ 0, λ is a polynomial in y locally (solve one of the equations for it), so both ideals have the
same local rings: the same points with the same multiplicities. Where ∇b = 0 on {b = 0}, the Lagrange form has a solution
only if y = v, so none unless v is a singular point of the hypersurface; the minors form has all singular points, and
saturation removes them. Hence for v outside the singular locus the quotients by the Lagrange ideal and by the saturated ideal
are isomorphic.

**Multiplicities.** The Lagrange solutions of all v together are {b = 0, ∇b ≠ 0} × A¹, mapped to v = y + λG∇b. This is smooth, so
in characteristic zero (and for all but finitely many primes) the fibre over a general v is smooth: every solution is simple. So
the dimension of the quotient is the number of points: the ED degree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from polymargin.geometry.algebra.hypersurface import Hypersurface
from polymargin.geometry.algebra.rings import Ring, gradient

MULTIPLIER = "l"


@dataclass(frozen=True, eq=False)
class System:
    """Polynomials of one ring, all to vanish."""

    ring: Ring
    polynomials: tuple[Any, ...]


def lagrange_system(surface: Hypersurface, point: Sequence[Any]) -> System:
    """y − v + λ G∇b and b, in the variables y and λ; `point` is v as field elements or polynomials."""
    ring = surface.ring.extended(MULTIPLIER)
    equations = lagrange_equations(ring, surface, point)
    return System(ring, tuple(equations))


def lagrange_equations(ring: Ring, surface: Hypersurface, point: Sequence[Any]) -> list[Any]:
    """The same in a larger ring: its variables are y, λ, and whatever the coordinates of the point are made of."""
    multiplier = ring.variables[surface.dimension]
    conormal = [ring.embed(entry) for entry in surface.conormal()]
    equations = [
        variable - coordinate + multiplier * entry
        for variable, coordinate, entry in zip(ring.variables[: surface.dimension], point, conormal, strict=True)
    ]
    return [*equations, ring.embed(surface.polynomial)]


def minors_system(surface: Hypersurface, point: Sequence[Any]) -> System:
    """b and the 2-minors of (y − v | G∇b), in the variables y; not saturated."""
    ring = surface.ring
    offsets = [variable - coordinate for variable, coordinate in zip(ring.variables, point, strict=True)]
    conormal = surface.conormal()
    minors = [offsets[i] * conormal[j] - offsets[j] * conormal[i] for i, j in combinations(range(len(offsets)), 2)]
    return System(ring, (surface.polynomial, *minors))


def lagrange_jacobian(ring: Ring, surface: Hypersurface) -> list[list[Any]]:
    """The Jacobian of the Lagrange equations by (y, λ): [[1 + λ G H, G∇b], [∇bᵀ, 0]] with the Hessian H of b."""
    size = surface.dimension
    multiplier = ring.variables[size]
    rows = []
    for i, entry in enumerate(surface.conormal()):
        row = [int(i == j) + multiplier * ring.embed(slope) for j, slope in enumerate(gradient(entry, size))]
        rows.append([*row, ring.embed(entry)])
    last = [ring.embed(slope) for slope in gradient(surface.polynomial, size)]
    return [*rows, [*last, ring.constant(0)]]
