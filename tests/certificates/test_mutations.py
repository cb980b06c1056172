"""Certificates made by the solver, damaged in one place: the checker must refuse each and say why."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines import exclude
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


@pytest.fixture(scope="module")
def exclusion() -> dict[str, Any]:
    """A proof that needs branching, of a deep network that is not made of squares alone."""
    plain = random_network([3, 4, 3, 2], 2, seed=0)
    layers = [(layer.weights, layer.bias) for layer in plain.chain.layers]
    network = pm.PolynomialNetwork(layers, activations=[[0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    u = np.random.default_rng(1).normal(size=3)
    radius = 0.995 * pm.margin(network, u, proof=False).radius
    label = int(network.predict(u))
    found = exclude(network, u, label, 1 - label, radius)
    assert found.proved
    assert found.leaves > 1
    certificate = pm.margin(network, u).certificate.data | {
        "claim": {"kind": "robust", "radius": float(radius).hex()},
        "rivals": [{"rival": 1 - label, "lower": float(radius).hex(), "proof": found.to_proof()}],
        "upper": None,
    }
    return {"network": network, "document": certificate}


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


def a_leaf(tree: dict[str, Any]) -> dict[str, Any]:
    while "split" in tree:
        tree = tree["low"]
    return tree


LEAF_MUTATIONS: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("a leaf removed", lambda t: t.__setitem__("high", None)),
    (
        "half of the ball forgotten",
        lambda t: [t.update(copy.deepcopy(t["low"])), t.pop("split"), t.pop("low"), t.pop("high")],
    ),
    ("a split moved", lambda t: t["split"].__setitem__(1, enlarge(t["split"][1], -3.0))),
    ("another neuron split", lambda t: t["split"].__setitem__(0, (t["split"][0] + 1) % 4)),
    ("a multiplier changed", lambda t: a_leaf(t)["bound"].__setitem__("multiplier", "0x0p+0")),
    ("a negative multiplier", lambda t: a_leaf(t)["bound"].__setitem__("multiplier", "-0x1p+0")),
    ("a minorant raised", lambda t: a_leaf(t)["bound"]["quadratics"][0].__setitem__(2, "0x1p+4")),
    ("a slope changed", lambda t: a_leaf(t)["bound"]["slopes"][0][0].__setitem__(0, "0x1p+4")),
    ("a range narrowed", lambda t: a_leaf(t)["ranges"][0][0].__setitem__(0, a_leaf(t)["ranges"][0][0][1])),
]


@pytest.mark.parametrize(("name", "mutate"), LEAF_MUTATIONS, ids=[m[0] for m in LEAF_MUTATIONS])
def test_damaged_exclusion_proofs(
    name: str, mutate: Callable[[dict[str, Any]], object], exclusion: dict[str, Any], tmp_path: Path
) -> None:
    document = copy.deepcopy(exclusion["document"])
    assert check_document(exclusion["network"], document, tmp_path).accepted
    mutate(document["rivals"][0]["proof"]["tree"])
    verdict = check_document(exclusion["network"], document, tmp_path)
    assert not verdict.accepted, name
    assert verdict.reason


def test_a_radius_above_the_margin_is_never_proved(exclusion: dict[str, Any], tmp_path: Path) -> None:
    document = copy.deepcopy(exclusion["document"])
    radius = enlarge(document["claim"]["radius"], 1.2)
    document["claim"]["radius"] = document["rivals"][0]["lower"] = document["rivals"][0]["proof"]["radius"] = radius
    assert not check_document(exclusion["network"], document, tmp_path).accepted
