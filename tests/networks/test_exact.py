"""Exact logits in fixed point against plain Fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_network

import polymargin as pm
from polymargin.networks.attention import random_attention
from polymargin.networks.exact import integers


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e30, max_value=1e30), min_size=1))
def test_integers_are_the_doubles(values: list[float]) -> None:
    whole, exponent = integers(np.array(values))
    assert [Fraction(i, 1 << exponent) for i in whole] == [Fraction(v) for v in values]


@pytest.mark.parametrize(("widths", "degree"), [((3, 4, 2), 2), ((4, 3, 5, 3), 3), ((2, 2), 1)])
def test_logits_are_those_of_fractions(widths: tuple[int, ...], degree: int) -> None:
    network = random_network(widths, degree, 1)
    point = np.random.default_rng(0).normal(size=widths[0]) * 1e-3
    expected = network.logits(np.array([Fraction(v) for v in point.tolist()], dtype=object))
    assert network.exact_logits(point) == list(expected)
    between = np.array([Fraction(v) * Fraction(1.1) for v in point.tolist()], dtype=object)  # no doubles
    assert network.exact_logits(between) == list(network.logits(between))


def test_zeros_are_left_out() -> None:
    """Rows with the same zeros, with zeros of their own, and without anything else."""
    generator = np.random.default_rng(2)
    first, second = generator.normal(size=(9, 6)), generator.normal(size=(5, 9))
    first[:4, [0, 3]] = first[4:6, 1:] = first[6] = 0.0
    second[generator.random(size=second.shape) < 0.5] = 0.0
    network = pm.PolynomialNetwork([first, (second, generator.normal(size=5)), generator.normal(size=(2, 5))], degree=2)
    point = generator.normal(size=6)
    expected = network.logits(np.array([Fraction(v) for v in point.tolist()], dtype=object))
    assert network.exact_logits(point) == list(expected)


def test_other_networks_take_exact_points_too() -> None:
    generator = np.random.default_rng(1)
    gates = pm.pi_net([generator.normal(size=(3, 3)) for _ in range(3)], generator.normal(size=(2, 3)))
    point = np.array([Fraction(1, 2), Fraction(1, 1 << 80), Fraction(-3)], dtype=object)
    for network in (gates, random_attention(1, 3, 2, 2, seed=4)):
        assert network.exact_logits(point) == list(network.logits(point))


def test_constant_and_tiny_numbers() -> None:
    network = pm.PolynomialNetwork(
        [np.diag([1e-300, 1e300]), (np.eye(2), np.array([0.0, 3.0]))], activations=[[0.5, 0.0, 2.0]]
    )
    first, second = network.exact_logits([1.0, 2.0])
    assert first == Fraction(1, 2) + 2 * Fraction(1e-300) ** 2
    assert second == Fraction(7, 2) + 8 * Fraction(1e300) ** 2
    flat = pm.PolynomialNetwork([np.zeros((2, 2)), np.eye(2)], activations=[[0.25]])
    assert flat.exact_logits([3.0, 4.0]) == [Fraction(1, 4)] * 2
