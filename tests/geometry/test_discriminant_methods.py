"""The ED discriminant by three methods, against each other."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from geometry.algebra.engines_here import needs_singular
from geometry.discriminants import boundary_of, described
from hypothesis import given, settings
from hypothesis import strategies as st
from quadric.samples import sample

from polymargin.geometry.discriminants.ed_discriminant import ed_discriminant

CURVES = [
    "x**2 + 4*y**2 - 4",
    "x**2 + y**2 - 1",
    "x**2 + y**2",
    "y - x**2",
    "x*y",
    "x**2 - 2*y**2",
    "(x + y)**2 - 1",
    "(x + y)**2",
    "2*x - y + 1",
]
CUBICS_AND_QUARTICS = {
    "y**2 - x**3": (4, 0),
    "y**2 - x**3 - x**2": (6, 1),
    "y**2 - x**3 + x + 1": (12, 0),
    "y - x**3": (6, 0),
    "x*y*(x + y - 1)": (0, 3),
    "x*(y - x**2)": (3, 1),
    "(x**2 + y**2 - 1)*(x - 2*y)": (0, 2),
    "x**2*y - 1": (9, 0),
    "x**3 - x*y**2 - 1": (18, 0),
    "y - x**4": (9, 0),
    "y**2 - x**4": (6, 1),
    "x**2*y**2 - 1": (12, 0),
    "(x**2 + y**2)**2 - x": (12, 0),
    "(x**2 + y**2)**2 - 2*(x**2 - y**2)": (6, 1),
    "(x**2 + y**2)*(x - 1)": (2, 0),
    "(x**2 - 2)*(y**2 - 3)": (0, 1),
    "(x**2 + y**2 - 1)*((x - 1)**2 + y**2 - 1)": (0, 3),
    "(y - x**2)*(y - x**2 - 1)": (6, 0),
}
SURFACES = [
    "x**2 + 2*y**2 + 3*z**2 - 1",
    "x**2 + y**2 + 4*z**2 - 4",
    "x**2 + y**2 + z**2 - 4",
    "x**2 + y**2 + z**2",
    "x**2 + y**2 - z**2",
    "x**2 + y**2 - z",
    "x**2 + 2*y**2 - z",
    "x*y - z",
    "x**2 + 2*y**2 - 3*z**2",
    "x*y",
    "(x + y)**2 + 2*(y - z)**2 - 1",
    "2*x*y + 2*y*z + 2*z*x",
]


@needs_singular
@pytest.mark.parametrize("text", CURVES)
def test_conics_three_ways(text: str) -> None:
    quadric, plane, elimination = (
        ed_discriminant(boundary_of(text), method=method) for method in ("quadric", "plane", "elimination")
    )
    assert described(quadric) == described(plane) == described(elimination)


@needs_singular
@pytest.mark.parametrize(("text", "expected"), CUBICS_AND_QUARTICS.items(), ids=str)
def test_curves_two_ways(text: str, expected: tuple[int, int]) -> None:
    """The degree of the evolutes and the number of single points."""
    plane = ed_discriminant(boundary_of(text))
    assert plane.method == "plane"
    assert (plane.degree, sum(c.codimension == 2 for c in plane.components)) == expected
    assert described(plane) == described(ed_discriminant(boundary_of(text), method="elimination"))


@pytest.mark.slow
@needs_singular
@pytest.mark.parametrize("text", ["x**4 + y**4 - 1", "-2*x*y**2 - 3*x**2 + x**3 + 1", "x**3 + y**3 + x - 2*y"])
def test_larger_curves_two_ways(text: str) -> None:
    plane = ed_discriminant(boundary_of(text))
    assert plane.degree == 3 * boundary_of(text).degree * (boundary_of(text).degree - 1)
    assert described(plane) == described(ed_discriminant(boundary_of(text), method="elimination"))


@needs_singular
@pytest.mark.parametrize("text", SURFACES)
def test_quadrics_in_space_two_ways(text: str) -> None:
    boundary = boundary_of(text, "x y z")
    assert described(ed_discriminant(boundary)) == described(ed_discriminant(boundary, method="elimination"))


@needs_singular
@pytest.mark.parametrize("seed", range(6))
def test_planted_quadrics_two_ways(seed: int) -> None:
    boundary = sample(np.random.default_rng(seed + 100), 3).boundary()
    assert described(ed_discriminant(boundary)) == described(ed_discriminant(boundary, method="elimination"))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=6, max_size=6))
def test_random_conics_two_ways(c: list[int]) -> None:
    boundary = boundary_of(f"({c[0]})*x**2 + ({c[1]})*x*y + ({c[2]})*y**2 + ({c[3]})*x + ({c[4]})*y + ({c[5]})")
    if boundary.degree >= 1:
        found = ed_discriminant(boundary, method="quadric")
        assert described(found) == described(ed_discriminant(boundary, method="plane"))


@settings(max_examples=5, deadline=None)
@given(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from([(3, 4), (5, 12), (-4, 3)]))
def test_moving_the_boundary_moves_the_discriminant(a: int, b: int, pair: tuple[int, int]) -> None:
    """A rational rotation and a translation give the same polynomial at the moved points, up to one factor."""
    length = round(np.hypot(*pair))
    c, s = Fraction(pair[0], length), Fraction(pair[1], length)
    x, y = f"(({c})*(x - ({a})) + ({s})*(y - ({b})))", f"(({-s})*(x - ({a})) + ({c})*(y - ({b})))"
    before = ed_discriminant(boundary_of("y**2 - x**3 + x"))
    after = ed_discriminant(boundary_of(f"{y}**2 - {x}**3 + {x}"))
    generator = random.Random(1)
    points = [[Fraction(generator.randrange(-30, 30), 7) for _ in range(2)] for _ in range(5)]
    factors = {after.at([c * u - s * v + a, s * u + c * v + b])[0] / before.at([u, v])[0] for u, v in points}
    assert len(factors) == 1
