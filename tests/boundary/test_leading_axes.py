"""Axes on which a polynomial is most like a sum of powers: found where there are such axes, orthonormal everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import polymargin as pm
from polymargin.boundary import axis_coefficients, leading_axes
from polymargin.networks import Network
from polymargin.networks.attention import random_attention


def orthogonal(size: int, generator: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(generator.normal(size=(size, size)))[0]


@pytest.mark.parametrize(("size", "degree"), [(2, 3), (3, 4), (5, 3)])
def test_orthogonal_weights_are_the_axes(size: int, degree: int) -> None:
    generator = np.random.default_rng([size, degree])
    rotation, outer = orthogonal(size, generator), generator.normal(size=(2, size))
    net = pm.PolynomialNetwork([(rotation, generator.normal(size=size)), (outer, np.zeros(2))], degree=degree)
    axes = leading_axes(pm.Boundary.from_network(net, 0, 1).source, degree)
    overlaps = np.abs(axes.rows @ rotation.T)
    assert np.allclose(np.sort(overlaps, axis=1)[:, -1], 1.0, atol=1e-3)
    assert np.allclose(np.sort(np.abs(axes.powers)), np.sort(np.abs(outer[0] - outer[1])), rtol=1e-2)


@pytest.mark.parametrize(
    "network",
    [
        random_attention(2, 2, 2, 2, seed=1),
        pm.PolynomialNetwork([np.eye(3), np.eye(3), np.eye(3)], degree=2),
    ],
    ids=["attention", "deep"],
)
def test_powers_are_those_of_the_rotated_polynomial(network: Network) -> None:
    """Against exact restrictions to the axes; on the axes of the network itself its gradients may vanish."""
    boundary = pm.Boundary.from_network(network, 0, 1)
    source = boundary.reduction.source
    axes = leading_axes(source, boundary.degree)
    size = source.dimension
    assert np.allclose(axes.rows @ axes.rows.T, np.eye(size), atol=1e-14)
    exact = axis_coefficients(source.on_subspace(axes.rows.T, np.zeros(size)), boundary.degree)
    assert np.allclose(np.abs(axes.powers), exact, atol=1e-8 * max(exact))
    assert sum(exact) > 0
