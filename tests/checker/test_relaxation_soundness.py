"""Bounds by relaxation proofs against the true minimum: never above it, close to it, and the checker agrees with their sign."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial
from polymargin_checker import check
from polymargin_checker.neighbourhood import PLAIN
from polymargin_checker.relaxation.enclosures import Enclosures
from polymargin_checker.relaxation.scene import Scene
from polymargin_checker.relaxation.tree import split_parts
from tests.checker import relaxation_prover as prover
from tests.checker.stage_files import model_file, random_network

KINDS = {
    "squares": ["powers", "powers"],
    "products": ["product", "product"],
    "relu": ["relu", "relu"],
    "spline and product": ["spline", "product"],
    "cubic and relu": ["powers", "relu"],
    "chebyshev": ["chebyshev"],
    "mixed": ["relu", "powers", "relu"],
}


def network_of(kind: str, seed: int) -> Network:
    kinds = KINDS[kind]
    net = random_network(np.random.default_rng([seed, len(kinds)]), 3, [3] * len(kinds), kinds, 2)
    if kind in ("squares", "mixed"):
        cut = [Polynomial(s.form, s.coefficients[:3]) if isinstance(s, Polynomial) else s for s in net.stages]
        net = Network(cut, net.readout)
    return net


def neighbourhood(norm: str) -> dict[str, Any]:
    empty = dict.fromkeys(("weights", "low", "high", "movable", "rivals"))
    return {"norm": norm, **empty, "abstain": "0x0p0"}


def sampled_minimum(net: Network, u: np.ndarray, label: int, radius: float, norm: str) -> float:
    """The least lead at many points of the ball and of its surface."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(100_000, len(u)))
    order = {"l2": 2, "l1": 1, "linf": np.inf}[norm]
    steps *= radius / np.linalg.norm(steps, order, axis=1, keepdims=True)
    steps[::2] *= rng.random(size=(50_000, 1))
    if norm == "linf":
        steps[1::4] = radius * rng.choice([-1.0, 1.0], size=steps[1::4].shape)
    logits = net(u + steps)
    return float((logits[:, label] - logits[:, 1 - label]).min())


def all_parabolas(scene: Any) -> list[tuple[Any, ...]]:
    """y ≥ 0, y ≥ z and the chord for every ReLU."""
    found = []
    for neurons in scene.neurons:
        if neurons.powers is not None:
            continue
        stage = scene.expansion.network.stages[neurons.stage - 1]
        if len(stage.breakpoints) > 1:
            continue
        for place, (low, high) in enumerate(zip(*scene.enclosures.inputs_of(neurons), strict=True), neurons.start[0]):
            slope = high / (high - low) if low < 0 < high else float(low >= 0)
            top = -low * slope * (1 + 1e-9) + 1e-12 if low < 0 < high else 1e-12
            found += [(place, 1, 0.0, 0.0, 0.0), (place, 1, 0.0, 1.0, 0.0), (place, -1, 0.0, slope, top)]
    return found


@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_bounds_are_below_the_minimum_and_the_checker_agrees(kind: str, norm: str) -> None:
    net = network_of(kind, 0)
    u = np.random.default_rng(1).normal(size=3)
    label = int(np.argmax(net(u)))
    given = prover.relaxations(net, u, replace(PLAIN, norm=norm), label)
    radius = 0.3
    entry = prover.shared(radius, prover.undecided(net))
    names = ["definition", "range", "argument", "box", "pieces", "minorant", *(["ball"] if norm != "linf" else [])]
    bound, leaf = prover.best_leaf(given, entry, 1 - label, names, all_parabolas(given.prepared(entry)))
    least = sampled_minimum(net, u, label, radius, norm)
    assert bound <= least + 1e-9 * abs(least)
    proof = {"kind": "relaxation", **entry, "tree": leaf}
    document = prover.certificate(net, u, label, radius, {1 - label: proof}, neighbourhood=neighbourhood(norm))
    for exact in (False, True):
        verdict = check(model_file(net), json.dumps(document).encode(), exact)
        assert verdict.usable
        if abs(bound) > 1e-3:
            assert verdict.accepted == (bound > 0), verdict.reason


