"""Points of plane curves, against Singular's primary decomposition and against intersection theory."""

from __future__ import annotations

from collections import Counter

import flint
import pytest
from geometry.algebra.engines_here import needs_singular

import polymargin as pm
from polymargin.geometry.algebra import Ring, exact_hypersurface
from polymargin.geometry.algebra.critical_ideals import lagrange_system, minors_system
from polymargin.geometry.algebra.number_fields import common_divisor, distinct_roots, reduced, without_roots
from polymargin.geometry.algebra.plane_points import regular_intersections, singular_points
from polymargin.geometry.algebra.rings import gradient
from polymargin.geometry.algebra.singular import primary_decomposition
from polymargin.geometry.algebra.small_bases import reduced_basis

PLANE = Ring(("x1", "x2"))

# Curve, data point, sizes and multiplicities of the groups of critical points (worked out by hand or by symmetry).
CASES = [
    ("-8*x**2 - 2*x*y + 3*y**2 - 6*x - 2*y", (-2, 0), {(1, 2): 1, (2, 1): 1}),
    ("x**2 + 4*y**2 - 4", (0, 0), {(1, 1): 4}),
    ("x**2 + 4*y**2 - 4", (0, 2), {(1, 1): 2, (2, 1): 1}),
    ("x**2 + 4*y**2 - 4", (0, 3), {(1, 1): 1, (1, 3): 1}),  # a cusp of the evolute
    ("y - x**2", (0, 1), {(1, 1): 1, (2, 1): 1}),
    ("y**2 - x**3", (-1, 0), {(4, 1): 1}),
    ("x*y - 1", (3, 3), {(1, 1): 2, (2, 1): 1}),
    ("x*y*(x + y - 1)", (2, 5), {(1, 1): 3}),
    ("x**2*y - y**3 + x - 1", (1, 2), None),
    ("x**4 + y**4 - 1", (0, 0), {(1, 1): 4, (2, 1): 2, (4, 1): 2}),
    ("(y - x**2)*(x - 2)", (0, "1/2"), {(1, 1): 1, (1, 3): 1}),
]


def critical_groups(text: str, point: tuple):
    surface = exact_hypersurface(pm.Boundary.from_expression(text, "x y"))
    data = [flint.fmpq(*map(int, c.split("/"))) if isinstance(c, str) else flint.fmpq(c) for c in point]
    curve, minor = minors_system(surface, data).polynomials
    return surface, data, minor, regular_intersections(PLANE, curve, minor, gradient(curve, 2))


@pytest.mark.parametrize(("text", "point", "expected"), CASES, ids=lambda case: str(case))
def test_groups_of_critical_points(text: str, point: tuple, expected: dict | None) -> None:
    surface, _, minor, groups = critical_groups(text, point)
    for group in groups:
        assert group.annihilates(surface.polynomial)
        assert group.annihilates(minor)
        assert not all(group.annihilates(slope) for slope in gradient(surface.polynomial, 2))
    if expected is not None:
        assert Counter((group.size, group.multiplicity) for group in groups) == expected


@needs_singular
@pytest.mark.parametrize(("text", "point", "expected"), CASES, ids=lambda case: str(case))
def test_singular_finds_the_same(text: str, point: tuple, expected: dict | None) -> None:
    surface, data, _, groups = critical_groups(text, point)
    components = primary_decomposition(lagrange_system(surface, data), drop=1, saturate=(), timeout=60)
    assert Counter((c.size, c.multiplicity) for c in components) == Counter((g.size, g.multiplicity) for g in groups)
    ours = sorted(p for group in groups for p in group.component(PLANE).real_points)
    theirs = sorted(p for component in components for p in component.real_points)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b, abs=1e-13)
    ideals = {frozenset(map(str, c.prime)) for c in components if c.size == 1}
    assert {frozenset(map(str, g.ideal(PLANE))) for g in groups if g.size == 1} == ideals


def test_paper_primary_components() -> None:
    _, _, _, groups = critical_groups(*CASES[0][:2])
    found = {group.multiplicity: [str(p) for p in group.ideal(PLANE, group.multiplicity)] for group in groups}
    assert found[2] == ["3*x1 + x2 + 2", "25*x2^2 - 20*x2 + 4"]
    assert found[1] == ["3*x1 - 4*x2 + 1", "25*x2^2 + 4*x2 - 2"]
    assert {group.multiplicity: group.component(PLANE).rational_point for group in groups}[2] == (
        pytest.approx(-0.8),
        pytest.approx(0.4),
    )


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
    groups = singular_points(PLANE, eval(text, {"x": x, "y": y}))
    assert sorted(str(reduced_basis(group.ideal(PLANE))) for group in groups) == expected


def test_number_field_arithmetic() -> None:
    """Over Q(√2): (z − √2)²(z + 1) and (z − √2)(z − 3)."""
    f = flint.fmpq_poly([-2, 0, 1])
    one, root = flint.fmpq_poly([1]), flint.fmpq_poly([0, 1])

    def product(*roots) -> list:
        result = [one]
        for r in roots:
            result = [a - r * b for a, b in zip([0 * one, *result], [*result, 0 * one], strict=True)]
        return reduced(result, f)

    first, second = product(root, root, -one), product(root, 3 * one)
    assert common_divisor(first, second, f) == [-root, one]
    assert common_divisor(first, product(-root), f) == [one]
    assert distinct_roots(first, f) == product(root, -one)
    assert without_roots(first, second, f) == product(-one)
