"""The kernel and its derivatives against exact sums and differentiation in high precision."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import polymargin as pm
from polymargin.expected import Jets, ShallowKernel


def pairing_kernel(degree: int, dimension: int, x: Any, y: Any) -> Any:
    """K(x, y) as the sum over pairings, on any numbers."""
    qx, qy = (1 + sum(v * v for v in point) / mpmath.mpf(dimension) for point in (x, y))
    r = 1 + sum(a * b for a, b in zip(x, y, strict=True)) / mpmath.mpf(dimension)
    f = mpmath.factorial
    return sum(
        f(degree) ** 2 / (4**s * f(s) ** 2 * f(degree - 2 * s)) * (qx * qy) ** s * r ** (degree - 2 * s)
        for s in range(degree // 2 + 1)
    )


def normalised(degree: int, dimension: int, x: Any, y: Any) -> Any:
    k = pairing_kernel
    return k(degree, dimension, x, y) / mpmath.sqrt(k(degree, dimension, x, x) * k(degree, dimension, y, y))


ORDERS = {"value": (0, 0), "value_gradient": (0, 1), "gradient": (1, 1), "hessian_value": (2, 0)}
ORDERS |= {"hessian_gradient": (2, 1), "hessian": (2, 2)}


@pytest.mark.parametrize("which", ["normalised", "unnormalised"])
@pytest.mark.parametrize(("dimension", "degree"), [(1, 5), (2, 1), (2, 2), (2, 3), (2, 8), (3, 3)])
def test_closed_forms_are_derivatives_of_the_kernel(dimension: int, degree: int, which: str) -> None:
    point = np.random.default_rng(dimension + degree).normal(size=dimension)
    kernel = ShallowKernel(dimension, degree)
    found: Jets = kernel.jets(point[None]) if which == "normalised" else kernel.unnormalised_jets(point[None])
    function = normalised if which == "normalised" else pairing_kernel
    with mpmath.workdps(50):
        place = tuple(mpmath.mpf(float(v)) for v in point)
        scale = function(degree, dimension, place, place)
        for name, (left, right) in ORDERS.items():
            for index in itertools.product(range(dimension), repeat=left + right):
                if list(index[:left]) != sorted(index[:left]):
                    continue  # derivatives commute; the symmetry is checked below
                orders = [0] * (2 * dimension)
                for i in index[:left]:
                    orders[i] += 1
                for i in index[left:]:
                    orders[dimension + i] += 1
                truth = mpmath.diff(
                    lambda *v: function(degree, dimension, v[:dimension], v[dimension:]), place + place, tuple(orders)
                )
                assert abs(float(truth / scale) - getattr(found, name)[0][index]) < 1e-11 * degree**4
    size = max(1.0, np.abs(found.hessian).max())
    assert np.allclose(found.hessian, found.hessian.transpose(0, 2, 1, 3, 4), rtol=0, atol=1e-13 * size)
    assert np.allclose(found.hessian, found.hessian.transpose(0, 3, 4, 1, 2), rtol=0, atol=1e-13 * size)


@pytest.mark.parametrize("degree", [1, 2, 3, 10, 37, 100])
def test_profile_in_exact_arithmetic(degree: int) -> None:
    kernel = ShallowKernel(2, degree)
    total = math.prod(range(1, 2 * degree, 2))
    assert sum(kernel.pairings) == total
    chances = {degree - 2 * s: Fraction(c, total) for s, c in enumerate(kernel.pairings)}
    mean = sum(k * p for k, p in chances.items())
    assert mean == Fraction(degree**2, 2 * degree - 1)
    assert kernel.first_derivative == pytest.approx(float(mean), rel=1e-13)
    second = sum(k * (k - 1) * p for k, p in chances.items())
    assert kernel.second_derivative == pytest.approx(float(second), rel=1e-13)
    # The part of the conditional Hessian that is a multiple of the metric.
    assert sum(k * k * p for k, p in chances.items()) - mean**2 == 2 * second / (2 * degree - 1)
    assert float(kernel.profile(1.0)) == pytest.approx(1.0, rel=1e-12)


def test_degree_one_hundred_does_not_overflow() -> None:
    kernel = ShallowKernel(3, 100)
    far = np.array([1e4, -2e4, 5e3])
    with mpmath.workdps(30):
        truth = mpmath.log(pairing_kernel(100, 3, far.tolist(), far.tolist()))
    assert float(kernel.log_variance(far)) == pytest.approx(float(truth), rel=1e-12)
    assert kernel(far, far) == math.inf
    assert float(kernel.correlation(far, far)) == pytest.approx(1.0, rel=1e-12)
    assert np.isfinite(kernel.jets(far[None]).hessian).all()
    near = np.array([0.3, 0.1, -0.2])
    with mpmath.workdps(30):
        truth = normalised(100, 3, near.tolist(), [0.1, 0.2, 0.3])
    assert float(kernel.correlation(near, [0.1, 0.2, 0.3])) == pytest.approx(float(truth), rel=1e-12)


def test_kernel_is_the_covariance_of_networks() -> None:
    x, y = np.array([0.5, -1.0]), np.array([1.0, 0.3])
    generator = np.random.default_rng(3)
    weights, bias = generator.normal(size=(400_000, 2)) / math.sqrt(2), generator.normal(size=400_000)
    products = (weights @ x + bias) ** 2 * (weights @ y + bias) ** 2
    kernel = ShallowKernel(2, 2)
    assert abs(products.mean() - kernel(x, y)) < 4 * products.std() / math.sqrt(len(products))


@pytest.mark.parametrize("bad", [(0, 2), (2, 0), (2, 1.5), (True, 2)])
def test_sizes_must_be_positive_integers(bad: Any) -> None:
    with pytest.raises(pm.InputError, match="expected an integer >= 1"):
        ShallowKernel(*bad)


def test_points_must_fit() -> None:
    with pytest.raises(pm.InputError, match="expected 2 coordinates"):
        ShallowKernel(2, 3).log_variance([1.0, 2.0, 3.0])
