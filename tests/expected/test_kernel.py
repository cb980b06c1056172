"""The kernel against exact sums in high precision."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import polymargin as pm
from polymargin.expected import ShallowKernel


def pairing_kernel(degree: int, dimension: int, x: Any, y: Any) -> Any:
    """K(x, y) as the sum over pairings, on any numbers."""
    qx, qy = (1 + sum(v * v for v in point) / mpmath.mpf(dimension) for point in (x, y))
    r = 1 + sum(a * b for a, b in zip(x, y, strict=True)) / mpmath.mpf(dimension)
    f = mpmath.factorial
    return sum(
        f(degree) ** 2 / (4**s * f(s) ** 2 * f(degree - 2 * s)) * (qx * qy) ** s * r ** (degree - 2 * s)
        for s in range(degree // 2 + 1)
    )


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


def test_degree_one_hundred_does_not_overflow() -> None:
    kernel = ShallowKernel(3, 100)
    far, near = np.array([1e4, -2e4, 5e3]), np.array([0.3, 0.1, -0.2])
    assert kernel(far, far) == math.inf
    law = kernel.tangent_law(far[None], np.array([[0.6, 0.8, 0.0]]))
    assert all(np.isfinite(part).all() for part in (law.density, law.spread, law.root))
    with mpmath.workdps(30):
        truth = pairing_kernel(100, 3, near.tolist(), [0.1, 0.2, 0.3])
    assert kernel(near, [0.1, 0.2, 0.3]) == pytest.approx(float(truth), rel=1e-11)


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
        ShallowKernel(2, 3)([1.0, 2.0, 3.0], [1.0, 2.0])
