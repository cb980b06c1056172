"""Polynomials from text and from SymPy."""

from __future__ import annotations

from fractions import Fraction

import pytest

import polymargin as pm
from polymargin.polynomials import Graph, evaluate, flatten, modulo, parse_polynomial, variable_names


def _value(source: object, **values: Fraction) -> Fraction:
    graph = Graph()
    names = dict(zip(values, graph.inputs(len(values)), strict=True))
    program = flatten(graph, [parse_polynomial(source, graph, names)])
    return evaluate(program, list(values.values()), lift=Fraction)[0]


def test_text() -> None:
    x, y = Fraction(2, 3), Fraction(-5, 7)
    assert _value("-(x + 2*y)**3/4 + 0.1*x^2 - 1e-2", x=x, y=y) == (
        -((x + 2 * y) ** 3) / 4 + Fraction(1, 10) * x**2 - Fraction(1, 100)
    )
    assert _value("7", x=x) == 7


def test_sympy() -> None:
    sympy = pytest.importorskip("sympy")
    x, y = sympy.symbols("x y")
    formula = sympy.Rational(1, 3) * x**2 * y - (x + y) ** 3 + sympy.Float(0.5)
    a, b = Fraction(2), Fraction(3, 5)
    expected = a**2 * b / 3 - (a + b) ** 3 + Fraction(1, 2)
    assert _value(formula, x=a, y=b) == expected
    assert _value(sympy.Poly(formula - sympy.Float(0.5) + x, x, y), x=a, y=b) == expected - Fraction(1, 2) + a
    assert variable_names(formula, None) == ["x", "y"]
    with pytest.raises(pm.InputError, match="not part of a polynomial"):
        _value(sympy.sin(x), x=a)
    with pytest.raises(pm.InputError, match="exponent"):
        _value(1 / x, x=a)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x +", "cannot read"),
        ("x + z", "unknown name 'z'"),
        ("1/x", "division by a variable"),
        ("x/0", "division by zero"),
        ("x**-1", "exponent -1"),
        ("x**0.5", "exponent 1/2"),
        ("x**y", "exponent"),
        ("x**99999", "exponent 99999"),
        ("sin(x)", "not part of a polynomial"),
        ("__import__('os')", "not part of a polynomial"),
        ("x if x else y", "not part of a polynomial"),
        ("(" * 300 + "x" + ")" * 300, "cannot read"),
        ("1j*x", "not part of a polynomial"),
    ],
)
def test_bad_text_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        _value(text, x=Fraction(1), y=Fraction(1))


def test_the_imaginary_unit_is_no_variable_unless_it_is_named() -> None:
    with pytest.raises(pm.InputError, match="may be the imaginary unit"):
        pm.Boundary.from_expression("x**2 + I*y**2 - 1")
    assert pm.Boundary.from_expression("x**2 + I*y**2 - 1", "I x y").dimension == 3
    assert pm.Boundary.from_expression("x**2 + i*y**2 - 1").dimension == 3


def test_variables() -> None:
    assert variable_names("b*a - c", None) == ["a", "b", "c"]
    assert variable_names("x*y", "y, x") == ["y", "x"]
    with pytest.raises(pm.InputError, match="no variable"):
        variable_names("3", None)
    with pytest.raises(pm.InputError, match="each name once"):
        variable_names("x", "x x")


@pytest.mark.parametrize("text", ["x**2 + y = 1 - y", "x**2 + y == 1 - y", "x^2+2*y-1"])
def test_equations_stand_for_the_difference_of_their_sides(text: str) -> None:
    assert _value(text, x=Fraction(3), y=Fraction(1, 2)) == 9


def test_sympy_equations() -> None:
    sympy = pytest.importorskip("sympy")
    x, y = sympy.symbols("x y")
    assert _value(sympy.Eq(x**2 + y, 1 - y), x=Fraction(3), y=Fraction(1, 2)) == 9
    assert variable_names(sympy.Eq(x**2, y), None) == ["x", "y"]
    with pytest.raises(pm.InputError, match="imaginary unit"):
        variable_names(x + sympy.I, None)


@pytest.mark.parametrize(
    "text", ["x = 1 = y", "x < 1", "(x = 1) + 2", "sqrt(x)", "sqrt(0-2)*x", "sqrt(2, 3)*x", "x*sqrt(sqrt(2))"]
)
def test_what_is_no_equation_or_root(text: str) -> None:
    with pytest.raises(pm.InputError):
        _value(text, x=Fraction(1), y=Fraction(1))


def test_roots_are_square_roots_in_every_arithmetic() -> None:
    graph = Graph()
    (x,) = graph.inputs(1)
    names = {"x": x}
    assert parse_polynomial("sqrt(2)*sqrt(2)*x - 2*x", graph, names) == graph.constant(0)
    assert parse_polynomial("sqrt(6)*x", graph, names) == parse_polynomial("sqrt(2)*sqrt(3)*x", graph, names)
    assert parse_polynomial("x/sqrt(2)", graph, names) == parse_polynomial("2**(1/2)*x/2", graph, names)
    assert parse_polynomial("sqrt(4/9)*x", graph, names) == parse_polynomial("2*x/3", graph, names)
    program = flatten(graph, [parse_polynomial("(sqrt(2)*x + sqrt(3))**2", graph, names)])
    assert evaluate(program, [0.5])[0] == pytest.approx((2**0.5 / 2 + 3**0.5) ** 2, rel=1e-15)
    (prime,) = [71]  # 2 = 12², 3 = 28² modulo 71
    value = evaluate(program, [modulo(prime)(Fraction(5))], lift=modulo(prime))[0]
    assert value * value - 2 * 53 * value + (2 * 25 - 3) ** 2 == 0  # its minimal polynomial, for x = 5
    with pytest.raises(pm.InputError, match="no rational number"):
        evaluate(program, [Fraction(1)], lift=Fraction)
