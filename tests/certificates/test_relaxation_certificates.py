"""Relaxation proofs that the solver makes: accepted by the checker in both arithmetics, and refused once any part is damaged."""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from checker.stage_files import model_file
from problems import random_network

import polymargin as pm
from polymargin.deadlines import Deadline
from polymargin.margins import provers
from polymargin.margins.certificate import certificate, hexadecimal
from polymargin.networks.attention import random_attention
from polymargin.regions import ThreatModel
from polymargin_checker import CheckResult, check

Json = dict[str, Any]


def relu_network(widths: tuple[int, ...], seed: int) -> pm.Network:
    rng = np.random.default_rng(seed)
    return pm.ReLUNetwork([(rng.normal(size=(b, a)), 0.3 * rng.normal(size=b)) for a, b in pairwise(widths)])


def quartic_network() -> pm.Network:
    plain = random_network((3, 5, 4, 3), 2, 2)
    layers = [(layer.weights, layer.bias) for layer in plain.chain.layers]
    return pm.PolynomialNetwork(layers, activations=[[0.0, 0.0, 1.0], [0.1, 0.5, 0.3, 0.0, -0.01]])


CASES: dict[str, tuple[Callable[[], pm.Network], pm.Region, float]] = {
    "two layers of squares": (lambda: random_network((4, 4, 3, 2), 2, 3), pm.L2(), 0.9),
    "three layers of squares": (lambda: random_network((6, 4, 4, 3, 2), 2, 2), pm.L2(), 0.7),
    "three classes": (lambda: random_network((3, 5, 4, 3), 2, 4), pm.L2(), 0.8),
    "quartic": (quartic_network, pm.L2(), 0.6),
    "squares in a box": (lambda: random_network((4, 4, 3, 2), 2, 3), pm.Linf(domain=(-2, 2)), 0.7),
    "ReLU": (lambda: relu_network((3, 5, 4, 3), 2), pm.Linf(), 0.8),
    "ReLU in a ball": (lambda: relu_network((3, 6, 2), 1), pm.L2(), 0.8),
    "attention": (lambda: random_attention(1, 3, 2, 2, seed=1), pm.L2(), 0.9),
}


@cache
def made(name: str) -> tuple[bytes, str]:
    """The model and the certificate, as texts."""
    build, region, share = CASES[name]
    network = build()
    u = np.random.default_rng([3, 1]).normal(size=network.dimension)
    label = int(network.predict(u))
    nearest = pm.attack(network, u, within=region)
    assert nearest is not None
    rivals = [rival for rival in range(network.class_count) if rival != label]
    asked = ThreatModel.of(network.dimension, region)
    radius = share * nearest.distance
    found = provers.proved_at(network, u, label, rivals, asked.region, radius, deadline=Deadline.after(30))
    assert found.radius == radius, found
    text = hexadecimal(radius)
    entries = [{"rival": rival, "lower": text, "proof": proof} for rival, proof in found.proofs.items()]
    data = certificate(network, u, label, {"kind": "robust", "radius": text}, entries, None, 0, asked)
    return model_file(network), data.to_bytes().decode()


def document(name: str) -> Json:
    return dict(json.loads(made(name)[1]))


def judged(name: str, data: Json, exact: bool = False) -> CheckResult:
    return check(made(name)[0], json.dumps(data).encode(), exact)


def proofs(data: Json) -> list[Json]:
    return [entry["proof"] for entry in data["rivals"]]


def nodes(tree: Json) -> Iterator[Json]:
    yield tree
    for side in ("low", "high"):
        if side in tree:
            yield from nodes(tree[side])


def leaves(data: Json) -> list[Json]:
    return [node for proof in proofs(data) for node in nodes(proof["tree"]) if "split" not in node]


def lemmas(data: Json) -> list[Json]:
    own = [entry for entry in (data.get("ranges"), *proofs(data)) if entry is not None]
    return [lemma for entry in own if entry["lemmas"] != "shared" for lemma in entry["lemmas"]]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_both_arithmetics_accept(name: str, exact: bool) -> None:
    data = document(name)
    assert {proof["kind"] for proof in proofs(data)} == {"relaxation"}
    found = judged(name, data, exact)
    assert found.accepted, found.reason


def test_the_cases_have_all_that_is_damaged() -> None:
    every = [document(name) for name in CASES]
    found = {key for data in every for part in (*leaves(data), *lemmas(data)) for key in part}
    assert {"ball", "ellipsoid", "box", "definition", "range", "minorant"} <= found, found
    assert any("split" in node for data in every for proof in proofs(data) for node in nodes(proof["tree"]))
    assert {lemma["of"] for data in every for lemma in lemmas(data)} >= {"w"}
    assert any("ranges" in data for data in every)


