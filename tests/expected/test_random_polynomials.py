"""Coefficients are drawn from the law that the kernel implies; real zeros are counted right."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import polymargin as pm
from polymargin import _core
from polymargin.expected import ShallowEnsemble, ShallowKernel
from polymargin.expected.random_polynomials import monomials, multinomial
from polymargin.expected.real_zeros import count_real_zeros, count_real_zeros_of


def double_factorial(odd: int) -> int:
    return math.prod(range(odd, 0, -2))


def moment_covariance(dimension: int, degree: int) -> np.ndarray:
    """Covariance of the coefficients of a(w·x + b)^d from the moments of normal variables, in exact arithmetic."""
    exponents = monomials(dimension, degree)
    total = double_factorial(2 * degree - 1)
    rows = []
    for e in exponents:
        row = []
        for f in exponents:
            powers = [a + b for a, b in zip(e, f, strict=True)] + [2 * degree - sum(e) - sum(f)]
            value = Fraction(0)
            if all(power % 2 == 0 for power in powers):
                pairs = math.prod(double_factorial(power - 1) for power in powers)
                value = Fraction(multinomial(degree, e) * multinomial(degree, f) * pairs, total)
                value /= Fraction(dimension) ** (sum(powers[:-1]) // 2)
            row.append(float(value))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize(("dimension", "degree"), [(1, 1), (1, 9), (2, 4), (3, 3), (4, 2)])
def test_covariance_of_the_coefficients(dimension: int, degree: int) -> None:
    root = ShallowEnsemble(dimension, degree).limit.root
    assert root @ root.T == pytest.approx(moment_covariance(dimension, degree), rel=1e-12, abs=1e-13)


def test_covariance_of_the_polynomial_is_the_kernel() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 5, 2))
    polynomial = ShallowEnsemble(2, 4).limit
    left, right = (np.prod(points[:, None, :] ** polynomial.exponents, axis=2) @ polynomial.root for points in (x, y))
    # The polynomial is divided by √(2d−1)!!.
    assert (left * right).sum(axis=1) * double_factorial(7) == pytest.approx(ShallowKernel(2, 4)(x, y), rel=1e-11)


def test_finite_networks_are_expanded() -> None:
    ensemble = ShallowEnsemble(2, 3, width=5)
    coefficients = ensemble.sample(4, np.random.default_rng(2))
    units = np.random.default_rng(2).standard_normal((4, 5, 4))
    x = np.array([0.7, -1.2])
    hidden = (units[..., 2:] / math.sqrt(2)) @ x + units[..., 1]
    truth = (units[..., 0] * hidden**3).sum(axis=1) / math.sqrt(5 * 15)
    powers = np.prod(x ** np.array(ensemble.exponents), axis=1)
    assert coefficients @ powers == pytest.approx(truth, rel=1e-12)


def test_narrow_networks_are_refused() -> None:
    with pytest.raises(pm.InputError, match=r"width 3.*at least 4"):
        ShallowEnsemble(3, 2, width=3)


def test_wide_networks_come_near_the_limit() -> None:
    sample = ShallowEnsemble(1, 2, width=400).sample(4000, np.random.default_rng(0))
    limit = ShallowEnsemble(1, 2).limit.root
    assert np.cov(sample.T) == pytest.approx(limit @ limit.T, abs=0.08)


# -- zeros ------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=2, max_size=9).filter(lambda c: any(c[1:])))
def test_zeros_of_integer_polynomials(coefficients: list[int]) -> None:
    x = sympy.Symbol("x")
    polynomial = sympy.Poly(coefficients[::-1], x)
    # sympy isolates with Sturm sequences; multiple zeros count once on both sides.
    assert count_real_zeros([float(c) for c in coefficients]) == len(set(polynomial.real_roots()))


def test_close_and_multiple_zeros() -> None:
    assert count_real_zeros([1.0, -2.0, 1.0]) == 1
    assert count_real_zeros([1.0, -2.0, np.nextafter(1.0, 0.0)]) == 2  # two zeros 1e-8 apart
    assert count_real_zeros([1.0, -2.0, np.nextafter(1.0, 2.0)]) == 0
    assert count_real_zeros([1.0, -2.0, 1.0, 0.0, 0.0]) == 1  # trailing zeros are no leading coefficients
    assert count_real_zeros([5.0]) == 0
    wilkinson = np.polynomial.polynomial.polyfromroots(np.arange(1.0, 11.0))
    assert count_real_zeros(wilkinson.tolist()) == 10


# The cases in which a sign, an end of an interval or the number of zeros is on the edge.
EDGES = [
    [0.0, 1.0, 2.0],
    [1.0, 0.0, 0.0],
    [-1.0, 0.0, 1.0],
    [1.0, -2.0, 1.0],
    [1.0, -2.0, np.nextafter(1.0, 0.0)],
    [1.0, -2.0, np.nextafter(1.0, 2.0)],
    [-1.0, 2.0, 0.0],
    [1e-300, 1e-300, -1e-300],
    [1e300, -1e308, 1e300],
]


def test_many_polynomials_at_once_on_the_edge() -> None:
    rows = np.array(EDGES)
    expected = [count_real_zeros(row) for row in EDGES]
    assert count_real_zeros_of(rows, 1).tolist() == expected
    core = _core.count_real_zeros(rows)
    assert all(mine in (-1, truth) for mine, truth in zip(core.tolist(), expected, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=2, max_size=9).filter(lambda c: any(c[1:])))
def test_changes_of_sign_against_sturm_sequences(coefficients: list[int]) -> None:
    polynomial = sympy.Poly(coefficients[::-1], sympy.Symbol("x"))
    truth = len(set(polynomial.real_roots()))
    assert _core.count_real_zeros(np.array([coefficients], dtype=float)).item() in (-1, truth)
    assert count_real_zeros_of(np.array([coefficients], dtype=float), 1).item() == truth


@pytest.mark.parametrize("degree", [1, 2, 9, 30, 50])
def test_changes_of_sign_against_isolated_zeros(degree: int) -> None:
    """Random coefficients of three kinds, and zeros that lie close together; the core has to know nearly all of them."""
    generator = np.random.default_rng(degree)
    binomials = np.cumprod([1.0, *((degree - k) / (k + 1) for k in range(degree))])
    kac = generator.normal(size=(120, degree + 1))
    ensemble = ShallowEnsemble(1, degree).sample(120, generator)
    rows = np.concatenate([kac, kac * np.sqrt(binomials), ensemble])
    truth = [count_real_zeros(row) for row in rows.tolist()]
    core = _core.count_real_zeros(rows, 2)
    assert core.tolist() == truth
    zeros = generator.uniform(-2, 2, size=(200, min(degree, 8)))
    zeros[:, -1] = zeros[:, 0] + 10.0 ** -generator.uniform(1, 12, size=200)
    close = np.array([np.polynomial.polynomial.polyfromroots(row) for row in zeros])
    truth = [count_real_zeros(row) for row in close.tolist()]
    core = _core.count_real_zeros(close)
    assert ((core == truth) | (core == -1)).all()
    assert count_real_zeros_of(close, 1).tolist() == truth


def test_degrees_that_the_core_does_not_take() -> None:
    assert count_real_zeros_of(np.ones((2, 1)), 1).tolist() == [0, 0]
    assert count_real_zeros_of(np.eye(60)[[0, 59]] - np.eye(60)[[1, 0]], 1).tolist() == [1, 1]
    with pytest.raises(ValueError, match="degree 1 to 50"):
        _core.count_real_zeros(np.ones((1, 52)))
