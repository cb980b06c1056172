"""CERTIFIED margins: by a certificate that the checker accepts in the same call, or by exact arithmetic that needs none."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.margins import bracket, judge
from polymargin.margins.certificate import Certificate
from polymargin.margins.judge import Judge
from polymargin.margins.result import PairMargin
from polymargin.quadric import PreciseQuadric
from polymargin.standing import Standing
from polymargin_checker import CheckResult

SUBSTANCE = CheckResult(False, "a word of refusal")
TIME = CheckResult(False, "a step takes long", in_time=False)


def ask(kind: str) -> pm.Margin:
    if kind == "too many paths":
        return pm.margin(random_network([3, 4, 2], 3, seed=0), [0.3, -0.2, 0.5], limit=1, rtol=1e-2, cache=False)
    net = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), ([[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0])], degree=4)
    return pm.margin(net, [0.05, 0.02], within=pm.Linf(), cache=False)


@pytest.mark.parametrize("kind", ["too many paths", "open faces"])
def test_bounds_that_meet_are_certified_by_the_checker_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    certified = ask(kind)
    assert certified.standing is Standing.CERTIFIED
    monkeypatch.setattr(judge, "check", lambda *_, **__: SUBSTANCE)
    refused = ask(kind)
    assert refused.standing is Standing.BRACKETED
    assert any("the checker does not accept the proof (a word of refusal)" in note for note in refused.notes)
    assert refused.lower < 0.9 * certified.lower  # what is known without the proof
    monkeypatch.setattr(judge, "check", lambda *_, **__: TIME)
    late = ask(kind)
    assert late.standing is Standing.BRACKETED
    assert late.lower == pytest.approx(certified.lower, rel=1e-9)
    assert any("too short to check" in note for note in late.notes)


def test_a_pair_that_the_checker_refuses_keeps_what_enumeration_knew(monkeypatch: pytest.MonkeyPatch) -> None:
    network, u = random_network([2, 4, 2], 2, seed=1), np.array([0.2, -0.1])
    label = int(network.predict(u))
    unknown = PairMargin(1 - label, math.inf, 0.125, math.inf, None, "continuation", False, None, None, 1)
    proved = bracket.bracketed(Judge(network), u, label, unknown)
    assert proved.proved
    assert proved.complete
    assert proved.lower <= pm.margin(network, u, cache=False).radius * (1 + 1e-12) <= proved.upper * (1 + 2e-12)
    monkeypatch.setattr(judge, "check", lambda *_, **__: SUBSTANCE)
    refused = bracket.bracketed(Judge(network), u, label, unknown)
    assert (refused.lower, refused.proved, refused.complete) == (0.125, False, False)


def test_exact_arithmetic_needs_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(judge, "check", never)
    tie = pm.PolynomialNetwork([([[1.0], [-1.0]], None), ([[1.0, 0.0], [0.0, 1.0]], None)], degree=2)
    assert pm.margin(tie, [0.5], cache=False).standing is Standing.CERTIFIED  # x² against x²: a tie everywhere
    roots = pm.Boundary.from_expression("(x - 3)*(x - 5)*(x**2 + 1)")
    assert pm.margin(roots, [0.0], cache=False).standing is Standing.CERTIFIED


def test_the_nearest_point_of_a_quadric_is_enclosed_in_the_hard_case() -> None:
    """From the centre of 3x² + y² = 1 the way to the nearest points is along an eigenvector; they are at 1/√3."""
    hard = PreciseQuadric(pm.Boundary.from_expression("3*x**2 + y**2 - 1")).nearest(np.zeros(2))
    assert Fraction(hard.lower) ** 2 <= Fraction(1, 3) <= Fraction(hard.upper) ** 2
    assert hard.lower == pytest.approx(hard.upper, rel=1e-14)


def test_a_certificate_in_memory_is_what_its_file_holds(tmp_path: Any) -> None:
    document = Certificate({"claim": {}, "rivals": [], "point": ["0x1p+0"]})
    assert document.save(tmp_path / "proof.json").read_bytes() == document.to_bytes()
