"""CERTIFIED and ROBUST are words of the checker: without it the answer is what is left without the proof."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.certificates import rivals
from polymargin.certificates.session import Options, Session
from polymargin.margins import judge
from polymargin.margins.proofs import RivalProof
from polymargin_checker import CheckResult

NET = random_network([2, 3, 3], 2, seed=0)
POINT = np.array([0.1, -0.2])
NEARS: list[dict[str, Any]] = [{}, {"within": pm.Linf()}, {"within": pm.L2(domain=(-1.0, 1.0))}]


class Verdicts:
    """A checker that says what it is told, certificate by certificate, and remembers how often it was asked."""

    def __init__(self, *said: CheckResult) -> None:
        self.said, self.asked = list(said), 0

    def __call__(self, model: bytes, certificate: bytes, seconds: float | None = None) -> list[CheckResult]:
        self.asked += 1
        return [self.said.pop(0) if len(self.said) > 1 else self.said[0]]


@pytest.mark.parametrize("near", NEARS)
def test_refused_proofs_are_no_answers(near: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    radius = 0.9 * pm.margin(NET, POINT, cache=False, **near).radius
    assert pm.verify(NET, POINT, radius, cache=False, **near).answer.name == "ROBUST"
    monkeypatch.setattr(judge, "check_rows", Verdicts(CheckResult(False, "a word of refusal")))
    verdict = pm.verify(NET, POINT, radius, cache=False, **near)
    assert (verdict.answer.name, verdict.standing.name, verdict.certificate) == ("UNKNOWN", "BRACKETED", None)
    assert verdict.lower == 0
    assert "the checker does not accept the proof (a word of refusal)" in verdict.reason
    lost = pm.verify(NET, POINT, 1.5 * radius, cache=False, **near)
    assert (lost.answer.name, lost.standing.name, lost.certificate) == ("VULNERABLE", "NUMERICAL", None)
    assert "a word of refusal" in lost.reason
    found = pm.certify(NET, POINT, cache=False, timeout=5, **near).margin
    assert (found.lower, found.upper, found.standing.name) == (0, np.inf, "BRACKETED")
    assert any("a word of refusal" in note for note in found.notes)


@pytest.mark.parametrize("near", NEARS)
def test_without_the_time_for_the_checker_bounds_stay_and_no_word_is_said(
    near: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    radius = 0.9 * pm.margin(NET, POINT, cache=False, **near).radius
    certified = pm.certify(NET, POINT, cache=False, timeout=5, **near).margin
    monkeypatch.setattr(judge, "check_rows", Verdicts(CheckResult(False, "a step takes long", in_time=False)))
    verdict = pm.verify(NET, POINT, radius, cache=False, **near)
    assert (verdict.answer.name, verdict.certificate) == ("UNKNOWN", None)
    assert "the time was too short to check the proof (a step takes long)" in verdict.reason
    found = pm.certify(NET, POINT, cache=False, timeout=5, **near).margin
    assert found.upper == pytest.approx(certified.upper, rel=1e-9)
    assert found.standing.name == "BRACKETED"
    assert any("too short to check" in note for note in found.notes)


def test_a_refused_proof_gives_way_to_the_one_it_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole is refused, so is the proof against the first rival alone; its forerunner and the other rival's are accepted."""
    no, yes = CheckResult(False, "not shown"), CheckResult(True, "")
    told = Verdicts(no, yes, no, yes, yes, yes, yes)
    monkeypatch.setattr(judge, "check_rows", told)
    found = pm.certify(random_network([4, 6, 3], 3, seed=1), np.zeros(4), method="exclusion", timeout=20)
    assert 0 < found.margin.lower < found.margin.upper < np.inf
    assert found.margin.standing.name == "BRACKETED"
    assert told.asked >= 6


def test_the_stronger_proof_remembers_the_weaker_one() -> None:
    weak, strong = (RivalProof(1, radius, {"kind": "region"}) for radius in (0.5, 0.75))
    assert strong.instead_of(weak).weaker is weak
    assert weak.instead_of(strong) is strong
    assert weak.instead_of(None) is weak


def test_a_false_proof_of_the_solver_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branch and bound claims a ball that reaches beyond the tie; the true checker sees that the proof does not hold."""
    truth = pm.margin(NET, POINT, cache=False).radius
    honest = rivals.prove_at_once

    def boastful(session: Any, rival: int, radius: float, timeout: float = np.inf) -> Any:
        proof = honest(session, rival, 0.9 * truth, timeout)
        return RivalProof(rival, radius, {**proof.proof, "radius": float(radius).hex()})

    module = import_module("polymargin.certificates.verify")
    monkeypatch.setattr(module, "prove_at_once", boastful)
    monkeypatch.setattr(module, "search", lambda *_: None)
    verdict = pm.verify(NET, POINT, 1.2 * truth, cache=False)
    assert verdict.answer.name == "UNKNOWN"
    assert verdict.lower == 0
    assert "the checker does not accept the proof" in verdict.reason


def test_the_checker_gets_a_quarter_of_the_time_at_least() -> None:
    session = Session(judge.Judge(NET), POINT, Options(cache=False), timeout=100)
    assert session.end.end - session.deadline.end == pytest.approx(25, abs=1)
