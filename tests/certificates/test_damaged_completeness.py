"""Completeness proofs made by the solver, damaged in one place: the checker must refuse each and say why."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin_checker.checker import check

NETWORK = random_network([3, 5, 3], 3, seed=3)
POINT = np.array([0.4, -0.3, 0.8])


def check_document(network: pm.Network, document: dict[str, Any], folder: Path) -> Any:
    network.save(folder / "model.npz")
    pm.Certificate(document).save(folder / "certificate.json")
    return check(folder / "model.npz", folder / "certificate.json")


@pytest.fixture(scope="module")
def completeness() -> dict[str, Any]:
    return pm.margin(NETWORK, POINT).certificate.data


def enlarge(value: str, factor: float) -> str:
    return float(float.fromhex(value) * factor).hex()


def change_lower(document: dict[str, Any]) -> None:
    document["claim"]["lower"] = enlarge(document["claim"]["lower"], 1 + 1e-6)
    document["claim"]["upper"] = enlarge(document["claim"]["upper"], 1 + 2e-6)
    for rival in document["rivals"]:
        rival["lower"] = enlarge(rival["lower"], 1 + 1e-6)


def change_upper(document: dict[str, Any]) -> None:
    document["claim"]["lower"] = enlarge(document["claim"]["lower"], 1 - 2e-6)
    document["claim"]["upper"] = enlarge(document["claim"]["upper"], 1 - 1e-6)


def changed(key: str, kind: str, change: Callable[[Any], None]) -> Callable[[dict[str, Any]], None]:
    """An array of the first proof, decoded, changed in place and encoded again."""

    def mutate(document: dict[str, Any]) -> None:
        proof = document["rivals"][0]["proof"]
        values = np.frombuffer(base64.b64decode(proof[key]), dtype=kind).copy()
        change(values)
        proof[key] = base64.b64encode(values.tobytes()).decode()

    return mutate


def conjugate_twice(values: Any) -> None:
    values[-6:] = values[-12:-6] * np.tile([1, -1], 3)


def move_point(document: dict[str, Any]) -> None:
    values = np.frombuffer(base64.b64decode(document["point"])).copy()
    values[0] *= 1 + 1e-6
    document["point"] = base64.b64encode(values.tobytes()).decode()


MUTATIONS: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("a larger lower bound", change_lower, "nearer than the stated lower bound"),
    ("a smaller upper bound", change_upper, "not shown to be as near"),
    (
        "a real one more",
        lambda d: d["rivals"][0]["proof"].__setitem__("reals", d["rivals"][0]["proof"]["reals"] + 1),
        "pairs",
    ),
    ("a box moved", changed("points", "<f8", lambda v: v.__setitem__(-6, v[-6] * (1 + 1e-6))), "Krawczyk"),
    ("a solution twice", changed("points", "<f8", lambda v: v.__setitem__(slice(-6, None), v[-12:-6])), "disjoint"),
    ("a conjugate twice", changed("points", "<f8", conjugate_twice), "disjoint"),
    ("a tiny box", changed("radii", "<i2", lambda v: v.__setitem__(0, -900)), "Krawczyk"),
    ("a huge box", changed("radii", "<i2", lambda v: v.__setitem__(0, 9)), "Krawczyk|disjoint"),
    ("no number", changed("points", "<f8", lambda v: v.__setitem__(1, np.nan)), "not finite"),
    ("a rival removed", lambda d: d["rivals"].pop(), "missing"),
    ("another label", lambda d: d.__setitem__("label", (d["label"] + 1) % 3), "largest logit|rival"),
    ("another point", move_point, "Krawczyk"),
    ("another model", lambda d: d["model"].__setitem__("sha256", "0" * 64), "another model"),
]


def test_the_original_is_accepted(completeness: dict[str, Any], tmp_path: Path) -> None:
    assert check_document(NETWORK, completeness, tmp_path).accepted


@pytest.mark.parametrize(("name", "mutate", "reason"), MUTATIONS, ids=[m[0] for m in MUTATIONS])
def test_damaged_completeness_proofs(
    name: str, mutate: Callable[[dict[str, Any]], object], reason: str, completeness: dict[str, Any], tmp_path: Path
) -> None:
    document = copy.deepcopy(completeness)
    mutate(document)
    verdict = check_document(NETWORK, document, tmp_path)
    assert not verdict.accepted, name
    assert any(part in verdict.reason for part in reason.split("|")), verdict.reason


def test_one_ulp_in_a_weight(completeness: dict[str, Any], tmp_path: Path) -> None:
    first, last = NETWORK.chain.layers
    weights = first.weights.copy()
    weights[0, 0] = np.nextafter(weights[0, 0], np.inf)
    other = pm.PolynomialNetwork([(weights, first.bias), (last.weights, last.bias)], degree=3)
    verdict = check_document(other, completeness, tmp_path)
    assert not verdict.accepted
    assert "another model" in verdict.reason
