"""Dimensions of quotients by linear algebra: against Bézout, against msolve, and where there is none."""

from __future__ import annotations

import random

import pytest
from geometry.algebra.engines_here import needs_msolve

import polymargin as pm
from polymargin.boundary import NetworkArchitecture
from polymargin.geometry.algebra import Ring, System, exact_equations, random_equations
from polymargin.geometry.algebra.counting import msolve_count
from polymargin.geometry.algebra.linear_quotient import quotient, quotient_dimension_modulo

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


def test_multiplication_over_the_rationals() -> None:
    """x³ = 2 and y = x² / 3: the matrices commute, satisfy the equations, and have the traces of their eigenvalues."""
    ring = Ring(("x", "y"))
    x, y = ring.variables
    found = quotient(System(ring, (x**3 - 2, 3 * y - x**2)))
    assert found is not None
    X, Y = found.multiplication(0), found.multiplication(1)
    assert len(found) == 3
    assert X * Y == Y * X
    assert (X**3).table() == (X**0 * 2).table()
    assert Y * 3 == X**2
    assert str(X.charpoly()) == "x^3 + (-2)"


@pytest.mark.parametrize(
    "source", ["x*y*z - 1", "x**2 - y**2*z", "x**4 - y**2*z + x*y*z", NetworkArchitecture((3, 3, 2, 2), 2)], ids=str
)
@needs_msolve
def test_the_same_as_msolve(source: str | NetworkArchitecture) -> None:
    generator = random.Random(3)
    surface = (
        exact_equations([pm.Boundary.from_expression(source)], PRIME)
        if isinstance(source, str)
        else random_equations(source, PRIME, generator)
    )
    system = surface.normal_to(1, surface.offsets(surface.random_vector(generator)), generator)
    assert quotient_dimension_modulo(system) == msolve_count(system, timeout=60)
