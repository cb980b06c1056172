"""Certificates of lightning attention: both sides of the margin are proved, and nothing beyond it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import polymargin as pm
from polymargin import Answer, Standing
from polymargin.networks import Network
from polymargin.networks.attention import LightningAttention, random_attention
from polymargin.regions import L2
from polymargin.relaxation import RegionSearch
from polymargin_checker.checker import check

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "certificate.schema.json").read_text(encoding="utf-8"))


def problem(shape: tuple[int, ...], seed: int, classes: int = 2) -> tuple[Network, np.ndarray]:
    network = random_attention(*shape, classes=classes, seed=seed)
    return network, np.random.default_rng([seed, 1]).normal(size=network.dimension)


def accepted(network: Network, certificate: pm.Certificate, folder: Path) -> str:
    jsonschema.Draft202012Validator(SCHEMA).validate(certificate.data)
    network.save(folder / "model.npz")
    certificate.save(folder / "certificate.json")
    verdict = check(folder / "model.npz", folder / "certificate.json")
    assert verdict.accepted, verdict.reason
    return verdict.reason


@pytest.mark.parametrize(
    ("shape", "classes", "seed"),
    [((2, 2, 1, 1), 2, 0), ((2, 2, 1, 1), 3, 2), ((2, 2, 2, 2), 2, 1), ((2, 3, 1, 1), 2, 1), ((2, 2, 2, 2), 2, 3)],
)
def test_the_enclosure_holds_the_margin(shape: tuple[int, ...], classes: int, seed: int, tmp_path: Path) -> None:
    network, u = problem(shape, seed, classes)
    margin = pm.margin(network, u, proof=False)
    assert margin.standing is Standing.NUMERICAL
    certified = pm.margin(network, u, timeout=6)
    accepted(network, certified.certificate, tmp_path)
    assert certified.lower <= margin.radius * (1 + 1e-12)
    assert certified.upper >= margin.radius * (1 - 1e-12)
    assert certified.lower >= 0.5 * certified.upper
    assert certified.standing is not Standing.CERTIFIED or certified.upper - certified.lower <= 1e-6 * certified.upper


@pytest.mark.parametrize("fraction", [0.3, 0.95, 0.999, 1.001, 3.0])
def test_verdicts_on_either_side_are_proved(fraction: float, tmp_path: Path) -> None:
    network, u = problem((2, 2, 2, 2), 3, classes=3)
    radius = fraction * pm.margin(network, u, proof=False).radius
    verdict = pm.verify(network, u, radius)
    assert verdict.answer is (Answer.ROBUST if fraction < 1 else Answer.VULNERABLE), verdict
    reason = accepted(network, verdict.certificate, tmp_path)
    assert ("robust" in reason) == (fraction < 1)
    if fraction > 1:
        logits = network.exact_logits(verdict.counterexample)
        assert logits[verdict.rival] >= logits[verdict.label]
        assert np.linalg.norm(verdict.counterexample - u) <= radius


def test_one_number_alone_is_certified_to_the_last_digits(tmp_path: Path) -> None:
    """t = d = 1: a cubic in one unknown."""
    network, u = problem((1, 1, 1, 1), 4)
    certified = pm.margin(network, u)
    assert certified.standing is Standing.CERTIFIED
    assert certified.method == "roots"
    accepted(network, certified.certificate, tmp_path)
    assert certified.upper - certified.lower <= 1e-12 * certified.upper


def test_modules_beyond_enumeration(tmp_path: Path) -> None:
    """t·d = 12: one relaxation of the ball, and an attack."""
    network, u = problem((4, 3, 2, 2), 1)
    found, label = pm.attack(network, u), int(network.predict(u))
    bound = RegionSearch(network, u, label, [1 - label], L2().in_dimension(12)).largest(found.distance, tolerance=1e-3)
    assert 0.3 * found.distance < bound.radius <= found.distance
    verdict = pm.Verifier(network, settings=pm.Settings(limit=100)).verify(u, 0.99 * bound.radius)
    assert verdict.answer is Answer.ROBUST
    accepted(network, verdict.certificate, tmp_path)


def test_constant_differences_are_robust_at_any_radius(tmp_path: Path) -> None:
    network, u = problem((2, 2, 1, 1), 5)
    module = network.structure
    flat = LightningAttention(module.V, module.K, module.Q, np.tile(module.readout[:1], (2, 1)), [1.0, 0.0])
    verdict = pm.verify(flat, u, 1e3)
    assert verdict.answer is Answer.ROBUST
    accepted(flat, verdict.certificate, tmp_path)
