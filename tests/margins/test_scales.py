"""Margins of networks whose weights, inputs or logits are very large or very small."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin import Standing


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_wild_scales_are_right_or_said_to_be_unsure(scale: float) -> None:
    network = random_network([3, 5, 2], 3, seed=9)
    first, last = network.chain.layers
    # x ↦ x / scale in the inputs and any factor in front of B: the margin is multiplied by `scale`.
    scaled = pm.PolynomialNetwork(
        [(first.weights / scale, first.bias), (last.weights * 1e4, last.bias * 1e4)], degree=3
    )
    u = np.random.default_rng(9).normal(size=3)
    margin = pm.margin(network, u, proof=False)
    other = pm.margin(scaled, u * scale, proof=False)
    assert other.standing is Standing.NUMERICAL
    assert other.radius == pytest.approx(scale * margin.radius, rel=1e-8)


@pytest.mark.parametrize("inner", [1e-9, 1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_scales_of_the_first_layer_never_hide_the_boundary(inner: float, seed: int) -> None:
    """W → s·W is x → x/s; the centre of such a network lies far from the point, the boundary too, but it is there."""
    network = random_network([3, 4, 2], 3, seed)
    first, last = network.chain.layers
    scaled = pm.PolynomialNetwork([(inner * first.weights, first.bias), (last.weights, last.bias)], degree=3)
    u = np.random.default_rng(seed).normal(size=3)
    expected = pm.margin(network, u * inner, proof=False)
    found = pm.margin(scaled, u, proof=False)
    assert found.standing is Standing.NUMERICAL
    assert found.radius == pytest.approx(expected.radius / inner, rel=1e-7)


@pytest.mark.parametrize("size", [1e4, 1e6])
def test_cancellation_inside_the_network_is_seen_through(size: float) -> None:
    """(x + M)³ − (x + M + 1)³ + 3M² + 3M + 1.25 = 0.25 − 3x² − (6M + 3)x: doubles lose the last digits of it."""
    layers = [
        ([[1.0], [1.0], [0.0]], [size, size + 1, 0.0]),
        ([[1.0, -1.0, 0.0], [0.0, 0.0, 0.0]], [3 * size**2 + 3 * size + 1.25, 0.0]),
    ]
    found = pm.margin(pm.PolynomialNetwork(layers, degree=3), [0.0], proof=False)
    assert found.standing is Standing.CERTIFIED
    root = (math.sqrt((6 * size + 3) ** 2 + 3) + (6 * size + 3)) / 6  # the far one; the product of both is −1/12
    assert found.radius == pytest.approx(1 / (12 * root), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e-310])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_scale_of_the_logits_does_not_matter(scale: float, degree: int) -> None:
    def network(factor: float) -> pm.Network:
        return pm.PolynomialNetwork([np.eye(2), (factor * np.array([[1, 1], [0, 0]]), [0, factor])], degree=degree)

    found, usual = (pm.margin(network(factor), [0.1, 0.2], proof=False) for factor in (scale, 1.0))
    assert found.standing is usual.standing
    assert found.radius == pytest.approx(usual.radius, rel=1e-12)


@pytest.mark.parametrize("scale", [2.0**-200, 2.0**300])
def test_the_scale_of_the_inputs_does_not_matter(scale: float) -> None:
    def network(factor: float) -> pm.Network:
        return pm.PolynomialNetwork([np.eye(2) * factor, ([[1, 2], [0, 0]], [0, 1])], degree=3)

    usual = pm.margin(network(1.0), [0.1, 0.2], proof=False)
    found = pm.margin(network(1 / scale), np.array([0.1, 0.2]) * scale, proof=False)
    assert found.radius == usual.radius * scale
    assert (found.point == usual.point * scale).all()
