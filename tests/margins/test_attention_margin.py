"""Margins of lightning attention: counts of the paper, closed forms, local searches, invariances."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import polymargin as pm
from polymargin import Standing
from polymargin.margins.prediction import predicted_class
from polymargin.networks import Network
from polymargin.networks.attention import LightningAttention, random_attention
from polymargin.networks.noise import rounding_noise
from polymargin.regions import L2
from polymargin.relaxation.search import ProvedRadius, RegionSearch

# Euclidean distance degrees printed in the paper's second table.
COUNTS = {
    (4, 1, 1, 1): 7,
    (1, 4, 1, 1): 12,
    (2, 2, 1, 1): 17,
    (2, 2, 2, 1): 28,
    (2, 2, 1, 2): 33,
    (2, 2, 2, 2): 39,
    (2, 3, 1, 1): 20,
}


def problem(shape: tuple[int, ...], seed: int, classes: int = 2) -> tuple[Network, np.ndarray]:
    network = random_attention(*shape, classes=classes, seed=seed)
    return network, np.random.default_rng([seed, 1]).normal(size=network.dimension)


def one_piece(network: Network, u: np.ndarray, limit: float) -> ProvedRadius:
    label = int(network.predict(u))
    rivals = [rival for rival in range(network.class_count) if rival != label]
    return RegionSearch(network, u, label, rivals, L2().in_dimension(len(u))).largest(limit)


@pytest.mark.parametrize(("shape", "count"), COUNTS.items(), ids=str)
def test_the_counts_of_the_paper_and_a_complete_audit(shape: tuple[int, ...], count: int) -> None:
    network, u = problem(shape, seed=1)
    margin = pm.margin(network, u, proof=False)
    assert margin.standing is Standing.NUMERICAL, margin.notes
    assert margin.complex_count == count
    found = pm.critical_points(pm.Boundary.from_network(network, 0, 1), u, cache=False)
    assert len(found) == count
    for x, multiplier in zip(found.points, found.multipliers, strict=True):
        boundary = pm.Boundary.from_network(network, 0, 1)
        if np.abs(x.imag).max() == 0:
            residual = x.real - u + multiplier.real * boundary.gradient(x.real)
            assert np.abs(residual).max() <= 1e-8 * (1 + np.abs(x).max())


def test_one_number_per_token_has_a_closed_form() -> None:
    """t = d = 1: c x³ + β = 0 has one real solution."""
    for seed in range(5):
        network, u = problem((1, 1, 1, 1), seed)
        module = network.structure
        c = (module.V * module.K * module.Q).item() * (module.readout[0, 0] - module.readout[1, 0])
        module = network.structure
        root = -np.cbrt((module.bias[0] - module.bias[1]) / c)
        assert pm.margin(network, u, proof=False).radius == pytest.approx(abs(u[0] - root), rel=1e-12)


def nearest_by_slsqp(network: Network, u: np.ndarray, label: int, rival: int) -> float:
    """The least distance that local searches from 10 starts find."""
    boundary = pm.Boundary.from_network(network, label, rival)
    generator = np.random.default_rng(0)
    best = math.inf
    for _ in range(10):
        found = minimize(
            lambda x: float((x - u) @ (x - u)),
            u + generator.normal(size=len(u)) * generator.uniform(0.1, 3.0),
            jac=lambda x: 2 * (x - u),
            constraints=[{"type": "eq", "fun": boundary, "jac": boundary.gradient}],
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-14},
        )
        if abs(float(boundary(found.x))) <= 1e-9:
            best = min(best, float(np.linalg.norm(found.x - u)))
    return best


@pytest.mark.parametrize(
    ("shape", "classes"), [((2, 2, 1, 1), 2), ((2, 2, 2, 2), 3), ((2, 2, 1, 2), 4), ((1, 3, 2, 2), 2)]
)
def test_margins_lie_between_bounds_and_local_searches(shape: tuple[int, ...], classes: int) -> None:
    for seed in range(2):
        network, u = problem(shape, seed, classes)
        margin = pm.margin(network, u, proof=False)
        assert margin.standing is Standing.NUMERICAL, margin.notes
        label = int(network.predict(u))
        assert margin.label == label
        searched = min(nearest_by_slsqp(network, u, label, rival) for rival in range(classes) if rival != label)
        assert margin.radius == pytest.approx(searched, rel=1e-6)
        logits = network(margin.point)
        assert logits[label] == pytest.approx(logits[margin.rival], abs=1e-9)
        assert np.linalg.norm(margin.point - u) == pytest.approx(margin.radius, rel=1e-9)
        found = pm.attack(network, u)
        assert found.distance == pytest.approx(margin.radius, rel=1e-8)
        exact = network.exact_logits(found.point)
        assert exact[found.rival] >= exact[label]
        bound = one_piece(network, u, margin.radius)
        assert 0.5 * margin.radius < bound.radius <= margin.radius * (1 + 1e-9)
        assert set(bound.proofs) == set(range(classes)) - {label}


def test_batches_and_checkpoints(tmp_path: Path) -> None:
    network, _ = problem((2, 2, 2, 2), seed=4)
    points = np.random.default_rng(5).normal(size=(4, 4))
    points[2, 0] = np.nan
    file = tmp_path / "rows.jsonl"
    rows = pm.margin(network, points, proof=False, checkpoint=file)
    assert [row.standing is Standing.FAILED for row in rows] == [False, False, True, False]
    again = pm.margin(network, points, proof=False, checkpoint=file)
    assert [row.radius for row in again[:2]] == [row.radius for row in rows[:2]]


# -- invariances --------------------------------------------------------------------------------------


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 1000), st.integers(-20, 20))
def test_the_margin_does_not_depend_on_how_the_module_is_written(seed: int, exponent: int) -> None:
    network, u = problem((2, 2, 2, 2), seed)
    generator = np.random.default_rng([seed, 2])
    radius = pm.margin(network, u, proof=False).radius
    module = network.structure
    V, K, Q, C, b, t, d = module.V, module.K, module.Q, module.readout, module.bias, module.t, module.d
    tokens, blocks = u.reshape(t, d), C.reshape(2, t, -1)

    order = np.array([1, 0])
    permuted = LightningAttention(V, K, Q, blocks[:, order].reshape(2, -1), b)
    assert pm.margin(permuted, tokens[order].ravel(), proof=False).radius == pytest.approx(radius, rel=1e-8)

    turn = np.linalg.qr(generator.normal(size=(d, d)))[0]
    turned = LightningAttention(V @ turn.T, turn @ K, turn @ Q, C, b)
    assert pm.margin(turned, (tokens @ turn.T).ravel(), proof=False).radius == pytest.approx(radius, rel=1e-8)

    gauge, other = (np.eye(2) + 0.3 * generator.normal(size=(2, 2)) for _ in range(2))
    inverse = np.linalg.inv(gauge)
    same = LightningAttention(
        gauge @ V, K @ np.linalg.inv(other), Q @ other.T, np.einsum("cti,ij->ctj", blocks, inverse).reshape(2, -1), b
    )
    assert pm.margin(same, u, proof=False).radius == pytest.approx(radius, rel=1e-8)

    factor = 2.0**exponent
    scaled = LightningAttention(V / factor, K / factor, Q / factor, C, b)
    assert pm.margin(scaled, factor * u, proof=False).radius == pytest.approx(factor * radius, rel=1e-8)


# -- ties and cancellation ----------------------------------------------------------------------------


def test_ties_are_decided_exactly() -> None:
    network, u = problem((2, 2, 1, 1), seed=3)
    module = network.structure
    tied = LightningAttention(module.V, module.K, module.Q, module.readout, [0.5, 0.5])
    margin = pm.margin(tied, np.zeros(4), proof=False)
    assert (margin.radius, margin.method) == (0.0, "tie")
    module = network.structure
    nearly = LightningAttention(module.V, module.K, module.Q, module.readout, [0.5, np.nextafter(0.5, 0.0)])
    assert predicted_class(nearly, np.zeros(4)) == (0, None)
    with pytest.raises(pm.InputError, match="tie exactly"):
        pm.attack(tied, np.zeros(4))
    module = network.structure
    equal = LightningAttention(module.V, module.K, module.Q, np.tile(module.readout[:1], (2, 1)), [1.0, 0.0])
    assert math.isinf(pm.margin(equal, u, proof=False).radius)
    assert one_piece(equal, u, 100.0).radius > 95.0


def test_cancelling_logits_are_not_answered_in_doubles() -> None:
    """Two equal tokens whose contributions of size 1e12 cancel, up to a difference of the biases."""
    network = LightningAttention([[1.0]], [[1.0]], [[1.0]], [[1e4, -1e4], [-1e4, 1e4]], [1e-3, 0.0])
    u = np.array([1e3, 1e3])
    assert rounding_noise(network, u) > 1e-3
    margin = pm.margin(network, u, proof=False, timeout=10)
    assert margin.label == 0
    assert margin.standing is Standing.BRACKETED
    assert any("cancel" in note for note in margin.notes)
    with pytest.raises(pm.InputError, match="rescale"):
        pm.margin(network, 1e60 * u, proof=False)
