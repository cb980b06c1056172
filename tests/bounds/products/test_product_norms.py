"""Proofs by norms for networks of products: true, accepted by the checker, and there when the time is up before it began."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bounds.products.test_product_bounds import NAMES, network_of
from engines import lower_bound

import polymargin as pm
from polymargin.bounds.exclusion import Exclusion
from polymargin.bounds.lifted.radius import proved_by_norms
from polymargin.bounds.lower_bound import lower_bound_at
from polymargin.bounds.products.expansion import ProductExpansion
from polymargin.bounds.products.norms import norm_curvatures, norm_multipliers, norm_ranges
from polymargin.bounds.products.question import ProductQuestion
from polymargin.bounds.products.ranges import curvatures
from polymargin.bounds.products.view import ProductView
from polymargin.deadlines import Deadline
from polymargin.margins.certificate import certificate
from polymargin.networks.forms import Forms
from polymargin.networks.stages import Polynomial
from polymargin_checker.checker import check

EVERY = (*NAMES, "flat")


def flat() -> pm.Network:
    """Squares of sums of fourth powers: at zero no logit has a slope, and (x²)(x²) has two factors without one."""
    fourth = Polynomial(Forms.of([[1.0, 0.3], [0.0, 1.0]], [0.0, 0.0]), (0.0, 0.0, 0.0, 0.0, 1.0))
    mixed = Forms.of(np.hstack([np.zeros((2, 2)), [[1.0, -0.5], [0.2, 1.0]]]), [0.5, 0.2])
    readout = Forms.of(np.hstack([np.zeros((2, 4)), [[-1.0, -1.0], [0.2, 2.0]]]), [1.0, 0.0])
    return pm.Network([fourth, Polynomial(mixed, (0.0, 0.0, 1.0))], readout)


def problem(name: str) -> tuple[pm.Network, np.ndarray]:
    if name == "flat":
        return flat(), np.zeros(2)
    network = network_of(name)
    return network, np.random.default_rng(1).normal(size=network.dimension) / 3


@pytest.mark.parametrize("name", EVERY)
def test_curvatures_by_norms_are_outside_the_eigenvalues(name: str) -> None:
    expansion = ProductExpansion.of(ProductView(*problem(name)))
    wide, exact = norm_curvatures(expansion), curvatures(expansion)
    room = 1e-6 * np.abs(exact).max(axis=1) + 1e-29  # both are a little wider than they must be
    assert (wide[:, 0] <= exact[:, 0] + room).all()
    assert (wide[:, 1] >= exact[:, 1] - room).all()
    alone = np.diff(expansion.curvature.indptr) == 1  # for one product they are its eigenvalues
    assert (np.abs(wide - exact).max(axis=1) <= room)[alone].all()


@pytest.mark.parametrize("name", EVERY)
def test_the_value_is_below_the_functional_on_the_ball(name: str) -> None:
    network, u = problem(name)
    expansion = ProductExpansion.of(ProductView(network, u))
    label, rival = (int(c) for c in np.argsort(-network(u))[:2])
    generator = np.random.default_rng(4)
    for radius in (0.01, 0.1, 0.5):
        ranges = norm_ranges(expansion, norm_curvatures(expansion), radius)
        bound, _ = norm_multipliers(expansion, expansion.functional(label, rival), radius, ranges)
        places = generator.normal(size=(300, expansion.dimension))
        places *= radius / np.linalg.norm(places, axis=1, keepdims=True)
        values, _ = expansion.view.evaluate(places, label, np.full(300, rival))
        assert bound <= values.min()
        for place in places[:20]:
            assert (np.abs(expansion.rests(place)) <= ranges.limits[:, 1]).all()


@pytest.mark.parametrize("name", EVERY)
def test_the_checker_accepts_what_norms_prove(name: str, tmp_path: Path) -> None:
    network, u = problem(name)
    label = int(np.argmax(network(u)))
    expansion, proofs = ProductExpansion.of(ProductView(network, u)), {}
    for rival in set(range(network.class_count)) - {label}:
        radius, proof = proved_by_norms(ProductQuestion(expansion, label, rival, 1.0), 1.0)
        assert radius > 0
        proofs[rival] = Exclusion(radius, label, rival, proof, 1, 0, "proved", 0.0)
        if radius < 1.0:
            assert ProductQuestion(expansion, label, rival, 1.2 * radius).by_norms() is None
    least = min(proof.radius for proof in proofs.values())
    nearest = pm.attack(network, u)
    assert nearest is None or least < nearest.distance
    entries = [{"rival": r, "lower": e.radius.hex(), "proof": e.to_proof()} for r, e in proofs.items()]
    content = certificate(network, u, label, {"kind": "robust", "radius": least.hex()}, entries, None, 0)
    network.save(tmp_path / "model.npz")
    content.save(tmp_path / "proof.json")
    verdict = check(tmp_path / "model.npz", tmp_path / "proof.json")
    assert verdict.accepted, verdict.reason


@pytest.mark.parametrize("name", EVERY)
def test_there_is_a_bound_when_there_was_no_time(name: str) -> None:
    network, u = problem(name)
    readings = iter(range(10**6))
    found = lower_bound_at(network, u, deadline=Deadline.after(0, clock=lambda: next(readings)))
    assert found.radius > 0
    assert all(exclusion.proved for exclusion in found.exclusions)
    assert pm.Verifier(network, settings=pm.Settings(limit=1)).margin(u, proof=False, timeout=1e-9).lower > 0
    verdict = pm.Verifier(network, settings=pm.Settings(limit=1)).verify(u, 1.5 * found.radius, timeout=1e-9)
    assert verdict.lower > 0 or verdict.answer is pm.Answer.VULNERABLE


def test_where_nothing_has_a_slope_there_are_still_an_attack_a_bound_and_a_certificate(tmp_path: Path) -> None:
    network, u = problem("flat")
    nearest = pm.attack(network, u)
    assert nearest is not None
    along = np.linspace(0, 2, 401)
    directions = np.stack([np.cos(np.linspace(0, np.pi, 40)), np.sin(np.linspace(0, np.pi, 40))], axis=1)
    lost = np.diff(network((along[:, None, None] * directions).reshape(-1, 2)), axis=1).reshape(len(along), -1) >= 0
    straight = along[np.argmax(lost, axis=0)][lost.any(axis=0)].min()
    assert nearest.distance <= straight * (1 + 1e-9)
    for limit in (1e6, nearest.distance):  # nobody knows where to begin in the first case
        proved = lower_bound(network, u, limit=limit)
        assert 0.85 * nearest.distance < proved.radius <= nearest.distance
    verdict = pm.verify(network, u, 0.8 * nearest.distance)
    assert verdict.answer is pm.Answer.ROBUST
    network.save(tmp_path / "model.npz")
    verdict.certificate.save(tmp_path / "proof.json")
    found = check(tmp_path / "model.npz", tmp_path / "proof.json")
    assert found.accepted, found.reason
