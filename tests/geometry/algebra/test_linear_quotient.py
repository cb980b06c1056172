"""Dimensions of quotients by linear algebra: against Bézout, against msolve, and where there is none."""

from __future__ import annotations

import random

import pytest
from geometry.algebra.engines_here import needs_msolve

import polymargin as pm
from polymargin.boundary import NetworkArchitecture
from polymargin.geometry.algebra import Ring, exact_hypersurface, random_hypersurface
from polymargin.geometry.algebra.critical_ideals import System, lagrange_system
from polymargin.geometry.algebra.linear_quotient import quotient_dimension_modulo
from polymargin.geometry.algebra.msolve import count_solutions

PRIME = 1073741789
RING = Ring(("x", "y", "z"), PRIME)
x, y, z = RING.variables


@pytest.mark.parametrize(
    ("polynomials", "expected"),
    [
        ((x**2 + y - 1, y**3 - z, z**2 + x * y - 5), 12),
        ((x, y, z), 1),
        ((x, y, z, 1 + 0 * x), 0),
        ((x, x - 1, y, z), 0),
        ((x**2, y**2, z**2), 8),  # one point with multiplicity eight
        ((x * y - 1, y * z - 1, x + y + z), 2),
        ((x**2 * y - 1, x * y**2 - 1, z - x), 3),  # x³ = 1 after a fall of degree
        ((x * y - 1, z), None),
        ((x * y, y * z, x * z, x**5), None),
    ],
    ids=str,
)
def test_small_systems(polynomials: tuple, expected: int | None) -> None:
    assert quotient_dimension_modulo(System(RING, polynomials), most_entries=200_000) == expected


def test_a_prime_is_needed() -> None:
    with pytest.raises(pm.InputError, match="modulo a prime"):
        quotient_dimension_modulo(System(Ring(("x",)), Ring(("x",)).variables))


@pytest.mark.parametrize(
    "source", ["x*y*z - 1", "x**2 - y**2*z", "x**4 - y**2*z + x*y*z", NetworkArchitecture((3, 3, 2, 2), 2)], ids=str
)
@needs_msolve
def test_the_same_as_msolve(source: str | NetworkArchitecture) -> None:
    generator = random.Random(3)
    surface = (
        exact_hypersurface(pm.Boundary.from_expression(source), PRIME)
        if isinstance(source, str)
        else random_hypersurface(source, PRIME, generator)
    )
    system = lagrange_system(surface, [surface.ring.random_scalar(generator) for _ in range(3)])
    count = count_solutions(system, timeout=60)
    assert count is not None
    assert quotient_dimension_modulo(system) == count.with_multiplicity == count.distinct
