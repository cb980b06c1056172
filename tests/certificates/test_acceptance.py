"""CERTIFIED and ROBUST are words of the checker: without it the answer is what is left without the proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.deadlines import Deadline
from polymargin.margins import judge, provers
from polymargin.margins.case import Case
from polymargin_checker import CheckResult

NET = random_network([2, 3, 3], 2, seed=0)
POINT = np.array([0.1, -0.2])
NEARS: list[dict[str, Any]] = [{}, {"within": pm.Linf()}, {"within": pm.L2(domain=(-1.0, 1.0))}]


class Verdicts:
    """A checker that says what it is told, certificate by certificate, and remembers how often it was asked."""

    def __init__(self, *said: CheckResult) -> None:
        self.said, self.asked = list(said), 0

    def __call__(self, model: bytes, certificates: bytes, seconds: float | None = None) -> list[CheckResult]:
        self.asked += 1
        return [self.said.pop(0) if len(self.said) > 1 else self.said[0]]


@pytest.mark.parametrize("near", NEARS)
def test_refused_proofs_are_no_answers(near: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    radius = 0.9 * pm.margin(NET, POINT, proof=False, **near).radius
    assert pm.verify(NET, POINT, radius, **near).answer.name == "ROBUST"
    monkeypatch.setattr(judge, "check_rows", Verdicts(CheckResult(False, "a word of refusal")))
    verdict = pm.verify(NET, POINT, radius, **near)
    assert (verdict.answer.name, verdict.standing.name, verdict.certificate) == ("UNKNOWN", "BRACKETED", None)
    assert verdict.lower == 0
    assert "the checker does not accept the proof (a word of refusal)" in verdict.reason
    lost = pm.verify(NET, POINT, 1.5 * radius, **near)
    assert (lost.answer.name, lost.standing.name, lost.certificate) == ("VULNERABLE", "NUMERICAL", None)
    assert "a word of refusal" in lost.reason
    found = pm.margin(NET, POINT, timeout=5, **near)
    assert (found.standing.name, found.certificate) == ("NUMERICAL", None)
    assert any("a word of refusal" in note for note in found.notes)


@pytest.mark.parametrize("near", NEARS)
def test_without_the_time_for_the_checker_bounds_stay_and_no_word_is_said(
    near: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    radius = 0.9 * pm.margin(NET, POINT, proof=False, **near).radius
    certified = pm.margin(NET, POINT, timeout=5, **near)
    monkeypatch.setattr(judge, "check_rows", Verdicts(CheckResult(False, "a step takes long", in_time=False)))
    verdict = pm.verify(NET, POINT, radius, **near)
    assert (verdict.answer.name, verdict.certificate) == ("UNKNOWN", None)
    assert "the time was too short to check the proof (a step takes long)" in verdict.reason
    found = pm.margin(NET, POINT, timeout=5, **near)
    assert found.radius == pytest.approx(certified.upper, rel=1e-6)
    assert (found.standing.name, found.certificate) == ("NUMERICAL", None)
    assert any("too short to check" in note for note in found.notes)


def test_a_false_proof_of_the_solver_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branch and bound claims a ball that reaches beyond the tie; the true checker sees that the proof does not hold."""
    truth = pm.margin(NET, POINT, proof=False).radius
    honest = provers.proved_at

    def boastful(*asked: Any, **options: Any) -> Any:
        *others, radius = asked
        found = honest(*others, 0.9 * truth, **options)
        claimed = {rival: {**proof, "radius": float(radius).hex()} for rival, proof in found.proofs.items()}
        return replace(found, radius=radius, proofs=claimed)

    monkeypatch.setattr(provers, "proved_at", boastful)
    monkeypatch.setattr(provers, "nearest_loss", lambda *_, **__: None)
    verdict = pm.verify(NET, POINT, 1.2 * truth)
    assert verdict.answer.name == "UNKNOWN"
    assert verdict.lower == 0
    assert "the checker does not accept the proof" in verdict.reason


def test_the_checker_gets_a_quarter_of_the_time_at_least() -> None:
    case = Case(pm.Verifier(NET)._prepared(100.0), POINT, Deadline.after(100))
    assert case.end.end - case.deadline.end == pytest.approx(25, abs=1)
