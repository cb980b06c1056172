"""Certificates: both routes agree, the independent checker accepts, and nothing above the truth is ever proved."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_network

import polymargin as pm
from polymargin import Answer, Standing
from polymargin.deadlines import Deadline
from polymargin.margins.case import Case
from polymargin.margins.rivals import prove_by_enumeration
from polymargin_checker.checker import check

ARCHITECTURES = [
    ([2, 4, 2], 2),
    ([3, 5, 3], 2),
    ([6, 4, 4], 2),
    ([2, 3, 3], 3),
    ([3, 5, 2], 3),
    ([4, 6, 2], 3),
    ([6, 3, 3], 3),
    ([2, 4, 2], 4),
    ([3, 4, 2], 4),
    ([2, 3, 3, 2], 2),
    ([3, 4, 4, 2], 2),
]


def accepted(network: pm.Network, certificate: pm.Certificate, folder: Path) -> str:
    network.save(folder / "model.npz")
    certificate.save(folder / "certificate.json")
    verdict = check(folder / "model.npz", folder / "certificate.json")
    assert verdict.accepted, verdict.reason
    return verdict.reason


@pytest.mark.parametrize(("widths", "degree"), ARCHITECTURES)
@pytest.mark.parametrize("block", range(3))
def test_both_routes_enclose_the_same_margin(widths: list[int], degree: int, block: int, tmp_path: Path) -> None:
    for seed in range(7 * block, 7 * block + 7):
        network = random_network(widths, degree, seed)
        u = np.random.default_rng([seed, 5]).normal(size=widths[0])
        exact = pm.margin(network, u)
        accepted(network, exact.certificate, tmp_path)
        assert exact.standing is Standing.CERTIFIED
        if math.isfinite(exact.upper):
            assert exact.upper - exact.lower <= 1e-8 * exact.upper
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("polymargin.margins.proving.prove_by_enumeration", lambda *_: (None, None, "not asked for"))
            bracket = pm.margin(network, u, timeout=2)
        if bracket.certificate is not None:
            accepted(network, bracket.certificate, tmp_path)
        assert bracket.lower <= exact.upper
        assert bracket.upper >= exact.lower
        if math.isfinite(exact.upper):
            planted = exact.upper
            assert pm.verify(network, u, planted * (1 + 1e-9), timeout=5).answer is not Answer.ROBUST


@pytest.mark.parametrize(("widths", "degree"), ARCHITECTURES)
@pytest.mark.parametrize("fraction", [0.3, 0.95, 0.999, 1.001, 3.0])
def test_verdicts_on_either_side_are_proved(widths: list[int], degree: int, fraction: float, tmp_path: Path) -> None:
    network = random_network(widths, degree, 40)
    u = np.random.default_rng(41).normal(size=widths[0])
    margin = pm.margin(network, u, proof=False).radius
    if math.isinf(margin):
        verdict = pm.verify(network, u, 10.0)
        assert verdict.answer is Answer.ROBUST
        accepted(network, verdict.certificate, tmp_path)
        return
    verdict = pm.verify(network, u, fraction * margin)
    assert verdict.answer is (Answer.ROBUST if fraction < 1 else Answer.VULNERABLE), verdict
    assert verdict.standing is Standing.CERTIFIED
    reason = accepted(network, verdict.certificate, tmp_path)
    assert ("robust" in reason) == (fraction < 1)
    if fraction > 1:
        assert np.linalg.norm(verdict.counterexample - u) <= fraction * margin
        logits = network.exact_logits(verdict.counterexample)
        assert logits[verdict.rival] >= logits[verdict.label]


def test_linear_networks(tmp_path: Path) -> None:
    network = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0], [0.0, 1.0]], [0.0, 5.0, 0.0])])
    certified = pm.margin(network, [3.0, 4.0])
    assert certified.standing is Standing.CERTIFIED
    assert certified.upper == pytest.approx(4.0)
    accepted(network, certified.certificate, tmp_path)
    assert pm.verify(network, [3.0, 4.0], radius=3.9).answer is Answer.ROBUST
    assert pm.verify(network, [3.0, 4.0], radius=4.1).answer is Answer.VULNERABLE


def test_ties_timeouts_and_bad_input() -> None:
    network = pm.PolynomialNetwork([np.eye(2), np.eye(2)], degree=2)
    tie = pm.verify(network, [0.5, -0.5], radius=0.1)
    assert tie.answer is Answer.VULNERABLE
    assert pm.margin(network, [0.5, -0.5]).radius == 0
    for radius in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(pm.InputError, match="radius"):
            pm.verify(network, [0.5, 0.1], radius)
    with pytest.raises(pm.InputError, match="timeout"):
        pm.verify(network, [0.5, 0.1], 0.1, timeout=0)
    for point in ([1.0], [math.nan, 0.0], ["a", "b"]):
        with pytest.raises(pm.InputError, match="point"):
            pm.verify(network, point, 0.1)
    deep = random_network([6, 8, 8, 8, 2], 2, seed=3)
    nearest = pm.attack(deep, np.zeros(6)).distance
    hurried = pm.verify(deep, np.zeros(6), radius=0.9999 * nearest, timeout=1e-9)
    assert hurried.answer is Answer.UNKNOWN
    assert 0 <= hurried.lower < hurried.upper <= nearest * (1 + 1e-9)


def test_without_enumeration_the_bracket_is_honest(tmp_path: Path) -> None:
    """Too many critical points to enumerate: bounds from both sides, the checker accepts them."""
    network = random_network([12, 14, 3], 3, seed=2)
    u = 0.3 * np.random.default_rng(2).normal(size=12)
    certified = pm.Verifier(network, settings=pm.Settings(limit=1000)).margin(u, timeout=20)
    accepted(network, certified.certificate, tmp_path)
    assert 0 < certified.lower <= certified.upper < math.inf
    assert (
        pm.Verifier(network, settings=pm.Settings(limit=1000)).verify(u, 0.9 * certified.lower).answer is Answer.ROBUST
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_scaling_and_permuting_leave_the_certified_margin_alone(seed: int, factor: float) -> None:
    network = random_network([3, 4, 2], 3, seed)
    u = np.random.default_rng(seed).normal(size=3)
    first, last = network.chain.layers
    order = np.random.default_rng(seed).permutation(4)
    other = pm.PolynomialNetwork(
        [(first.weights[order], first.bias[order]), (factor * last.weights[::-1, order], factor * last.bias[::-1])],
        degree=3,
    )
    a, b = (pm.margin(net, u) for net in (network, other))
    if math.isinf(a.upper):
        assert math.isinf(b.upper)
    else:
        assert a.upper == pytest.approx(b.upper, rel=1e-12)


ADVERSARIAL = {
    "tiny weights": lambda net: _scaled(net, 1e-6, 1.0),
    "huge weights": lambda net: _scaled(net, 1e6, 1.0),
    "tiny logits": lambda net: _scaled(net, 1.0, 1e-6),
    "huge logits": lambda net: _scaled(net, 1.0, 1e6),
    "nearly equal neurons": lambda net: _doubled(net, 1e-9),
}


def _scaled(network: pm.Network, inner: float, outer: float) -> pm.Network:
    first, last = network.chain.layers
    return pm.PolynomialNetwork(
        [(inner * first.weights, first.bias), (outer * last.weights, outer * last.bias)], degree=3
    )


def _doubled(network: pm.Network, gap: float) -> pm.Network:
    first, last = network.chain.layers
    weights = np.concatenate([first.weights, first.weights[:1] + gap])
    return pm.PolynomialNetwork(
        [
            (weights, np.append(first.bias, first.bias[0])),
            (np.column_stack([last.weights, last.weights[:, 0]]), last.bias),
        ],
        degree=3,
    )


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_adversarial_numerics_are_right_or_not_certified(name: str, tmp_path: Path) -> None:
    network = ADVERSARIAL[name](random_network([3, 4, 2], 3, seed=11))
    u = np.random.default_rng(12).normal(size=3)
    certified = pm.margin(network, u, timeout=20)
    accepted(network, certified.certificate, tmp_path)
    numerical = pm.margin(network, u, proof=False)
    if certified.standing is Standing.CERTIFIED and numerical.standing is Standing.NUMERICAL:
        assert certified.lower * (1 - 1e-6) <= numerical.radius <= certified.upper * (1 + 1e-6)


@pytest.mark.parametrize("gap", [1e-9, 1e3])
def test_points_very_near_and_very_far(gap: float, tmp_path: Path) -> None:
    """Start on the boundary and walk along the normal: the margin is at most what was walked."""
    network = random_network([2, 4, 2], 3, seed=13)
    boundary = pm.Boundary.from_network(network, 0, 1)
    foot = pm.margin(network, [0.2, 0.1], proof=False).point
    normal = boundary.gradient(foot)
    u = foot + gap * normal / np.linalg.norm(normal)
    certified = pm.margin(network, u)
    accepted(network, certified.certificate, tmp_path)
    assert certified.lower <= gap * (1 + 1e-6)
    if gap == 1e-9:
        assert certified.upper == pytest.approx(gap, rel=1e-5)


def test_quadrics_beyond_enumeration_are_certified_by_the_s_lemma(tmp_path: Path) -> None:
    network = random_network([30, 20, 3], 2, seed=0)
    u = np.random.default_rng(1).normal(size=30)
    certified = pm.margin(network, u)
    accepted(network, certified.certificate, tmp_path)
    assert certified.standing is Standing.CERTIFIED
    assert certified.upper == pytest.approx(pm.margin(network, u, proof=False).radius, rel=1e-7)
    assert pm.verify(network, u, 0.999 * certified.lower).answer is Answer.ROBUST
    assert pm.verify(network, u, 1.001 * certified.upper).answer is Answer.VULNERABLE


@pytest.mark.parametrize("activations", [[[1.0], [0.0, 1.0, 1.0]], [[0.0, 1.0, 1.0], [1.0]]])
def test_constant_layers_get_proofs_that_the_checker_accepts(activations: list[list[float]], tmp_path: Path) -> None:
    eye = np.eye(2)
    network = pm.PolynomialNetwork([eye, eye, (eye, [2.0, 0.0])], activations=activations)
    verdict = pm.verify(network, [0.5, 0.5], 1.0)
    assert verdict.answer is Answer.ROBUST
    accepted(network, verdict.certificate, tmp_path)


def test_a_hyperplane_does_not_speak_for_squares(tmp_path: Path) -> None:
    network = pm.PolynomialNetwork([np.eye(2), ([[0.0, 0.0], [1.0, 0.0]], [1.0, 0.0])], degree=2)
    pm.verify(network, [0.0, 0.0], 0.5).certificate.save(tmp_path / "certificate.json")
    network.save(tmp_path / "model.npz")
    document = json.loads((tmp_path / "certificate.json").read_text())
    assert check(tmp_path / "model.npz", tmp_path / "certificate.json").accepted
    document["rivals"][0]["proof"] = {"kind": "hyperplane"}
    (tmp_path / "certificate.json").write_text(json.dumps(document))
    verdict = check(tmp_path / "model.npz", tmp_path / "certificate.json")
    assert not verdict.accepted
    assert "degree above one" in verdict.reason


def test_enumeration_is_not_begun_without_the_time_for_it() -> None:
    network = random_network([13, 14, 2], 3, seed=2)
    case = Case(pm.Verifier(network)._prepared(1e-9), np.full(13, 0.1), Deadline.after(1e-9))
    proof, nearest, reason = prove_by_enumeration(case, case.rivals[0])
    assert proof is None
    assert nearest is None
    assert "no time for 24,573 critical points" in reason
