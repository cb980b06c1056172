"""The graph shares what is equal and folds what is constant."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import polymargin as pm
from polymargin.polynomials import Graph, evaluate, flatten, gradient, hessian, jacobian


def test_equal_expressions_are_one_node() -> None:
    graph = Graph()
    x, y = graph.inputs(2)
    assert (x + y) ** 3 == (y + x) ** 3
    assert x * y + 2 == 2 + y * x
    assert x - x == graph.constant(0)
    assert (2 * x) * (3 * y) == 6 * (x * y)


def test_float_coefficients_are_exact() -> None:
    graph = Graph()
    (x,) = graph.inputs(1)
    program = flatten(graph, [0.1 * x + np.float32(0.1)])
    (value,) = evaluate(program, [Fraction(1)], lift=Fraction)
    assert value == Fraction(0.1) + Fraction(float(np.float32(0.1)))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_coefficients_must_be_finite(bad: float) -> None:
    graph = Graph()
    (x,) = graph.inputs(1)
    with pytest.raises(pm.InputError, match="finite"):
        x * bad


@pytest.mark.parametrize("exponent", [-1, 0.5])
def test_exponents_are_natural_numbers(exponent: float) -> None:
    graph = Graph()
    (x,) = graph.inputs(1)
    with pytest.raises(pm.InputError, match="integer >= 0"):
        x**exponent


def test_degree_counts_inputs_and_not_parameters() -> None:
    graph = Graph()
    x, y = graph.inputs(2)
    (p,) = graph.parameters(1)
    assert graph.degree(p**5 * x**3 * y + x) == 4


def test_derivatives_against_sympy() -> None:
    sympy = pytest.importorskip("sympy")
    graph = Graph()
    inputs = graph.inputs(3)
    (parameter,) = graph.parameters(1)
    symbols = sympy.symbols("x y z")
    p = sympy.Symbol("p")

    def build(x, y, z, q):  # the same formula in both worlds
        inner = (2 * x - y / 3 + 1) ** 3 + q * z**2 * x
        return inner**2 * y - 5 * inner + (x * z - 7) * inner

    expression = build(*inputs, parameter)
    truth = build(*symbols, p)
    values = [Fraction(2, 3), Fraction(-1, 2), Fraction(5, 7)]
    q = Fraction(3, 4)
    substitution = {s: sympy.Rational(v.numerator, v.denominator) for s, v in zip(symbols, values, strict=True)}
    substitution[p] = sympy.Rational(q.numerator, q.denominator)

    def exact(outputs):
        return evaluate(flatten(graph, outputs), values, [q], lift=Fraction)

    def expected(formula):
        value = sympy.nsimplify(formula.subs(substitution))
        return Fraction(int(value.p), int(value.q))

    assert exact(gradient(expression, inputs)) == [expected(sympy.diff(truth, s)) for s in symbols]
    rows = hessian(expression, inputs)
    flat = [entry for row in rows for entry in row]
    assert exact(flat) == [expected(sympy.diff(truth, a, b)) for a in symbols for b in symbols]
    with_parameter = jacobian([expression, expression * inputs[0]], [*inputs, parameter])
    flat = [entry for row in with_parameter for entry in row]
    formulas = [sympy.diff(f, s) for f in (truth, truth * symbols[0]) for s in (*symbols, p)]
    assert exact(flat) == [expected(formula) for formula in formulas]
