"""Verdicts in every norm: they agree with exact margins, and the checker accepts each of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import asked, random_network, region

import polymargin as pm
from polymargin.deadlines import Deadline
from polymargin.errors import InputError
from polymargin.margins import provers
from polymargin.networks.attention import random_attention
from polymargin.regions import ThreatModel
from polymargin_checker.checker import check
from polymargin_checker.relaxation import expansion

MATRIX = [[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.6]]
PLANE = [[1.0, 0.1], [0.3, 1.7], [-1.0, 2.0]]

CASES: list[tuple[list[int], int, dict[str, Any]]] = [
    ([2, 3, 2], 2, {"norm": "linf"}),
    ([2, 3, 3], 3, {"norm": "linf", "domain": (-0.6, 0.7)}),
    ([2, 3, 2], 3, {"norm": "l1", "domain": (-1.0, 1.0)}),
    ([2, 3, 2, 2], 2, {"norm": "l2", "domain": (-0.5, 0.5)}),
    ([3, 3, 2], 2, {"norm": "linf", "movable": [0, 2], "weights": [1.0, 2.0, 3.0]}),
    ([3, 4, 3], 2, {"norm": "l1", "rivals": [0, 1], "abstain": 0.05}),
    ([2, 3, 3], 2, {"norm": "l2", "rivals": [0, 1]}),
    ([3, 3, 2], 2, {"norm": "l2", "weights": [1.0, 2.0, 3.0]}),
    ([3, 3, 2], 2, {"weights": MATRIX}),
    ([3, 3, 3], 3, {"weights": MATRIX, "abstain": 0.02}),
    ([3, 4, 3], 2, {"weights": MATRIX, "movable": [0, 2]}),
    ([3, 3, 2], 2, {"movable": PLANE}),
    ([3, 3, 2, 2], 2, {"movable": PLANE, "weights": [1.0, 2.0, 3.0]}),
    ([3, 4, 3], 2, {"movable": PLANE, "weights": MATRIX, "rivals": [0, 1]}),
    ([3, 4, 3], 3, {"movable": [[0.5], [-1.0], [0.1]]}),
]


SHARES = {2: 0.5, 5: 0.8}
"""Of the margin, what is proved within seconds in L1; 0.99 otherwise."""


def bounded(network: Any, point: Any, limit: float, **options: Any) -> provers.RadiusBound:
    """The largest radius up to a limit that is proved against all rivals that count, within seconds."""
    threat = ThreatModel.of(network.dimension, **options)
    label, point = int(network.predict(point)), np.asarray(point, dtype=float)
    counted = range(network.class_count) if threat.rivals is None else threat.rivals
    rivals = [rival for rival in counted if rival != label]
    return provers.bound(
        network, point, label, rivals, threat.region, limit=limit, abstain=threat.abstain, deadline=Deadline.after(2)
    )


def accepted(network: Any, verdict: Any, folder: Path) -> str:
    network.save(folder / "model.npz")
    verdict.certificate.save(folder / "proof.json")
    found = check(folder / "model.npz", folder / "proof.json")
    assert found.accepted, found.reason
    return found.reason


@pytest.mark.parametrize("case", range(len(CASES)))
def test_verdicts_on_both_sides_of_the_exact_margin(case: int, tmp_path: Path) -> None:
    shape, degree, options = CASES[case]
    network = random_network(shape, degree, seed=case)
    point = np.clip(0.3 * np.random.default_rng(case).normal(size=shape[0]), -0.4, 0.4)
    near = region(shape[0], **{k: v for k, v in options.items() if k not in ("rivals", "abstain")})
    exact = pm.margin(network, point, proof=False, workers=1, **asked(**options))
    if exact.radius == 0 or not np.isfinite(exact.radius):
        verdict = pm.verify(network, point, 0.5, **asked(**options))
        assert (verdict.answer.name == "VULNERABLE") == (exact.radius == 0)
        return
    robust = pm.verify(network, point, SHARES.get(case, 0.99) * exact.radius, timeout=20, **asked(**options))
    assert robust.answer.name == "ROBUST", robust
    assert "robust" in accepted(network, robust, tmp_path)
    lost = pm.verify(network, point, 1.001 * exact.radius, **asked(**options))
    assert lost.answer.name == "VULNERABLE"
    assert "vulnerable" in accepted(network, lost, tmp_path)
    assert lost.counterexample is not None
    assert near.admits(lost.counterexample)
    attacked = pm.attack(network, point, **asked(**options))
    assert attacked is not None
    assert exact.radius * (1 - 1e-9) <= attacked.distance <= 1.05 * exact.radius
    proved = bounded(network, point, attacked.distance, **asked(**options))
    assert 0 < proved.radius <= exact.radius * (1 + 1e-9)
    assert {proof["kind"] for proof in proved.proofs.values()} == {"relaxation"}


def test_networks_of_products_and_attention_in_a_domain(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    net = pm.pi_net([generator.normal(size=(3, 3)) for _ in range(3)], generator.normal(size=(2, 3)))
    for network in (net, random_attention(1, 3, 2, 2, seed=4)):
        u = np.array([0.3, 0.2, -0.1])
        far = pm.attack(network, u, within=pm.Linf(domain=(-1, 1)))
        radius = 0.2 if far is None else 0.9 * far.distance
        verdict = pm.verify(network, u, radius, within=pm.Linf(domain=(-1, 1)))
        assert verdict.answer.name == "ROBUST"
        sentence = accepted(network, verdict, tmp_path)
        assert "an L∞ distance below" in sentence
        assert (
            "(no weights, a domain with low ends from -1.0 to -1.0 and high ends from 1.0 to 1.0, 3 of 3 " in sentence
        )


def test_certified_margins_enclose_the_exact_one(tmp_path: Path) -> None:
    network, u = random_network([2, 3, 2], 2, seed=0), np.array([0.1, -0.2])
    exact = pm.margin(network, u, proof=False, within=pm.Linf())
    found = pm.margin(network, u, within=pm.Linf(), timeout=20)
    assert found.lower <= exact.radius * (1 + 1e-12)
    assert found.upper >= exact.radius * (1 - 1e-12)
    assert found.lower >= 0.99 * exact.radius
    assert "an L∞ distance" in accepted(network, found, tmp_path)


def test_batches_answer_row_by_row() -> None:
    network = random_network([2, 3, 2], 2, seed=0)
    points = np.array([[0.1, -0.2], [9.0, 0.0], [0.0, 0.1]])
    verdicts = pm.verify(network, points, 0.01, within=pm.Linf(domain=(-1, 1)))
    assert [row.standing.name for row in verdicts] == ["CERTIFIED", "FAILED", "CERTIFIED"]
    assert "outside the domain" in verdicts[1].reason
    assert [a.norm for a in pm.attack(network, points[[0, 2]], within=pm.L1()) if a] == ["l1", "l1"]


def test_where_nothing_may_move_the_point_decides(tmp_path: Path) -> None:
    network = random_network([2, 3, 2], 2, seed=0)
    verdict = pm.verify(network, [0.1, 0.2], 0.5, within=pm.Linf(domain=([0.1, 0.2], [0.1, 0.2])))
    accepted(network, verdict, tmp_path)
    assert pm.verify(network, [0.1, 0.2], 1e60, within=pm.Linf(), timeout=0.5).answer.name != "ROBUST"


def test_what_has_no_proof_says_so() -> None:
    network = random_network([2, 3, 2], 2, seed=0)
    with pytest.raises(InputError, match="leave out the domain"):
        pm.attack(network, [0.1, 0.2], **asked(weights=[[2.0, 0.0], [0.0, 1.0]], domain=(-1, 1)))
    with pytest.raises(InputError, match="classes 0 to 1"):
        pm.verify(network, [0.1, 0.2], 0.1, rivals=[5])


def test_no_proof_is_made_that_the_checker_would_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert provers.MANY <= expansion.LARGEST_SPACE
    network, point = random_network([2, 3, 3, 2], 2, seed=0), np.zeros(2)
    assert pm.verify(network, point, 1e-3, within=pm.Linf()).answer.name == "ROBUST"
    monkeypatch.setattr(provers, "MANY", 4)
    verdict = pm.verify(network, point, 1e-3, within=pm.Linf())
    assert verdict.answer.name == "UNKNOWN"
    assert "5 variables, of which programs take at most 4" in verdict.reason


def test_a_ball_in_disguise_is_that_ball() -> None:
    """Matrices and subspaces that say nothing new, against what is asked without them."""
    network, u = random_network([3, 4, 3], 2, seed=2), np.array([0.2, -0.1, 0.3])
    columns = np.array([[2.0, 0.0], [0.0, 0.0], [1.0, -1.0]])
    ones = {"weights": np.ones(3)}
    for factor, disguised, plain in (
        (2.0, {"weights": 4 * np.eye(3)}, ones),
        (1.0, {"weights": np.diag([1.0, 4.0, 9.0])}, {"weights": [1.0, 2.0, 3.0]}),
        (1.0, {"movable": np.eye(3)[::-1]}, ones),
        (1.0, {"movable": columns, "weights": [1.0, 2.0, 3.0]}, {"movable": [0, 2], "weights": [1.0, 2.0, 3.0]}),
        (2.0, {"movable": columns, "weights": 4 * np.eye(3)}, {"movable": [0, 2]}),
    ):
        near, far = (pm.attack(network, u, **asked(**options)) for options in (disguised, plain))
        assert near is not None
        assert far is not None
        assert near.distance == pytest.approx(factor * far.distance, rel=2e-3)
        cases = ((disguised, near.distance), (plain, near.distance / factor))
        bounds = [bounded(network, u, limit, **asked(**options)).radius for options, limit in cases]
        assert bounds[0] == pytest.approx(factor * bounds[1], rel=0.01)
        exact = factor * pm.margin(network, u, proof=False, **asked(**plain)).radius
        assert bounds[0] <= exact * (1 + 1e-9)
        answers = [pm.verify(network, u, share * exact, **asked(**disguised)).answer.name for share in (0.999, 1.001)]
        assert answers == ["ROBUST", "VULNERABLE"]


def test_counterexamples_in_a_subspace_are_exact_though_doubles_cannot_write_them() -> None:
    network, u = random_network([3, 4, 3], 3, seed=5), np.array([0.2, -0.1, 0.3])
    column = np.array([[1.0], [1 / 3], [0.1]])
    found = pm.attack(network, u, **asked(movable=column))
    assert found is not None
    verdict = pm.verify(network, u, 1.01 * found.distance, **asked(movable=column))
    assert verdict.certificate is not None
    ((term,),) = verdict.certificate.data["upper"]["along"]
    step = Fraction(float.fromhex(term))
    x = [Fraction(a) + Fraction(float(b)) * step for a, b in zip(u.tolist(), column[:, 0], strict=True)]
    logits = network.logits(np.array(x, dtype=object))
    assert logits[verdict.rival] >= logits[verdict.label]
    assert np.allclose(verdict.counterexample, [float(v) for v in x], rtol=1e-15, atol=0)
    assert any(Fraction(v) != exact for v, exact in zip(verdict.counterexample.tolist(), x, strict=True))


def test_a_lead_that_is_missing_at_the_point_itself(tmp_path: Path) -> None:
    network = random_network([3, 4, 2], 2, seed=0)
    verdict = pm.verify(network, [0.1, 0.2, -0.3], 0.1, **asked(movable=PLANE, abstain=100.0))
    assert verdict.answer.name == "VULNERABLE"
    assert verdict.upper == 0
    accepted(network, verdict, tmp_path)


def test_products_and_attention_in_round_coordinates(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    net = pm.pi_net([generator.normal(size=(3, 3)) for _ in range(3)], generator.normal(size=(2, 3)))
    for network in (net, random_attention(1, 3, 2, 2, seed=4)):
        u = np.array([0.3, 0.2, -0.1])
        for options in ({"weights": MATRIX}, {"movable": PLANE}):
            far = pm.attack(network, u, **asked(**options))
            radius = 0.2 if far is None else 0.9 * far.distance
            verdict = pm.verify(network, u, radius, **asked(**options))
            assert verdict.answer.name == "ROBUST"
            accepted(network, verdict, tmp_path)
            if far is not None:
                accepted(network, pm.verify(network, u, 1.1 * far.distance, **asked(**options)), tmp_path)
