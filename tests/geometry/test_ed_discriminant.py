"""The ED discriminant: the paper's examples, and the object that is returned."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from geometry.algebra.engines_here import needs_singular
from geometry.discriminants import HYPERBOLA, boundary_of

import polymargin as pm
from polymargin.geometry.algebra import OutOfTimeError
from polymargin.geometry.discriminants.ed_discriminant import ed_discriminant
from polymargin.geometry.ed_degrees.multiplicities import critical_points_with_multiplicity

LINES = "(y - 2*x - 1)*(4*x + 3*y + 3)"
PRINTED = (
    "27*u1^6 + 54*u1^5*u2 - 180*u1^4*u2^2 - 280*u1^3*u2^3 + 480*u1^2*u2^4 + 384*u1*u2^5 - 512*u2^6 + 54*u1^5"
    " + 180*u1^4*u2 - 120*u1^3*u2^2 - 720*u1^2*u2^3 + 768*u2^5 - 126*u1^4 + 582*u1^3*u2 - 2409*u1^2*u2^2"
    " - 402*u1*u2^3 - 1371*u2^4 - 334*u1^3 + 1566*u1^2*u2 - 1878*u1*u2^2 + 808*u2^3 - 132*u1^2 + 1152*u1*u2"
    " - 1218*u2^2 - 12*u1 + 516*u2 - 152"
)
METHODS = ["quadric", "plane", pytest.param("elimination", marks=needs_singular)]


@pytest.mark.parametrize("method", METHODS)
def test_first_example(method: str) -> None:
    layers = ([[1.0, 2.0], [3.0, 1.0]], [0.0, 1.0]), ([[2.0, 1.0], [1.0, 2.0]], [2.0, 1.0])
    boundary = pm.Boundary.from_network(pm.PolynomialNetwork(layers, degree=2), 0, 1)
    found = ed_discriminant(boundary, method=method)
    assert [str(generator) for generator in found.generators] == [PRINTED]
    assert (found.degree, found.components[0].codimension, found.method) == (6, 1, method)
    assert [found.sign(point) for point in ((0, 0), (10, 0), (-10, 0), (-2, 0))] == [-1, 1, 1, 0]


@pytest.mark.parametrize("method", METHODS)
def test_second_example(method: str) -> None:
    layers = ([[1.0, 2.0], [3.0, 1.0]], [1.0, 2.0]), ([[2.0, 1.0], [1.0, 2.0]], [1.0, 1.0])
    boundary = pm.Boundary.from_network(pm.PolynomialNetwork(layers, degree=2), 0, 1)
    found = ed_discriminant(boundary, method=method)
    assert [str(generator) for generator in found.generators] == ["5*u1 + 3", "5*u2 + 1"]
    assert (found.degree, found.components[0].codimension, found.factors) == (0, 2, ())
    assert found.contains([Fraction(-3, 5), Fraction(-1, 5)])
    assert not found.contains([-0.6, -0.2])  # the doubles next to it
    assert found.latex() == r"\langle 5 u_{1} + 3, 5 u_{2} + 1 \rangle"


def test_merging_at_a_point_of_the_curve() -> None:
    found = critical_points_with_multiplicity(boundary_of(HYPERBOLA), [-2, 0])
    (double,) = found.merged
    assert (double.multiplicity, double.size, double.rational_point) == (2, 1, (Fraction(-4, 5), Fraction(2, 5)))
    assert [str(p) for p in double.primary] == ["3*x1 + x2 + 2", "25*x2^2 - 20*x2 + 4"]
    assert (found.total, len(found.real_points), found.at_singular_point) == (4, 3, False)
    at_node = critical_points_with_multiplicity(boundary_of(LINES), [Fraction(-3, 5), Fraction(-1, 5)])
    assert at_node.at_singular_point
    assert at_node.components == ()


def test_forms_of_the_result() -> None:
    sympy = pytest.importorskip("sympy")
    found = ed_discriminant(boundary_of("y - x**2"))
    assert str(found.generators[0]) == "16*u2^3 - 27*u1^2 - 24*u2^2 + 12*u2 - 2"
    assert found.latex() == "- 27 u_{1}^{2} + 16 u_{2}^{3} - 24 u_{2}^{2} + 12 u_{2} - 2"
    u1, u2 = sympy.symbols("u1 u2")
    (expression,) = found.sympy()
    assert sympy.expand(expression - (2 * (2 * u2 - 1) ** 3 - 27 * u1**2)) == 0
    assert found.variables == ("u1", "u2")
    assert "hypersurface of degree 3" in repr(found)


def test_values_at_points() -> None:
    found = ed_discriminant(boundary_of("y - x**2"))
    points = np.random.default_rng(0).normal(size=(20, 2))
    values = found(points)
    for point, value in zip(points, values, strict=True):
        (exact,) = found.at(point)
        assert value == pytest.approx(float(exact), rel=1e-12, abs=1e-12)
        assert found.sign(point) == (exact > 0) - (exact < 0)
    assert found([0.0, 0.5]) == 0.0
    assert found.contains([0, Fraction(1, 2)])
    assert found.factors == (found.polynomial,)
    for wrong in ([1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(pm.InputError, match="expected"):
            found.at(wrong)
        with pytest.raises(pm.InputError, match="expected"):
            found(wrong)


def test_pieces_of_different_size() -> None:
    found = ed_discriminant(boundary_of("x**2 + y**2 + 4*z**2 - 4", "x y z"))
    assert [component.codimension for component in found.components] == [1, 2]
    assert [str(g) for g in found.components[1].generators] == ["u1", "u2"]
    assert repr(found).startswith("EDDiscriminant(hypersurface of degree 6 and 1 smaller piece, ")
    assert found.contains([0, 0, 7])  # the axis
    assert found.sign([0, 0, 7]) == 0
    assert [generator.total_degree() for generator in found.generators] == [7, 7]


def test_empty() -> None:
    for text in ("x + 2*y - 1", "(x - y)**2 - 1", "(x - y)**2"):
        found = ed_discriminant(boundary_of(text))
        assert (repr(found)[:20], found.degree, found.components) == ("EDDiscriminant(empty", 0, ())
        assert [str(g) for g in found.generators] == ["1"]
        assert found.sign([0, 0]) == 1


def test_a_network_with_three_inputs_and_two_neurons() -> None:
    """The discriminant in the inputs is that of the plane, pulled back: constant along what the neurons do not see."""
    layers = ([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]], [1.0, -1.0]), ([[1.0, 2.0], [0.0, 0.0]], [1.0, 0.0])
    boundary = pm.Boundary.from_network(pm.PolynomialNetwork(layers, degree=3), 0, 1)
    found = ed_discriminant(boundary)
    assert (found.method, found.degree, len(found.variables)) == ("plane", 18, 3)
    u = [Fraction(1, 3), Fraction(-2), Fraction(5, 7)]
    moved = [x + 3 * unseen for x, unseen in zip(u, (2, -1, 1), strict=True)]
    assert found.at(moved) == found.at(u) != (0,)


def test_refusals() -> None:
    with pytest.raises(pm.InputError, match="method 'groebner'"):
        ed_discriminant(boundary_of("x*y - 1"), method="groebner")
    with pytest.raises(pm.InputError, match="degree 3"):
        ed_discriminant(boundary_of("x**3 - y"), method="quadric")
    with pytest.raises(pm.InputError, match="3 variables"):
        ed_discriminant(boundary_of("x**2 + 2*y**2 + 3*z**2 - 1", "x y z"), method="plane")
    six = boundary_of("a**2 + 2*b**2 + 3*c**2 + 4*d**2 + 5*e**2 + 6*f**2 - 1", "a b c d e f")
    with pytest.raises(pm.InputError, match="written out for at most 3"):
        ed_discriminant(six, method="quadric")
    with pytest.raises(pm.InputError, match="up to 1,562,275 terms"):
        ed_discriminant(boundary_of("(a + b + c + d)**3 + 2*(e + f + g - h)**3 - 1", "a b c d e f g h"))
    with pytest.raises(pm.InputError, match="constant"):
        ed_discriminant(boundary_of("x - x + 2"))


@pytest.mark.parametrize(
    ("text", "names", "method"),
    [
        ("x**3 + 2*y**3 - x*y + x**2 - 2*y + 1", "x y", "plane"),
        pytest.param("x**3 + 2*y**3 - x*y + x**2 - 2*y + 1", "x y", "elimination", marks=needs_singular),
    ],
)
def test_out_of_time(text: str, names: str, method: str) -> None:
    with pytest.raises(OutOfTimeError, match="timeout="):
        ed_discriminant(boundary_of(text, names), method=method, timeout=1e-9)
