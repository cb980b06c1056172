"""Expressions with roots and parameters, and what comes out: SymPy, LaTeX, polynomials in the parameters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.standing import Standing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x**2/sqrt(2) + sqrt(2)*y**2/2 - 1", 2),
        ("sqrt(2)*x**2 + y**2 - 1", 4),
        ("(x + sqrt(2)*y)*(x - sqrt(2)*y) - 1", 4),
        ("sqrt(2)*x**3 + y**3 - x*y - 1", 9),
        ("(x**2 + y**2)**2 - sqrt(3)*(x**2 - y**2)", 6),
        ("(sqrt(3)*x + y)**3 + x - 1", 5),
    ],
)
def test_ed_degrees_with_roots(text: str, expected: int) -> None:
    boundary = pm.Boundary.from_expression(text)
    found = pm.ed_degree(boundary, cache=False)
    assert (int(found), found.standing) == (expected, Standing.NUMERICAL)
    assert int(pm.ed_degree(boundary, method="symbolic")) == expected


def test_critical_points_with_roots() -> None:
    found = pm.critical_points(pm.Boundary.from_expression("x**2 + y**2 - sqrt(2)"), [3.0, 4.0], cache=False)
    assert np.allclose(found.distances, [5 - 2**0.25, 5 + 2**0.25], rtol=1e-14)


def test_a_polynomial_of_degree_two_that_is_linear() -> None:
    assert pm.Boundary.from_expression("sqrt(8)*x**2 - 2*sqrt(2)*x**2 + y").degree == 1


def test_exact_answers_refuse_roots() -> None:
    boundary = pm.Boundary.from_expression("sqrt(2)*x**2 + y**3 - 1")
    with pytest.raises(pm.InputError, match="no rational number"):
        pm.ed_discriminant(boundary)
    with pytest.raises(pm.InputError, match="no rational number"):
        boundary.exact_value([Fraction(1), Fraction(2)])


def test_sympy_and_back() -> None:
    sympy = pytest.importorskip("sympy")
    text = "(x + y/3)**2*(x - 2) - sqrt(2)*y + 1"
    boundary = pm.Boundary.from_expression(text)
    assert sympy.expand(boundary.sympy() - sympy.sympify(text)) == 0
    again = pm.Boundary.from_expression(boundary.sympy())
    assert again([0.3, 0.7]) == pytest.approx(boundary([0.3, 0.7]), rel=1e-14)


def test_networks_as_sympy() -> None:
    pytest.importorskip("sympy")
    boundary = pm.Boundary.from_network(random_network([2, 2, 2], degree=2, seed=1), 0, 1)
    value = boundary.sympy().subs({"x1": Fraction(1, 3), "x2": Fraction(-2, 5)})
    assert Fraction(int(value.p), int(value.q)) == boundary.exact_value([Fraction(1, 3), Fraction(-2, 5)])
    assert boundary._repr_latex_() is None


def test_latex() -> None:
    pytest.importorskip("sympy")
    assert pm.Boundary.from_expression("x**2 = sqrt(2)")._repr_latex_() == r"$x^{2} - \sqrt{2} = 0$"


def test_parameters_over_a_grid() -> None:
    family = pm.Boundary.from_expression("a*x**2 + b*y**2 - 1", parameters="a b")
    assert (family.inputs, family.parameters) == (("x", "y"), ("a", "b"))
    degrees = {(a["a"], a["b"]): int(pm.ed_degree(boundary)) for a, boundary in family.over(a=[0, 1, 4], b=[1, -1])}
    assert degrees == {(0, 1): 2, (0, -1): 2, (1, 1): 2, (1, -1): 4, (4, 1): 4, (4, -1): 4}
    assert family.at(a="1/3", b=2).exact_value([Fraction(3), Fraction(1)]) == 4


def test_the_discriminant_of_a_family_vanishes_where_the_ed_degree_drops() -> None:
    family = pm.Boundary.from_expression("a*x**2 + 2*x*y + b*y**2 + x - c", parameters="a b c")
    found = pm.parameter_discriminant(family)
    for values, boundary in family.over(a=[0, 1, 2], b=[-1, 1, 2], c=[Fraction(-1, 4), 0, 1]):
        stratum = pm.parameter_discriminant(boundary)
        assert found.at(**values) == (stratum.rank_factor, stratum.singular_factor, stratum.eigenvalue_factor)
        assert (stratum.ed_degree == 4) == (0 not in found.at(**values))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a*x - 1", {"parameters": "a x"}, "needs an input"),
        ("a*x - 1", {"parameters": "a", "variables": "a x"}, "not both"),
        ("a*x + b", {"parameters": "a", "variables": "x"}, "unknown name"),
    ],
)
def test_refused_families(text: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        pm.Boundary.from_expression(text, **options)


def test_values_for_other_parameters_are_refused() -> None:
    family = pm.Boundary.from_expression("a*x**2 - 1", parameters="a")
    with pytest.raises(pm.InputError, match="expected one for each of a"):
        family.at(b=1)
    with pytest.raises(pm.InputError, match="quadrics"):
        pm.parameter_discriminant(pm.Boundary.from_expression("a*x**3 - 1", parameters="a"))
