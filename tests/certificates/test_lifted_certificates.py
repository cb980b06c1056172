"""Lifted proofs: accepted by the checker in both arithmetics, and refused once any field is damaged."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines import attack, exclude
from flint import fmpq
from problems import random_network

import polymargin as pm
from polymargin_checker import arithmetic as arithmetics
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.checker import check
from polymargin_checker.enclosures import Balls
from polymargin_checker.float_cholesky import surely_positive_definite
from polymargin_checker.floats import Floats


def document(network: pm.Network, u: np.ndarray, fraction: float) -> dict[str, Any]:
    nearest = attack(network, u)
    assert nearest is not None
    label, radius = int(network.predict(u)), fraction * nearest.distance
    found = [exclude(network, u, label, rival, radius) for rival in range(network.class_count) if rival != label]
    assert all(exclusion.proved for exclusion in found)
    text = float(radius).hex()
    return {
        "format": "polymargin-certificate-1",
        "model": {"sha256": network.fingerprint},
        "point": [float(v).hex() for v in u],
        "label": label,
        "claim": {"kind": "robust", "radius": text},
        "rivals": [{"rival": e.rival, "lower": text, "proof": e.to_proof()} for e in found],
        "upper": None,
    }


def judged(network: pm.Network, data: dict[str, Any], folder: Path, *, exact: bool = False) -> Any:
    network.save(folder / "model.npz")
    (folder / "proof.json").write_text(json.dumps(data))
    return check(folder / "model.npz", folder / "proof.json", exact)


CASES = {
    "one leaf": ((4, 4, 3, 2), 3, 0.9),
    "splits": ((3, 4, 3, 2), 2, 0.9),
    "three layers": ((6, 4, 4, 3, 2), 2, 0.9),
    "three classes": ((3, 5, 4, 3), 4, 0.8),
    "quartic": ((3, 5, 4, 3), 2, 0.9),
}


def build(name: str) -> tuple[pm.Network, np.ndarray, float]:
    widths, seed, fraction = CASES[name]
    network = random_network(widths, 2, seed)
    if name == "quartic":
        layers = [(layer.weights, layer.bias) for layer in network.chain.layers]
        network = pm.PolynomialNetwork(layers, activations=[[0.0, 0.0, 1.0], [0.1, 0.5, 0.3, 0.0, -0.01]])
    return network, np.random.default_rng([seed, 1]).normal(size=widths[0]), fraction


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[pm.Network, dict[str, Any]]:
    network, u, fraction = build(request.param)
    return network, document(network, u, fraction)


@pytest.mark.parametrize("largest_exact", [0, 1000])
def test_both_arithmetics_accept(
    case: Any, largest_exact: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, data = case
    assert {entry["proof"]["kind"] for entry in data["rivals"]} == {"lifted"}
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", largest_exact)
    assert judged(network, data, tmp_path).accepted
    assert judged(network, data, tmp_path, exact=True).accepted


def a_leaf(tree: dict[str, Any]) -> dict[str, Any]:
    while "split" in tree:
        tree = tree["low"]
    return tree


def scaled(values: Any, place: Any, factor: float, extra: float = 0.0) -> None:
    values[place] = (float.fromhex(values[place]) * factor + extra).hex()


MUTATIONS: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("a larger radius", lambda p: p.__setitem__("radius", (float.fromhex(p["radius"]) * 3).hex()), "proved|definite"),
    ("no radius", lambda p: p.__setitem__("radius", "0x0p+0"), "not positive"),
    ("a lower end raised", lambda p: scaled(p["ranges"][0][0], 0, 0.5), "lower end"),
    ("an upper end lowered", lambda p: scaled(p["ranges"][0][1], 1, 0.5), "upper end"),
    ("a lower end above zero", lambda p: p["ranges"][0][0].__setitem__(0, "0x1p-40"), "lower end|empty"),
    ("ranges turned round", lambda p: p["ranges"][0][0].reverse(), "empty"),
    ("a range forgotten", lambda p: p["ranges"][0].pop(), "entries"),
    ("no ball", lambda p: a_leaf(p["tree"]).__setitem__("ball", "0x0p+0"), "definite"),
    ("a negative ball", lambda p: a_leaf(p["tree"]).__setitem__("ball", "-0x1p+0"), "negative"),
    ("an equality changed", lambda p: scaled(a_leaf(p["tree"])["equalities"][0], 0, 1.0, 1e3), "definite"),
    ("an interval changed", lambda p: scaled(a_leaf(p["tree"])["intervals"][0], 0, 1.0, 1e6), "definite"),
    ("a negative interval", lambda p: a_leaf(p["tree"])["intervals"][0].__setitem__(0, "-0x1p-30"), "negative"),
    ("a cut changed", lambda p: scaled(a_leaf(p["tree"])["cuts"], 0, 1.0, 1e6), "definite"),
    ("a negative cut", lambda p: a_leaf(p["tree"])["cuts"].__setitem__(0, "-0x1p-30"), "negative"),
    ("a multiplier too many", lambda p: a_leaf(p["tree"])["first"].append("0x0p+0"), "entries"),
    ("an unknown field", lambda p: a_leaf(p["tree"]).__setitem__("trust", "me"), "unknown key"),
    ("a field removed", lambda p: a_leaf(p["tree"]).pop("cuts"), "missing"),
]


@pytest.mark.parametrize(("name", "mutate", "reason"), MUTATIONS, ids=[m[0] for m in MUTATIONS])
@pytest.mark.parametrize("largest_exact", [0, 1000])
def test_damaged_proofs(
    name: str, mutate: Any, reason: str, largest_exact: int, case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, data = case
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", largest_exact)
    broken = copy.deepcopy(data)
    mutate(broken["rivals"][0]["proof"])
    verdict = judged(network, broken, tmp_path)
    assert not verdict.accepted, name
    assert any(part in verdict.reason for part in reason.split("|")), verdict.reason


def test_damaged_minorants(tmp_path: Path) -> None:
    network, u, fraction = build("quartic")
    data = document(network, u, fraction)

    def replaced(change: Callable[[dict[str, Any]], object]) -> Any:
        broken = copy.deepcopy(data)
        change(a_leaf(broken["rivals"][0]["proof"]["tree"]))
        return judged(network, broken, tmp_path)

    for place in range(3):  # a parabola is lowered by what lies above its activation, so its constant does not matter
        verdict = replaced(lambda leaf, place=place: scaled(leaf["minorants"][1], place, 1.0, 64.0))
        assert verdict.accepted == (place == 2)
        assert verdict.accepted or "definite" in verdict.reason
    assert "definite" in replaced(lambda leaf: scaled(leaf["minorants"][1], 2, 1.0, -1e6)).reason
    assert "entries" in replaced(lambda leaf: leaf["minorants"].pop()).reason
    assert "expected a list" in replaced(lambda leaf: leaf.__setitem__("minorants", None)).reason
    squares, u, fraction = build("one leaf")
    plain = document(squares, u, fraction)
    leaf = a_leaf(plain["rivals"][0]["proof"]["tree"])
    leaf["minorants"] = [["0x0p+0"] * 3] * 3
    assert "needs none" in judged(squares, plain, tmp_path).reason


@pytest.mark.parametrize(("widths", "fraction"), [((8, 12, 12, 6, 2), 0.9), ((8, 12, 12, 6, 5, 2), 0.5)])
def test_damaged_spectra(widths: tuple[int, ...], fraction: float, tmp_path: Path) -> None:
    network = random_network(widths, 2, 3)
    data = document(network, np.random.default_rng([3, 1]).normal(size=8), fraction)
    assert judged(network, data, tmp_path).accepted

    def replaced(change: Callable[[dict[str, Any]], object]) -> str:
        broken = copy.deepcopy(data)
        change(broken["rivals"][0]["proof"])
        verdict = judged(network, broken, tmp_path)
        assert not verdict.accepted
        return str(verdict.reason)

    assert "proved neither by intervals nor by curvatures" in replaced(lambda p: scaled(p["ranges"][1][0], 1, 1e-3))
    assert "proved neither by intervals nor by curvatures" in replaced(lambda p: scaled(p["ranges"][-1][1], 0, 1e-3))
    assert "interval arithmetic does not prove" in replaced(lambda p: p.pop("spectra"))
    assert "above 1" in replaced(lambda p: p["spectra"].__setitem__("stretch", "0x1p+0"))
    assert "missing" in replaced(lambda p: p["spectra"].pop("stretch"))
    assert "entries" in replaced(lambda p: p["spectra"]["errors"].append([]))
    assert "entries" in replaced(lambda p: p["spectra"]["balances"].pop())
    assert "above zero" in replaced(lambda p: p["spectra"]["balances"].__setitem__(0, "0x0p+0"))
    assert "neuron 0" in replaced(lambda p: scaled(p["spectra"]["balances"], 0, 1e3))
    assert "neuron 1" in replaced(lambda p: scaled(p["spectra"]["balances"], 1, 1e-3))
    if len(widths) > 5:
        assert "proved neither" in replaced(lambda p: p["spectra"].__setitem__("stretch", "0x1.01p+0"))
        assert "not shown to be so small" in replaced(lambda p: scaled(p["spectra"]["errors"][0], 2, 0.5))
        assert "entries" in replaced(lambda p: p["spectra"]["errors"].pop())
        assert "entries" in replaced(lambda p: p["spectra"]["errors"][0].pop())
    squares, u, fraction = build("one leaf")
    plain = document(squares, u, fraction)
    plain["rivals"][0]["proof"]["spectra"] = data["rivals"][0]["proof"]["spectra"]
    assert "spectra only where" in judged(squares, plain, tmp_path).reason


def test_damaged_splits(tmp_path: Path) -> None:
    network, u, fraction = build("splits")
    data = document(network, u, fraction)
    tree = data["rivals"][0]["proof"]["tree"]
    assert "split" in tree

    def replaced(change: Callable[[dict[str, Any]], object]) -> Any:
        broken = copy.deepcopy(data)
        change(broken["rivals"][0]["proof"]["tree"])
        return judged(network, broken, tmp_path)

    def only_low(node: dict[str, Any]) -> None:
        low = node["low"]
        node.clear()
        node.update(low)

    assert judged(network, data, tmp_path).accepted
    for change in (
        only_low,
        lambda t: t.__setitem__("high", t["low"]),
        lambda t: t["split"].__setitem__(2, "0x1p+40"),
        lambda t: t["split"].__setitem__(0, 7),
        lambda t: t["split"].__setitem__(1, -1),
        lambda t: t.pop("high"),
    ):
        assert not replaced(change).accepted


def test_other_networks_have_no_lifted_proofs(tmp_path: Path) -> None:
    network = random_network((3, 4, 2), 2, 0)
    u = np.random.default_rng(0).normal(size=3)
    data = document(random_network((3, 4, 3, 2), 2, 1), u, 0.5)
    data["model"]["sha256"] = network.fingerprint
    data["label"] = int(network.predict(u))
    data["rivals"][0]["rival"] = 1 - data["label"]
    verdict = judged(network, data, tmp_path)
    assert not verdict.accepted
    assert "expected 0 entries" in verdict.reason


def test_floating_point_criterion() -> None:
    """Never true for an indefinite matrix, however nearly it is definite; true for clearly definite ones."""
    generator = np.random.default_rng(3)
    for side in (1, 5, 60, 130):
        turn = np.linalg.qr(generator.normal(size=(side, side)))[0]
        values = np.exp(generator.uniform(-8, 0, size=side))
        definite = turn @ np.diag(values) @ turn.T
        scale = np.ldexp(1.0, generator.integers(-30, 30, size=side))
        definite = (definite + definite.T) / 2 * scale[:, None] * scale
        none = np.zeros_like(definite)
        assert surely_positive_definite(definite, none)
        assert not surely_positive_definite(definite, np.abs(definite))
        values[0] = -1e-13
        nearly = turn @ np.diag(values) @ turn.T
        assert not surely_positive_definite((nearly + nearly.T) / 2, none)
        definite[0, 0] = np.nan
        assert not surely_positive_definite(definite, none)


def test_enclosures_contain_the_exact_result() -> None:
    """Products of random matrices in doubles against ball arithmetic of high precision."""
    generator = np.random.default_rng(5)
    with working_precision(300):
        for _ in range(5):
            a, b = (
                generator.normal(size=(7, 9)),
                generator.normal(size=(9, 4)) * 10.0 ** generator.integers(-9, 9, size=(9, 4)),
            )
            one, two = (
                kind.of(7, 9, a.ravel().tolist()) @ kind.of(9, 4, b.ravel().tolist()) for kind in (Floats, Balls)
            )
            third, fourth = (m.entrywise(m) + m.times(fmpq(1, 3)) for m in (one, two))
            for first, second in ((one, two), (third, fourth)):
                assert all(f.contains(s) for f, s in zip(first.entries(), second.entries(), strict=True))


def test_verify_and_bracket_beyond_enumeration(tmp_path: Path) -> None:
    network = random_network((20, 16, 8, 3), 2, 1)
    u = np.random.default_rng(7).normal(size=20)
    found = pm.margin(network, u, timeout=5)
    assert 0 < found.lower <= found.upper
    verdict = pm.verify(network, u, 0.9 * found.lower, timeout=30)
    assert verdict.answer.name == "ROBUST"
    assert verdict.certificate is not None
    network.save(tmp_path / "model.npz")
    verdict.certificate.save(tmp_path / "proof.json")
    assert check(tmp_path / "model.npz", tmp_path / "proof.json").accepted
    between = (found.lower + found.upper) / 2
    unknown = pm.verify(network, u, between, timeout=0.5) if found.upper > 1.001 * found.lower else None
    if unknown is not None and unknown.answer.name == "UNKNOWN":
        assert 0 < unknown.lower < between < unknown.upper
