"""Metrics: weights and matrices, against coordinates in which they are Euclidean."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import polymargin as pm
from polymargin.boundary import AttentionArchitecture, bombieri_weyl, in_metric
from polymargin.geometry import Plane, Variety, polar_degrees
from polymargin.standing import Standing

TEXTS = ["x**2 + 4*y**2 - 4", "y - x**2", "x**3 + y**3 + x*y - 1", "(x + y)**3 + x - 2", "x**2*y - y**3 + x - 1"]


@pytest.mark.parametrize("text", TEXTS)
def test_square_weights_are_a_change_of_units(text: str) -> None:
    """With weights 4 and 9 the distance is Euclidean in X = 2x, Y = 3y."""
    stretched = text.replace("x", "(X/2)").replace("y", "(Y/3)")
    weighted, plain = pm.Boundary.from_expression(text), pm.Boundary.from_expression(stretched)
    u = np.array([0.4, 1.7])
    found = pm.critical_points(weighted, u, metric=[4, 9], cache=False)
    expected = pm.critical_points(plain, u * [2, 3], cache=False)
    assert found.audit.complete
    assert len(found) == len(expected)
    assert np.allclose(found.distances[found.real], expected.distances[expected.real], rtol=1e-9)
    assert int(pm.ed_degree(weighted, metric=[4, 9], cache=False)) == int(pm.ed_degree(plain, cache=False))


def test_critical_points_obey_the_equations_of_a_full_matrix() -> None:
    boundary = pm.Boundary.from_expression("x**3 + y**2*z - z**2 + x*y - 1")
    matrix, u = np.array([[2.0, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 3]]), np.array([0.3, -0.4, 1.1])
    found = pm.critical_points(boundary, u, metric=matrix, cache=False)
    assert found.audit.complete
    assert found.real.any()
    for point, multiplier, distance in zip(found.points, found.multipliers, found.distances, strict=True):
        if distance < np.inf:
            step = point.real - u
            assert np.abs(matrix @ step + multiplier.real * boundary.gradient(point.real)).max() < 1e-9
            assert distance == pytest.approx(sqrt(step @ matrix @ step), rel=1e-10)


@pytest.mark.parametrize(
    ("text", "metric", "expected", "standing"),
    [
        ("x**2 + y**2 - 1", [1, 4], 4, Standing.CERTIFIED),
        ("x**2 + 4*y**2 - 1", [1, 4], 2, Standing.CERTIFIED),
        ("x**2 + 4*y**2 - 1", [Fraction(1, 3), Fraction(4, 3)], 2, Standing.CERTIFIED),
        ("x**2 + x*y + y**2 - 1", [[2, 1], [1, 2]], 2, Standing.CERTIFIED),
        ("(x**2 + 2*y**2)**2 - x**2 + y**2", None, 10, Standing.NUMERICAL),
        ("(x**2 + 2*y**2)**2 - x**2 + y**2", [1, 2], 6, Standing.NUMERICAL),
        ("(x**2 + 2*y**2)**2 - x**2 + y**2", "generic", 10, Standing.NUMERICAL),
        ("x + 2*y - 3", [1, 4], 1, Standing.CERTIFIED),
    ],
    ids=str,
)
def test_ed_degrees(text: str, metric: object, expected: int, standing: Standing) -> None:
    found = pm.ed_degree(pm.Boundary.from_expression(text), metric=metric, cache=False)
    assert (int(found), found.standing) == (expected, standing)


def test_irrational_weights() -> None:
    """x² + √2 y² = 1 is a circle in the metric (1, √2), and in no other with rational weights."""
    curve = pm.Boundary.from_expression("x**2 + sqrt(2)*y**2 - 1")
    assert int(pm.ed_degree(curve, metric=[1, "sqrt(2)"], cache=False)) == 2
    assert int(pm.ed_degree(curve, metric=["1 + sqrt(2)", "2 + sqrt(2)"], cache=False)) == 2
    assert int(pm.ed_degree(curve, metric=[1, 1.4142135623730951], cache=False)) == 4
    found = pm.critical_points(
        pm.Boundary.from_expression("x**3 + y**3 - 2*x*y - 1"), [0.5, 2.0], metric=[1, "sqrt(3)"], cache=False
    )
    nearest = found.points[0].real - [0.5, 2.0]
    assert found.distances[0] == pytest.approx(sqrt(nearest[0] ** 2 + sqrt(3) * nearest[1] ** 2), rel=1e-12)
    cubic = Variety(["a*c - b**2", "b*d - c**2", "a*d - b*c"])
    assert int(pm.ed_degree(cubic, metric=["sqrt(2)", "3*sqrt(2)", "3*sqrt(2)", "sqrt(2)"])) == 3
    assert (
        len(cubic.critical_points([1.0, 0.5, 0.2, 3.0], metric=["sqrt(2)", "3*sqrt(2)", "3*sqrt(2)", "sqrt(2)"])) == 3
    )
    with pytest.raises(pm.InputError, match="irrational"):
        pm.critical_points(pm.Boundary.from_expression("x + y - 1"), [0.0, 0.0], metric=[1, "sqrt(2)"])


def test_margins_refuse_a_boundary_with_a_metric() -> None:
    measured = in_metric(pm.Boundary.from_expression("x**2 + y**2 - 1"), [1, 4])
    with pytest.raises(pm.InputError, match="metric of its own"):
        pm.margin(measured, [0.3, 0.1])


def test_the_foot_on_a_line() -> None:
    found = pm.critical_points(pm.Boundary.from_expression("x + 2*y - 3"), [0.0, 0.0], metric=[1, 4])
    assert np.allclose(found.points, [[1.5, 0.75]])
    assert found.distances[0] == pytest.approx(sqrt(4.5))


def test_the_discriminant_of_an_ellipse_that_is_a_circle() -> None:
    found = pm.ed_discriminant(pm.Boundary.from_expression("x**2 + 4*y**2 - 4"), metric=[1, 4])
    assert [str(generator) for generator in found.generators] == ["u1", "u2"]  # the centre


def test_discriminants_of_stretched_curves() -> None:
    weighted = pm.ed_discriminant(pm.Boundary.from_expression("y - x**2", "x y"), metric=[4, 9]).generators
    plain = pm.ed_discriminant(pm.Boundary.from_expression("y/3 - (x/2)**2", "x y")).generators
    for point in ([1, 2], [-3, 5], [7, 1]):
        values = [generators[0](point[0] * a, point[1] * b) for generators, a, b in ((weighted, 1, 1), (plain, 2, 3))]
        assert values[0] * plain[0](2, 3) == values[1] * weighted[0](1, 1)


def test_chambers_of_a_stretched_curve() -> None:
    plane = Plane.of_two_inputs((-2.0, 2.0, -2.0, 2.0))
    boundary = pm.Boundary.from_expression("x**2 + y**2 - 1")
    assert set(pm.chambers(boundary, plane, 200, metric=[1, 4], cache=False).shares()) == {2, 4}


def test_networks_have_the_same_ed_degree_in_every_metric() -> None:
    architecture = pm.NetworkArchitecture((3, 3, 2), 3)
    assert int(pm.ed_degree(architecture, metric=[1, 2, 7])) == int(pm.ed_degree(architecture))


@pytest.mark.parametrize(("sizes", "unit", "generic"), [((2, 2, 1, 1), 17, 21), ((1, 2, 1, 1), 9, 9)], ids=str)
def test_attention(sizes: tuple[int, int, int, int], unit: int, generic: int) -> None:
    architecture = AttentionArchitecture(*sizes)
    assert int(pm.ed_degree(architecture, metric=[1] * architecture.inputs)) == unit
    assert int(pm.ed_degree(architecture, metric="generic")) == generic == sum(polar_degrees(architecture))


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ([1, -1], "eigenvalues"),
        ([1], "expected 2"),
        ([[1, 2], [0, 1]], "symmetric"),
        ([[1, 2], [2, 1]], "eigenvalues"),
        ("unit", "expected weights"),
        ([1, 1e-30], "eigenvalues"),
        ([[1, 0], [0]], "shape"),
        ([1, "one"], "unknown name"),
        ([1, 1j], "real number"),
        ([1, float("nan")], "finite"),
    ],
    ids=str,
)
def test_refused(metric: object, message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        in_metric(pm.Boundary.from_expression("x**2 + y**2 - 1"), metric)


def test_weights_of_symmetric_tensors_sum_to_the_number_of_entries() -> None:
    assert bombieri_weyl(2, 4) == [1, 4, 6, 4, 1]
    assert all(sum(bombieri_weyl(n, d)) == n**d for n in (1, 2, 3) for d in (1, 2, 3, 4))
