"""Primary components of ideals of points, by hand, by symmetry, and against intersection theory."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

import polymargin as pm
from polymargin.geometry.algebra import Ring, System
from polymargin.geometry.algebra.finite_ideals import primary_components
from polymargin.geometry.algebra.rings import gradient
from polymargin.geometry.ed_degrees.multiplicities import critical_points_with_multiplicity

PLANE = Ring(("x1", "x2"))

# Curve, data point, sizes and multiplicities of the groups of critical points (worked out by hand or by symmetry).
CASES: list[tuple[str, tuple[Any, Any], dict[tuple[int, int], int]]] = [
    ("-8*x**2 - 2*x*y + 3*y**2 - 6*x - 2*y", (-2, 0), {(1, 2): 1, (2, 1): 1}),
    ("x**2 + 4*y**2 - 4", (0, 0), {(1, 1): 4}),
    ("x**2 + 4*y**2 - 4", (0, 2), {(1, 1): 2, (2, 1): 1}),
    ("x**2 + 4*y**2 - 4", (0, 3), {(1, 1): 1, (1, 3): 1}),  # a cusp of the evolute
    ("y - x**2", (0, 1), {(1, 1): 1, (2, 1): 1}),
    ("y**2 - x**3", (-1, 0), {(4, 1): 1}),
    ("x*y - 1", (3, 3), {(1, 1): 2, (2, 1): 1}),
    ("x*y*(x + y - 1)", (2, 5), {(1, 1): 3}),
    ("x**4 + y**4 - 1", (0, 0), {(1, 1): 4, (2, 1): 2, (4, 1): 2}),
    ("(y - x**2)*(x - 2)", (0, Fraction(1, 2)), {(1, 1): 1, (1, 3): 1}),
]


@pytest.mark.parametrize(("text", "point", "expected"), CASES, ids=str)
def test_groups_of_critical_points(text: str, point: tuple[Any, Any], expected: dict[tuple[int, int], int]) -> None:
    boundary = pm.Boundary.from_expression(text, "x y")
    found = critical_points_with_multiplicity(boundary, point)
    assert Counter((group.size, group.multiplicity) for group in found.components) == expected
    for x, y in found.real_points:
        assert boundary([x, y]) == pytest.approx(0, abs=1e-12)


def test_paper_primary_components() -> None:
    found = critical_points_with_multiplicity(pm.Boundary.from_expression(CASES[0][0], "x y"), CASES[0][1])
    ideals = {group.multiplicity: [str(p) for p in group.primary] for group in found.components}
    assert ideals[2] == ["3*x1 + x2 + 2", "25*x2^2 - 20*x2 + 4"]
    assert ideals[1] == ["3*x1 - 4*x2 + 1", "25*x2^2 + 4*x2 - 2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y**2 - x**3", ["(x1, x2)"]),
        ("y**2 - x**3 - x**2", ["(x1, x2)"]),
        ("x**2 + y**2 - 1", []),
        ("x + 2*y - 1", []),
        ("x*y*(x + y - 1)", ["(x1 - 1, x2)", "(x1, x2 - 1)", "(x1, x2)"]),
        ("(x - y - 1)*(x + y)*(x + 2*y - 3)", ["(2*x1 - 1, 2*x2 + 1)", "(3*x1 - 5, 3*x2 - 2)", "(x1 + 3, x2 - 3)"]),
        ("(x**2 - 2)*y", ["(x2, x1^2 - 2)"]),
        ("x**4 + y**4 - x*y*(x - y)", ["(x1, x2)"]),  # a triple point
    ],
)
def test_singular_points(text: str, expected: list[str]) -> None:
    x, y = PLANE.variables
    curve = eval(text, {"x": x, "y": y})
    groups = primary_components(System(PLANE, (curve, *gradient(curve, 2))))
    assert sorted(str(group.prime) for group in groups) == expected


def test_a_point_that_is_no_power_of_one_form() -> None:
    """(x², xy, y²) at a conjugate pair: multiplicity three, and no tangent."""
    ring = Ring(("x", "y", "l"))
    x, y, multiplier = ring.variables
    system = System(ring, ((x**2 - 2) ** 2, (y - x) * (x**2 - 2), (y - x) ** 2 + 0 * x, multiplier - x))
    (double,) = primary_components(system, 2)
    assert (double.size, double.multiplicity) == (2, 3)
    assert list(map(str, double.prime)) == ["x - y", "y^2 - 2"]
    root = 2**0.5
    assert double.real_points == ((-root, -root), (root, root))


def test_multiplicities_add_up_to_bezout() -> None:
    """x³ + y³ − 3xy and its shear: nine intersections, four of them at the common node."""
    x, y = PLANE.variables
    first, second = x**3 + y**3 - 3 * x * y, x**3 + y**3 - 3 * x * y + (x - y) ** 2 * (x + 2)
    groups = primary_components(System(PLANE, (first, second)))
    assert sum((group.size or 0) * (group.multiplicity or 0) for group in groups) <= 9
    node = next(group for group in groups if group.rational_point == (0, 0))
    assert node.multiplicity == 4


def test_families_are_refused() -> None:
    x, y = PLANE.variables
    with pytest.raises(pm.InputError, match="infinitely many"):
        primary_components(System(PLANE, (x * y, x * (x - 1))))