def decoded(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").copy()


def encoded(values: Any) -> str:
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode()


SIGNED = ("ball", "ellipsoid", "box", "range", "argument", "cauchy_schwarz")
ANY_SIGN = ("definition", "pieces")


def at_largest(part: Json, key: str, change: Callable[[float], float]) -> None:
    """Change the number that is the largest, of an array or alone."""
    if isinstance(part[key], str) and part[key].lstrip("-").startswith("0x"):
        part[key] = change(float.fromhex(part[key])).hex()
        return
    values = decoded(part[key])
    place = int(np.argmax(np.abs(values)))
    values[place] = change(values[place])
    part[key] = encoded(values)


def first_used(parts: list[Json], key: str) -> Json | None:
    """The first part in which a multiplier is not zero."""
    for part in parts:
        if key in part and isinstance(part[key], str):
            text = part[key]
            values = [float.fromhex(text)] if text.lstrip("-").startswith("0x") else decoded(text)
            if np.any(values):
                return part
    return None


@pytest.mark.parametrize("name", CASES)
def test_damaged_multipliers(name: str) -> None:
    """Of leaves and of lemmas: a wrong sign, no number, an end left out, and numbers that are far off."""
    tried = 0
    for kind, parts in (("leaf", leaves), ("lemma", lemmas)):
        for key in (*SIGNED, *ANY_SIGN):
            changes: list[tuple[Callable[[float], float], str]] = [
                (lambda value: float("nan"), "not finite|not a hexadecimal float"),
                (lambda value: float("inf"), "not finite|not a hexadecimal float"),
                (lambda value: 1e9 * value + 1e9, "not shown|infinite"),
            ]
            changes += [(lambda value: -value, "a multiplier is negative")] if key in SIGNED else []
            for change, reason in changes:
                data = document(name)
                part = first_used(parts(data), key)
                if part is None:
                    continue
                tried += 1
                at_largest(part, key, change)
                found = judged(name, data)
                assert not found.accepted, (kind, key)
                assert found.usable
                assert re.search(reason, found.reason), (kind, key, found.reason)
    assert tried >= 7


@pytest.mark.parametrize("name", CASES)
def test_narrower_lemmas(name: str) -> None:
    """Every lemma that says a little more than it did, in one arithmetic and in the other."""
    count = len(lemmas(document(name)))
    for number in range(count):
        data = document(name)
        lemma = lemmas(data)[number]
        bounds = decoded(lemma["bounds"])
        lemma["bounds"] = encoded(bounds + 1e-3 * np.abs(bounds) * (1 if lemma["side"] == "low" else -1))
        found = judged(name, data, exact=number % 2 == 0)
        assert not found.accepted
        assert "lemma" in found.reason


@pytest.mark.parametrize("name", CASES)
def test_damaged_lemmas(name: str) -> None:
    if not lemmas(document(name)):
        pytest.skip("no lemmas")

    def reason(change: Callable[[list[Json]], object]) -> str:
        data = document(name)
        change(lemmas(data))
        found = judged(name, data)
        assert not found.accepted
        return found.reason

    last = len(document(name)["rivals"]) * 1000
    assert "not finite" in reason(lambda own: own[0].__setitem__("bounds", encoded(np.nan * decoded(own[0]["bounds"]))))
    assert "rising order" in reason(
        lambda own: own[0]["forms"].reverse() if len(own[0]["forms"]) > 1 else own[0].update(forms=[])
    )
    assert "group" in reason(lambda own: own[0].update(group=last))
    assert "group" in reason(lambda own: own[0].update(group=-1))
    assert "group" in reason(lambda own: own[0].update(group=True))
    assert "forms" in reason(lambda own: own[0]["forms"].__setitem__(-1, 10**6))
    assert "one side" in reason(lambda own: own[0].update(side="above"))
    assert "unknown judge" in reason(lambda own: own[0].update(judge="me"))
    assert "unknown key" in reason(lambda own: own[0].update(trust="me"))
    assert "missing" in reason(lambda own: own[0].pop("bounds"))
    assert reason(lambda own: own[0].update(side={"low": "high", "high": "low"}[own[0]["side"]]))


@pytest.mark.parametrize("name", CASES)
def test_damaged_splits(name: str) -> None:
    """A gap between parts, a side left out, a side twice, and splits of what there is not."""
    if not any("split" in node for proof in proofs(document(name)) for node in nodes(proof["tree"])):
        pytest.skip("one piece")

    def root(data: Json) -> Json:
        return next(proof["tree"] for proof in proofs(data) if "split" in proof["tree"])

    def only(side: str) -> Callable[[Json], object]:
        def change(tree: Json) -> None:
            kept = tree[side]
            tree.clear()
            tree.update(kept)

        return change

    changes: list[Callable[[Json], object]] = [
        only("low"),
        only("high"),
        lambda t: t.update(high=copy.deepcopy(t["low"])),
        lambda t: t.update(low=copy.deepcopy(t["high"])),
        lambda t: t.update(high=t["low"], low=t["high"]),
        lambda t: t.update(high=None),
        lambda t: t.pop("low"),
        lambda t: t["split"].__setitem__(2, "0x1p+40"),
        lambda t: t["split"].__setitem__(2, "nan"),
        lambda t: t["split"].__setitem__(2, "inf"),
        lambda t: t["split"].__setitem__(2, 0.5),
        lambda t: t["split"].__setitem__(1, 10**6),
        lambda t: t["split"].__setitem__(1, -1),
        lambda t: t["split"].__setitem__(1, str(t["split"][1])),
        lambda t: t["split"].__setitem__(0, "output"),
        lambda t: t["split"].append(0),
        lambda t: t.update(judge="definite"),
    ]
    for number, change in enumerate(changes):
        data = document(name)
        change(root(data))
        assert not judged(name, data).accepted, number


def test_damaged_parabolas() -> None:
    """Each end of each parabola is tight: raised by a thousandth of its size it is above the function."""
    for name in ("quartic", "ReLU", "ReLU in a ball"):
        part = next(leaf for leaf in leaves(document(name)) if leaf.get("minorant", {}).get("neuron"))
        entry = part["minorant"]

        def reason(change: Callable[[Json], object], name: str = name) -> str:
            data = document(name)
            found = next(leaf for leaf in leaves(data) if leaf.get("minorant", {}).get("neuron"))
            change(found["minorant"])
            verdict = judged(name, data)
            assert not verdict.accepted
            return verdict.reason

        used = np.flatnonzero(decoded(entry["weight"]) > 0)
        for place in used.tolist():
            raised = decoded(entry["c"])
            raised[place] += entry["sign"][place] * (1e-3 + 1e-3 * abs(raised[place]))
            assert "on its side" in reason(lambda m, raised=raised: m.update(c=encoded(raised)))
            turned = list(entry["sign"])
            turned[place] *= -1
            assert "on its side" in reason(lambda m, turned=turned: m.update(sign=turned))
        assert "a weight is negative" in reason(lambda m: m.update(weight=encoded(-decoded(m["weight"]))))
        assert "numbers of neurons" in reason(lambda m: m.update(neuron=[10**6] * len(m["sign"])))
        assert "not finite" in reason(lambda m: m.update(a=encoded([np.inf] * len(m["sign"]))))
        assert reason(lambda m: m.update(neuron=m["neuron"][:-1]))
        assert reason(lambda m: m.pop("a"))


@pytest.mark.parametrize("name", CASES)
def test_a_proof_is_of_one_radius_point_label_and_rival(name: str) -> None:
    def everywhere(data: Json, key: str, change: Callable[[Any], Any]) -> None:
        for entry in (data.get("ranges"), *proofs(data)):
            if entry is not None:
                entry[key] = change(entry[key])

    def larger(text: str) -> str:
        return (1.5 * float.fromhex(text)).hex()

    def grown(data: Json) -> None:
        everywhere(data, "radius", larger)
        data["claim"]["radius"] = larger(data["claim"]["radius"])
        for entry in data["rivals"]:
            entry["lower"] = larger(entry["lower"])

    def claimed(data: Json) -> None:
        data["claim"]["radius"] = data["rivals"][0]["lower"] = larger(data["claim"]["radius"])

    def moved(data: Json) -> None:
        values = decoded(data["point"])
        data["point"] = encoded(values + 3.0)

    def relabelled(data: Json) -> None:
        rival = data["rivals"][0]["rival"]
        data["rivals"][0]["rival"], data["label"] = data["label"], rival

    def exchanged(data: Json) -> None:
        first, second = data["rivals"][:2]
        first["proof"]["tree"], second["proof"]["tree"] = second["proof"]["tree"], first["proof"]["tree"]

    def rounder(data: Json) -> None:
        data["neighbourhood"] = {**dict.fromkeys(("weights", "low", "high", "movable", "rivals")), "norm": "linf"}
        data["neighbourhood"]["abstain"] = "0x0p0"

    changes = [grown, claimed, moved, relabelled, lambda d: d["rivals"].pop()]
    changes += [exchanged] if len(document(name)["rivals"]) > 1 else []
    changes += [rounder] if "neighbourhood" not in document(name) and name not in ("ReLU in a ball",) else []
    for number, change in enumerate(changes):
        data = document(name)
        change(data)
        found = judged(name, data)
        assert not found.accepted, number
        assert found.usable


def test_ranges_are_those_of_the_same_region() -> None:
    """Shared lemmas of a smaller region, under the radius of the larger one, are judged on the larger one."""
    for name in CASES:
        data = document(name)
        if "ranges" not in data:
            continue
        for key, value in (("radius", (0.5 * float.fromhex(data["ranges"]["radius"])).hex()), ("ellipsoid", None)):
            broken = document(name)
            if broken["ranges"][key] == value:
                continue
            broken["ranges"][key] = value
            found = judged(name, broken)
            assert not found.accepted
            assert "another radius" in found.reason
