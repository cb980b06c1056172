"""Attacks: exact counterexamples, never nearer than the margin, and nearly always at it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.bounds import attack
from polymargin.bounds.gradients import evaluate_twice
from polymargin.bounds.view import View


def test_against_exact_margins() -> None:
    cases = [((4, 6, 3), 3), ((3, 5, 2), 4), ((4, 6, 2), 2), ((3, 4, 4, 2), 2)]
    met = total = 0
    for widths, degree in cases:
        for seed in range(10):
            network = random_network(widths, degree, seed)
            u = np.random.default_rng([seed, 1]).normal(size=widths[0])
            margin = pm.margin(network, u, cache=False)
            found = attack(network, u)
            if not np.isfinite(margin.radius):
                assert found is None
                continue
            total += 1
            if found is None:
                continue
            assert found.distance >= margin.radius * (1 - 1e-9)
            logits = network.exact_logits(found.point)
            assert logits[found.rival] >= logits[found.label]
            square = sum(
                (Fraction(a) - Fraction(b)) ** 2 for a, b in zip(found.point.tolist(), u.tolist(), strict=True)
            )
            assert Fraction(found.distance) ** 2 >= square
            met += found.distance <= margin.radius * (1 + 1e-6)
    assert met >= 0.85 * total
    assert total >= 35


@pytest.mark.parametrize(
    ("widths", "degree"), [((3, 5, 3), 3), ((3, 4, 4, 3), 2), ((2, 3, 2, 3, 3), 2), ((6, 4, 3), 4)]
)
def test_derivatives(widths: tuple[int, ...], degree: int) -> None:
    network = random_network(widths, degree, 2)
    view = View.of(network, np.zeros(widths[0]))
    place, step = np.random.default_rng(0).normal(size=view.factor.shape[1]), 1e-5
    rivals = np.array([2])
    _, slope, hessian = evaluate_twice(view, place[None], 0, rivals)
    for i, axis in enumerate(np.eye(len(place))):
        ahead, behind = (evaluate_twice(view, (place + s * axis)[None], 0, rivals) for s in (step, -step))
        assert slope[0, i] == pytest.approx((ahead[0][0] - behind[0][0]) / (2 * step), rel=1e-4, abs=1e-6)
        assert hessian[0, i] == pytest.approx((ahead[1][0] - behind[1][0]) / (2 * step), rel=1e-4, abs=1e-6)


def test_one_rival_and_bad_input() -> None:
    network = random_network((3, 5, 4), 3, 0)
    u = np.array([0.1, -0.2, 0.3])
    label = int(network.predict(u))
    rival = (label + 1) % 4
    found = attack(network, u, rival)
    assert found is not None
    assert found.rival == rival
    with pytest.raises(pm.InputError, match="expected one of the classes"):
        attack(network, u, label)
    with pytest.raises(pm.InputError, match="finite numbers"):
        attack(network, [0.0, np.nan, 0.0])
    with pytest.raises(pm.InputError, match="without hidden layers"):
        attack(pm.PolynomialNetwork([np.eye(2)]), [0.5, 0.0])
    with pytest.raises(pm.InputError, match="tie exactly"):
        attack(pm.PolynomialNetwork([np.eye(2), np.ones((2, 2))], degree=2), [0.5, 0.0])


def test_no_counterexample_where_there_is_none() -> None:
    """B = 1 + x² + y² > 0 everywhere."""
    network = pm.PolynomialNetwork([np.eye(2), (np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([1.0, 0.0]))], degree=2)
    assert attack(network, [0.3, 0.4]) is None


def deepfool(network: pm.Network, u: np.ndarray, label: int, rival: int) -> tuple[float, bool]:
    """A plain DeepFool iteration for two layers of squares, run to convergence: the distance, and whether it converged."""
    (first, second, last), x = network.chain.layers, u.copy()
    v, shift = last.weights[label] - last.weights[rival], last.bias[label] - last.bias[rival]
    for _ in range(500):
        z = first(x)
        inner = second(z**2)
        slope = first.weights.T @ (2 * z * (second.weights.T @ (2 * inner * v)))
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
        found = attack(network, u)
        assert found is not None
        assert found.distance <= nearest * (1 + 1e-9)
        compared += np.isfinite(nearest)
    assert compared >= 4
