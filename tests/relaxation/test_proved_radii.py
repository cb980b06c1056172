"""Certified radii against exact margins: never above, exact for quadrics, close for the rest."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.deadlines import Deadline
from polymargin.margins import provers
from polymargin.regions import L2
from polymargin.relaxation.search import ProvedRadius, RegionSearch


def one_piece(network: pm.Network, u: np.ndarray, limit: float, tolerance: float = 1e-4) -> ProvedRadius:
    """The largest radius that is proved without splits."""
    label = int(network.predict(u))
    rivals = [rival for rival in range(network.class_count) if rival != label]
    search = RegionSearch(network, np.asarray(u, dtype=float), label, rivals, L2().in_dimension(network.dimension))
    return search.largest(limit, tolerance=tolerance)


def polynomial_network(seed: int) -> pm.Network:
    plain = random_network((3, 5, 2), 3, seed)
    layers = [(layer.weights, layer.bias) for layer in plain.chain.layers]
    return pm.PolynomialNetwork(layers, activations=[0.2, 0.5, 0.3, -0.1])


FAMILIES = {
    "quadratic": (20, lambda seed: random_network((4, 6, 3), 2, seed), 1 - 1e-6),
    "cubic": (25, lambda seed: random_network((4, 6, 2), 3, seed), 0.97),
    "quartic": (20, lambda seed: random_network((3, 5, 2), 4, seed), 0.95),
    "general": (20, polynomial_network, 0.95),
    "deep": (15, lambda seed: random_network((3, 4, 4, 2), 2, seed), 0.85),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_against_exact_margins(family: str) -> None:
    count, build, expected = FAMILIES[family]
    ratios = []
    for seed in range(count):
        network = build(seed)
        u = np.random.default_rng([seed, 1]).normal(size=network.dimension)
        margin = pm.margin(network, u, proof=False)
        if not np.isfinite(margin.radius):
            continue
        found = one_piece(network, u, margin.radius, 1e-7 if family == "quadratic" else 1e-4)
        assert found.radius <= margin.radius * (1 + 1e-12)
        assert set(found.proofs) == set(range(network.class_count)) - {margin.label}
        ratios.append(found.radius / margin.radius)
    assert len(ratios) >= 0.7 * count
    assert np.median(ratios) > expected
    if family == "quadratic":
        assert min(ratios) > expected, "the S-lemma is exact for quadrics"


def test_a_rewritten_network_of_mnist_size() -> None:
    network = random_network((784, 128, 10), 3, 0)
    u = 0.3 * np.random.default_rng(1).normal(size=784)
    label = int(network.predict(u))
    rival = (label + 4) % 10
    nearest = pm.attack(network, u, rivals=[rival])
    assert nearest is not None
    search = RegionSearch(network, u, label, [rival], L2().in_dimension(784))
    found = search.largest(nearest.distance, tolerance=0.05)
    assert 0.9 * nearest.distance < found.radius <= nearest.distance


def test_no_boundary_no_limit() -> None:
    network = pm.PolynomialNetwork([np.eye(2), (np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([1.0, 0.0]))], degree=2)
    assert one_piece(network, np.array([0.3, 0.4]), 100.0).radius > 95.0
    assert one_piece(network, np.array([0.3, 0.4]), np.inf).radius > 1e3


def test_dead_weights() -> None:
    """A neuron that hears nothing, a neuron that nobody hears, and a repeated one."""
    weights = np.array([[1.0, 0.5], [0.0, 0.0], [0.3, -1.0], [1.0, 0.5]])
    last = np.array([[1.0, 2.0, 0.0, -0.5], [0.0, 0.0, 0.0, 0.7]])
    network = pm.PolynomialNetwork([(weights, np.array([0.1, 0.7, 0.2, -0.3])), last], degree=3)
    u = np.array([0.4, 0.3])
    margin = pm.margin(network, u, proof=False)
    assert one_piece(network, u, margin.radius).radius <= margin.radius
    region, radius = L2().in_dimension(2), 0.999 * margin.radius
    found = provers.proved_at(network, u, 0, [1], region, radius, deadline=Deadline.after(60))
    assert found.radius == radius


def test_a_constant_difference_and_a_flat_point() -> None:
    weights = np.random.default_rng(0).normal(size=(4, 3))
    constant = pm.PolynomialNetwork([weights, (np.ones((2, 4)), np.array([1.0, 0.0]))], degree=3)
    assert one_piece(constant, np.array([0.1, 0.2, 0.3]), 50.0).radius > 47.0
    last = (np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 1.0, 1.0]]), np.array([1.0, 0.0]))
    flat = pm.PolynomialNetwork([weights, last], degree=3)
    margin = pm.margin(flat, np.zeros(3), proof=False).radius
    nearest = pm.attack(flat, np.zeros(3))
    assert 0.85 * margin < one_piece(flat, np.zeros(3), margin).radius <= margin
    assert nearest is not None
    assert nearest.distance == pytest.approx(margin, rel=1e-9)
