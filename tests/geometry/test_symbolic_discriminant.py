"""Polynomials in the weights, against the numbers and against the paper's formulas."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.errors import MissingExtraError
from polymargin.geometry import parameter_discriminant, symbolic_parameter_discriminant

sympy = pytest.importorskip("sympy")


@pytest.mark.parametrize(
    "widths", [(1, 1, 2), (1, 3, 2), (2, 1, 2), (2, 2, 2), (2, 2, 3), (2, 3, 2), (3, 3, 2)], ids=str
)
def test_factors_at_a_network(widths: tuple[int, int, int]) -> None:
    delta = symbolic_parameter_discriminant(widths, 1, 0, factored=widths[0] * widths[1] < 6)
    for seed in range(2):
        network = random_network(list(widths), 2, seed)
        exact = parameter_discriminant(network, 1, 0, exact=True)
        expected = [exact.rank_factor, exact.singular_factor, exact.eigenvalue_factor]
        assert list(delta.at(network)) == [sympy.Rational(f.numerator, f.denominator) for f in expected]


def test_two_inputs_two_neurons() -> None:
    """Derived coefficients; the paper's printed d has a slip in its second term."""
    delta = symbolic_parameter_discriminant((2, 2, 2))
    s = {str(symbol): symbol for symbol in delta.parameters}
    assert len(delta.parameters) == 12
    v1, v2 = s["w2_11"] - s["w2_21"], s["w2_12"] - s["w2_22"]
    a = s["w1_11"] ** 2 * v1 + s["w1_21"] ** 2 * v2
    b = 2 * s["w1_11"] * s["w1_12"] * v1 + 2 * s["w1_21"] * s["w1_22"] * v2
    c = s["w1_12"] ** 2 * v1 + s["w1_22"] ** 2 * v2
    d = 2 * s["w1_11"] * s["b1_1"] * v1 + 2 * s["w1_21"] * s["b1_2"] * v2
    printed = 2 * s["w1_11"] * s["b1_1"] * v1 + 2 * s["w1_21"] * (s["w2_12"] * s["b1_2"] - s["w2_22"] * s["b2_1"])
    assert sympy.expand(delta.matrix[0, 0] - a) == 0
    assert sympy.expand(2 * delta.matrix[0, 1] - b) == 0
    assert sympy.expand(delta.matrix[1, 1] - c) == 0
    assert sympy.expand(delta.linear[0] - d) == 0
    assert sympy.expand(delta.linear[0] - printed) != 0
    assert sympy.expand(delta.eigenvalue_factor - (a - c) ** 2 - b**2) == 0
    square = (s["w1_11"] * s["w1_22"] - s["w1_12"] * s["w1_21"]) ** 2
    assert sympy.expand(delta.rank_factor - v1 * v2 * square) == 0
    assert sympy.expand(delta.singular_factor - delta.rank_factor * (s["b2_1"] - s["b2_2"])) == 0


def test_fewer_neurons_than_inputs() -> None:
    delta = symbolic_parameter_discriminant((2, 1, 2))
    assert (delta.rank_factor, delta.singular_factor) == (0, 0)
    assert delta.value == 0
    assert delta.eigenvalue_factor != 0


def test_without_biases() -> None:
    delta = symbolic_parameter_discriminant((2, 2, 2), biases=False)
    assert delta.singular_factor == 0
    assert not any(str(symbol).startswith("b") for symbol in delta.parameters)
    network = pm.PolynomialNetwork([np.eye(2), np.array([[1.0, 2.0], [0.0, 0.0]])], degree=2)
    assert delta.at(network) == (2, 0, 1)
    with pytest.raises(pm.InputError, match="has biases"):
        delta.at(random_network([2, 2, 2], 2, 0))


@pytest.mark.parametrize(
    ("widths", "pair", "sentence"),
    [
        ((2, 2), (0, 1), "expected inputs"),
        ((4, 4, 2), (0, 1), "at most 3"),
        ((2, 2, 2), (0, 2), "two different classes"),
    ],
)
def test_refusals(widths: tuple[int, ...], pair: tuple[int, int], sentence: str) -> None:
    with pytest.raises(pm.InputError, match=sentence):
        symbolic_parameter_discriminant(widths, *pair)
    with pytest.raises(pm.InputError, match="expected widths"):
        symbolic_parameter_discriminant((1, 1, 2)).at(random_network([2, 2, 2], 2, 0))


def test_without_sympy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(MissingExtraError, match="pip install sympy"):
        symbolic_parameter_discriminant((2, 2, 2))