@pytest.mark.parametrize(("kind", "share"), [("squares", 0.95), ("products", 0.7), ("relu", 0.98)])
def test_bounds_on_balls_are_close(kind: str, share: float) -> None:
    """At the radius where the sampled lead vanishes nothing is proved; a little inside it is."""
    net = network_of(kind, 0)
    u = np.random.default_rng(1).normal(size=3)
    label = int(np.argmax(net(u)))
    low, high = 0.0, 4.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if sampled_minimum(net, u, label, middle, "l2") > 0 else (low, middle)
    names = ["definition", "range", "argument", "box", "pieces", "minorant", "ball"]
    given = prover.relaxations(net, u, label=label)
    for radius, expected in ((share * low, True), (1.02 * high, False)):
        entry = prover.shared(radius, prover.undecided(net))
        bound, leaf = prover.best_leaf(given, entry, 1 - label, names, all_parabolas(given.prepared(entry)))
        document = prover.certificate(net, u, label, radius, {1 - label: {"kind": "relaxation", **entry, "tree": leaf}})
        assert check(model_file(net), json.dumps(document).encode()).accepted == expected, (radius, bound)


# -- what is accepted is true ----------------------------------------------------------------------

LENGTHS = {"l2": 2, "linf": np.inf, "l1": 1}
NAMES = ["definition", "range", "argument", "box", "pieces", "minorant", "ball"]


def nearest_loss(net: Network, u: np.ndarray, label: int, norm: str) -> float:
    """The length of the shortest of a million steps in the plane that lose; no less than the margin."""
    angles = np.linspace(0, 2 * np.pi, 2000, endpoint=False)
    rays = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rays /= np.linalg.norm(rays, LENGTHS[norm], axis=1, keepdims=True)
    for length in np.linspace(0.01, 5.0, 500):
        logits = net(u + length * rays)
        if (logits[:, label] <= logits[:, 1 - label]).any():
            return float(length)
    return np.inf


def grown(
    given: Any, entry: Any, rival: int, whole: Scene, part: Enclosures, depth: int, rng: np.random.Generator
) -> Any:
    """A tree of random splits whose leaves are the best there are, or nearly: some multipliers are a little off."""
    if part.is_empty:
        return {"empty": True}
    if depth:
        ends = {
            "input": (part.region.low, part.region.high),
            "variable": part.variables,
            "argument": part.arguments,
        }
        word = str(rng.choice([key for key, (low, high) in ends.items() if (low < high).any()]))
        low, high = ends[word]
        place = int(rng.choice(np.flatnonzero(low < high)))
        value = float(low[place] + rng.uniform(0.2, 0.8) * (high[place] - low[place]))
        node: dict[str, Any] = {"split": [word, place, value.hex()], "low": None, "high": None}
        if low[place] < value < high[place]:
            for side, (_, half) in zip(("high", "low"), split_parts(node, part), strict=True):
                node[side] = grown(given, entry, rival, whole, half, depth - 1, rng)
            return node
    scene = Scene(part, whole.coordinates, whole.ellipsoid, whole.rows)
    names = NAMES[: len(NAMES) - (not scene.region.has_ball)]
    try:
        leaf = prover.best_leaf(given, entry, rival, names, all_parabolas(scene), scene)[1]
    except np.linalg.LinAlgError:  # too small a part for this solver
        leaf = {"judge": "definite"}
    if rng.random() < 0.3 and "ball" in leaf:
        leaf["ball"] = (float.fromhex(leaf["ball"]) * float(1 + 10.0 ** rng.integers(-9, -1) * rng.normal())).hex()
    return leaf


@pytest.mark.parametrize("norm", sorted(LENGTHS))
@pytest.mark.parametrize("kind", ["squares", "products", "relu", "cubic and relu"])
def test_no_tree_proves_more_than_is_true(kind: str, norm: str) -> None:
    """In the plane, where losses are found on a grid of steps: trees are accepted well inside only."""
    rng = np.random.default_rng([len(kind), len(norm)])
    kinds = KINDS[kind]
    accepted, distance = 0, np.inf
    while not np.isfinite(distance):
        net = random_network(rng, 2, [2] * len(kinds), kinds, 2)
        u = rng.normal(size=2)
        label = int(np.argmax(net(u)))
        distance = nearest_loss(net, u, label, norm)
    given = prover.relaxations(net, u, replace(PLAIN, norm=norm), label)
    for share, depth in ((0.05, 0), (1.0, 0), (1.0, 1), (1.2, 1)):
        entry = prover.shared(share * distance, prover.undecided(net))
        whole = given.prepared(entry)
        tree = grown(given, entry, 1 - label, whole, whole.enclosures, depth, rng)
        proof = {"kind": "relaxation", **entry, "tree": tree}
        document = prover.certificate(
            net, u, label, share * distance, {1 - label: proof}, neighbourhood=neighbourhood(norm)
        )
        for exact in (False, True):
            verdict = check(model_file(net), json.dumps(document).encode(), exact)
            assert verdict.usable
            assert "could not finish" not in verdict.reason
            assert not (verdict.accepted and share >= 1), (share, depth)
            accepted += verdict.accepted
    assert accepted or kind not in ("squares", "products")
