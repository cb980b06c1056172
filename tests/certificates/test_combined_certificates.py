"""Lifted proofs with combinations and balances: accepted by the checker in both arithmetics, refused once a field is damaged."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certificates.test_lifted_certificates import judged, scaled
from engines import attack
from problems import random_network

import polymargin as pm
from polymargin.bounds.lifted.expansion import expansion_at
from polymargin.bounds.lifted.question import Question
from polymargin.bounds.view import View
from polymargin_checker import arithmetic as arithmetics

WIDTHS = {
    "three layers": (8, 12, 12, 6, 3),
    "fewer neurons than inputs": (8, 5, 12, 6, 2),
    "four layers": (8, 12, 9, 6, 5, 2),
}


def combined_document(name: str, fraction: float = 0.3) -> tuple[pm.Network, dict[str, Any]]:
    """A proof of the whole ball in one leaf for every rival."""
    network, u = random_network(WIDTHS[name], 2, 3), np.random.default_rng([3, 1]).normal(size=WIDTHS[name][0])
    nearest = attack(network, u)
    assert nearest is not None
    label, radius, rivals = int(network.predict(u)), fraction * nearest.distance, []
    for rival in range(network.class_count):
        if rival != label:
            question = Question(expansion_at(View.of(network, u, label, rival)), label, rival, radius)
            _, proof = question.attempt()
            assert proof is not None
            written = {"kind": "lifted", "radius": float(radius).hex(), **proof.to_proof()}
            rivals.append({"rival": rival, "lower": float(radius).hex(), "proof": written})
    return network, {
        "format": "polymargin-certificate-1",
        "model": {"sha256": network.fingerprint},
        "point": [float(v).hex() for v in u],
        "label": label,
        "claim": {"kind": "robust", "radius": float(radius).hex()},
        "rivals": rivals,
        "upper": None,
    }


@pytest.fixture(scope="module", params=WIDTHS)
def case(request: pytest.FixtureRequest) -> tuple[str, pm.PolynomialNetwork, dict[str, Any]]:
    return request.param, *combined_document(request.param)


@pytest.mark.parametrize("largest_exact", [0, 1000])
def test_both_arithmetics_accept(
    case: Any, largest_exact: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, network, data = case
    for entry in data["rivals"]:
        proof = entry["proof"]
        assert any(float.fromhex(share) for share in proof["tree"]["exchanges"])
        assert any(float.fromhex(weight) for weight in proof["tree"]["cubic"]["weights"])
        assert (proof["combinations"]["balances"] is not None) == (name != "four layers")
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", largest_exact)
    verdict = judged(network, data, tmp_path)
    assert verdict.accepted, verdict.reason


DAMAGE: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("other weights", lambda p: scaled(p["combinations"]["weights"][0], 0, 1.0, 1e3), "end is|definite"),
    ("other directions", lambda p: scaled(p["combinations"]["directions"][0], 0, 1.0, 1e6), "definite"),
    ("narrower from below", lambda p: scaled(p["combinations"]["ranges"][0], 0, 1e-3), "entry 0: the lower end"),
    ("narrower from above", lambda p: scaled(p["combinations"]["ranges"][1], 1, 1e-3), "entry 1: the upper end"),
    ("wider", lambda p: scaled(p["combinations"]["ranges"][0], 1, 1e6), "definite"),
    ("another exchange", lambda p: scaled(p["tree"]["exchanges"], 0, 1.0, 1e6), "definite"),
    ("other cubic weights", lambda p: scaled(p["tree"]["cubic"]["weights"], 0, 1.0, 1e6), "definite"),
    ("another balance", lambda p: p["tree"]["cubic"].__setitem__("balance", "0x1p+60"), "definite"),
    ("another equality", lambda p: scaled(p["tree"]["equalities"][-1], -1, 1.0, 1e6), "definite"),
    ("another interval", lambda p: scaled(p["tree"]["intervals"][-1], -1, 0.0), "definite"),
    ("no combinations", lambda p: p.pop("combinations"), "unknown key 'exchanges'"),
    ("no exchanges", lambda p: p["tree"].pop("exchanges"), "'exchanges' is missing"),
]


@pytest.mark.parametrize(("change", "reason"), [(c, r) for _, c, r in DAMAGE], ids=[name for name, *_ in DAMAGE])
def test_damaged_combinations(
    case: Any, change: Callable[[dict[str, Any]], object], reason: str, tmp_path: Path
) -> None:
    _, network, data = case
    broken = copy.deepcopy(data)
    change(broken["rivals"][0]["proof"])
    verdict = judged(network, broken, tmp_path)
    assert not verdict.accepted
    assert any(part in verdict.reason for part in reason.split("|")), verdict.reason
