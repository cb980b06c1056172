"""`attack`: arguments, batches and all kinds of models; never worse than DeepFool."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_network

import polymargin as pm


def test_rivals_batches_and_bad_input() -> None:
    network = random_network((3, 5, 4), 3, 0)
    u = np.array([0.1, -0.2, 0.3])
    label = int(network.predict(u))
    rival = (label + 1) % 4
    found = pm.attack(network, u, rivals=[rival])
    assert found is not None
    assert found.rival == rival
    one, two = pm.attack(network, np.stack([u, 0.5 * u]), rivals=[rival])
    assert one.distance == found.distance
    assert two.rival == rival
    with pytest.raises(pm.InputError, match="no other rival"):
        pm.attack(network, u, rivals=[label])
    with pytest.raises(pm.InputError, match="finite numbers"):
        pm.attack(network, [0.0, np.nan, 0.0])
    with pytest.raises(pm.InputError, match="outside the domain"):
        pm.attack(network, u, within=pm.L2(domain=(0, 1)))
    with pytest.raises(pm.InputError, match="tie exactly"):
        pm.attack(pm.PolynomialNetwork([np.eye(2), np.ones((2, 2))], degree=2), [0.5, 0.0])


def test_networks_without_hidden_layers_and_piecewise_ones() -> None:
    """x₀ against x₁ ties on the diagonal; |x₀| of ReLU against 1 ties at 1."""
    found = pm.attack(pm.PolynomialNetwork([np.eye(2)]), [0.5, 0.0])
    assert found.distance == pytest.approx(np.sqrt(0.125), rel=1e-12)
    relu = pm.ReLUNetwork([([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]), ([[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0])])
    assert pm.attack(relu, [0.25, 3.0]).distance == pytest.approx(0.75, rel=1e-12)
    assert pm.attack(relu, [0.25, 0.0], within=pm.Linf(domain=(-2, 0.5))).distance == pytest.approx(1.25, rel=1e-9)


def deepfool(network: pm.Network, u: np.ndarray, label: int, rival: int) -> tuple[float, bool]:
    """A plain DeepFool iteration for two layers of squares, run to convergence: the distance, and whether it converged."""
    (first, second), last, x = (stage.form for stage in network.stages), network.readout, u.copy()
    w, b = first.block(0), first.bias
    v, shift = last.block(2)[label] - last.block(2)[rival], last.bias[label] - last.bias[rival]
    for _ in range(500):
        z = w @ x + b
        inner = second.block(1) @ z**2 + second.bias
        slope = w.T @ (2 * z * (second.block(1).T @ (2 * inner * v)))
        value = v @ inner**2 + shift
        x = u + slope * (slope @ (x - u) - value) / (slope @ slope)
    return float(np.linalg.norm(x - u)), abs(value) < 1e-9 * np.abs(v) @ inner**2


def test_never_worse_than_deepfool_in_many_dimensions() -> None:
    generator = np.random.default_rng(4)
    layers = [
        (generator.normal(size=(b, a)) / np.sqrt(a), 0.3 * generator.normal(size=b)) for a, b in ((90, 80), (80, 20))
    ]
    network = pm.PolynomialNetwork([*layers, generator.normal(size=(5, 20))], degree=2)
    compared = 0
    for _ in range(6):
        u = generator.normal(size=90)
        label = int(network.predict(u))
        plain = [deepfool(network, u, label, rival) for rival in range(5) if rival != label]
        nearest = min((distance for distance, converged in plain if converged), default=np.inf)
        found = pm.attack(network, u)
        assert found is not None
        assert found.distance <= nearest * (1 + 1e-9)
        compared += np.isfinite(nearest)
    assert compared >= 4
