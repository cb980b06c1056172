"""CERTIFIED margins: by a certificate that the checker accepts in the same call, or by exact arithmetic that needs none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.margins import judge
from polymargin.margins.certificate import Certificate
from polymargin.standing import Standing
from polymargin_checker import CheckResult

SUBSTANCE = CheckResult(False, "a word of refusal")
TIME = CheckResult(False, "a step takes long", in_time=False)


def ask(kind: str) -> pm.Margin:
    if kind == "too many paths":
        verifier = pm.Verifier(random_network([3, 4, 2], 3, seed=0), settings=pm.Settings(limit=1))
        return verifier.margin([0.3, -0.2, 0.5], proof=False)
    net = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), ([[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0])], degree=4)
    return pm.margin(net, [0.05, 0.02], proof=False, within=pm.Linf())


@pytest.mark.parametrize("kind", ["too many paths", "open faces"])
def test_bounds_that_meet_are_certified_by_the_checker_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    certified = ask(kind)
    assert certified.standing is Standing.CERTIFIED
    monkeypatch.setattr(judge, "check_rows", lambda *_, **__: [SUBSTANCE])
    refused = ask(kind)
    assert refused.standing is Standing.BRACKETED
    assert any("the checker does not accept the proof (a word of refusal)" in note for note in refused.notes)
    assert refused.lower < 0.9 * certified.lower  # what is known without the proof
    monkeypatch.setattr(judge, "check_rows", lambda *_, **__: [TIME])
    late = ask(kind)
    assert late.standing is Standing.BRACKETED
    assert late.lower == pytest.approx(certified.lower, rel=1e-9)
    assert any("too short to check" in note for note in late.notes)


def test_exact_arithmetic_needs_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(judge, "check_rows", never)
    tie = pm.PolynomialNetwork([([[1.0], [-1.0]], None), ([[1.0, 0.0], [0.0, 1.0]], None)], degree=2)
    assert pm.margin(tie, [0.5], proof=False).standing is Standing.CERTIFIED  # x² against x²: a tie everywhere
    roots = pm.Boundary.from_expression("(x - 3)*(x - 5)*(x**2 + 1)")
    assert pm.margin(roots, [0.0], proof=False).standing is Standing.CERTIFIED


def test_a_certificate_in_memory_is_what_its_file_holds(tmp_path: Any) -> None:
    document = Certificate({"claim": {}, "rivals": [], "point": ["0x1p+0"]})
    assert document.save(tmp_path / "proof.json").read_bytes() == document.to_bytes()
