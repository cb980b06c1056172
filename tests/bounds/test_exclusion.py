"""Proof trees, judged by a verifier in exact rational arithmetic that follows docs/certificates.md line by line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import Any

import flint
import numpy as np
import pytest
from bounds.exact import positive_definite, positive_on, rational
from bounds.exact_lifted import LiftedVerifier
from engines import exclude
from problems import random_network

import polymargin as pm

Range = tuple[Fraction, Fraction]


class Verifier:
    """Raises AssertionError unless the proof shows B > 0 on the ball."""

    def __init__(self, network: pm.Network, point: np.ndarray, label: int, rival: int) -> None:
        self.weights = [
            [[Fraction(w) for w in row] for row in layer.weights.tolist()] for layer in network.chain.layers
        ]
        self.bias = [[Fraction(b) for b in layer.bias.tolist()] for layer in network.chain.layers]
        self.sigma = [[Fraction(c) for c in row] for row in network.chain.activations]
        u = [Fraction(v) for v in point.tolist()]
        first = zip(self.weights[0], self.bias[0], strict=True)
        self.shift = [sum((w * v for w, v in zip(row, u, strict=True)), b) for row, b in first]
        self.label, self.rival = label, rival
        self.leaves = 0

    def check(self, proof: dict[str, Any]) -> None:
        assert proof["kind"] == "exclusion"
        self.radius = number(proof["radius"])
        ranges = []
        for row in self.weights[0]:
            square = self.radius**2 * sum(w * w for w in row)
            scale = 1 << 200
            reach = Fraction(isqrt(int(square * scale * scale)) + 1, scale)
            ranges.append((-reach, reach))
        self.tree(proof["tree"], ranges)

    def tree(self, tree: dict[str, Any], ranges: list[Range]) -> None:
        if "split" in tree:
            j, v = tree["split"][0], number(tree["split"][1])
            low, high = ranges[j]
            assert low < v < high
            self.tree(tree["low"], [*ranges[:j], (low, v), *ranges[j + 1 :]])
            self.tree(tree["high"], [*ranges[:j], (v, high), *ranges[j + 1 :]])
            return
        self.leaves += 1
        layers = [ranges]
        for depth, rows in enumerate(tree["ranges"], start=2):
            found = []
            for i, (low, high, bound_low, bound_high) in enumerate(rows):
                low, high = number(low), number(high)
                row, bias = self.weights[depth - 1][i], self.bias[depth - 1][i]
                self.side(bound_low, row, bias - low, layers)
                self.side(bound_high, [-w for w in row], high - bias, layers)
                found.append((low, high))
            layers.append(found)
        last, bias = self.weights[-1], self.bias[-1]
        gamma = [a - b for a, b in zip(last[self.label], last[self.rival], strict=True)]
        self.bound(tree["bound"], gamma, bias[self.label] - bias[self.rival], layers)

    def side(self, bound: dict[str, Any] | None, gamma: list[Fraction], constant: Fraction, layers: list) -> None:
        if bound is not None:
            self.bound(bound, gamma, constant, layers)
            return
        sigma = self.sigma[len(layers) - 1]
        shift = self.shift if len(layers) == 1 else [Fraction(0)] * len(gamma)
        assert all(c == 0 for c in sigma[:-1]), "interval arithmetic here knows plain powers only"
        total = constant
        for g, s, (low, high) in zip(gamma, shift, layers[-1], strict=True):
            ends = [sigma[-1] * (s + v) ** (len(sigma) - 1) for v in (low, high)]
            if (s + low) * (s + high) < 0:
                ends.append(Fraction(0))
            total += min(g * v for v in ends)
        assert total > 0

    def bound(self, bound: dict[str, Any], gamma: list[Fraction], constant: Fraction, layers: list) -> None:
        for depth, lines in zip(range(len(layers), 1, -1), bound["slopes"], strict=True):
            below = [Fraction(0)] * len(self.weights[depth - 1][0])
            for i, (slope, end) in enumerate([[number(v) for v in line] for line in lines]):
                self.minorant([end, slope], gamma[i], self.sigma[depth - 1], Fraction(0), layers[depth - 1][i])
                constant += end + slope * self.bias[depth - 1][i]
                below = [b + slope * w for b, w in zip(below, self.weights[depth - 1][i], strict=True)]
            gamma = below
        size = len(self.weights[0][0])
        matrix = [[Fraction(0)] * (size + 1) for _ in range(size + 1)]
        mu = number(bound["multiplier"])
        assert mu >= 0
        for j, (p, t, c) in enumerate([[number(v) for v in row] for row in bound["quadratics"]]):
            self.minorant([c, t, p], gamma[j], self.sigma[0], self.shift[j], layers[0][j])
            row = self.weights[0][j]
            constant += c
            for a in range(size):
                matrix[a][size] += t * row[a] / 2
                for b in range(size):
                    matrix[a][b] += p * row[a] * row[b]
        for a in range(size):
            matrix[a][a] += mu
            matrix[size][a] = matrix[a][size]
        matrix[size][size] = constant - mu * self.radius**2
        assert positive_definite(matrix)

    def minorant(self, low: list[Fraction], gamma: Fraction, sigma: list[Fraction], s: Fraction, reach: Range) -> None:
        line = flint.fmpq_poly([rational(s), 1])
        residual = rational(gamma) * sum((rational(c) * line**k for k, c in enumerate(sigma)), flint.fmpq_poly([0]))
        residual -= flint.fmpq_poly([rational(c) for c in low])
        assert positive_on(residual, rational(reach[0]), rational(reach[1]))


def number(text: str) -> Fraction:
    return Fraction(float.fromhex(text))


def general_network(seed: int) -> pm.Network:
    plain = random_network((3, 4, 2), 3, seed)
    layers = [(layer.weights, layer.bias) for layer in plain.chain.layers]
    return pm.PolynomialNetwork(layers, activations=[0.2, 0.5, 0.3, -0.1, 0.05])


def mixed_network(widths: tuple[int, ...], seed: int, degrees: tuple[int, ...] = (2, 3)) -> pm.Network:
    """Different powers in different layers: x² and then x³ is lifted, x³ first is not."""
    plain = random_network(widths, 2, seed)
    layers = [(layer.weights, layer.bias) for layer in plain.chain.layers]
    return pm.PolynomialNetwork(layers, activations=[[0.0] * degree + [1.0] for degree in degrees])


FAMILIES: dict[str, tuple[Callable[[int], pm.PolynomialNetwork], float]] = {
    "quadratic": (lambda seed: random_network((4, 6, 2), 2, seed), 1 - 1e-6),
    "cubic": (lambda seed: random_network((4, 6, 2), 3, seed), 1 - 1e-6),
    "bottleneck": (lambda seed: random_network((6, 3, 2), 3, seed), 1 - 1e-6),
    "wider": (lambda seed: random_network((6, 8, 2), 3, seed), 0.999),
    "quartic": (lambda seed: random_network((3, 5, 2), 4, seed), 1 - 1e-6),
    "general": (general_network, 0.999),
    "deep": (lambda seed: random_network((3, 4, 4, 2), 2, seed), 0.999),
    "deeper": (lambda seed: random_network((2, 3, 3, 3, 2), 2, seed), 0.9),
    "deep cubic": (lambda seed: mixed_network((3, 4, 3, 2), seed), 0.9),
    "cubic deep": (lambda seed: mixed_network((3, 4, 3, 2), seed, (3, 2)), 0.7),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_proofs_close_to_the_margin(family: str) -> None:
    build, fraction = FAMILIES[family]
    proved = leaves = 0
    for seed in range(6):
        network = build(seed)
        u = np.random.default_rng([seed, 1]).normal(size=network.dimension)
        margin = pm.margin(network, u, proof=False)
        if not np.isfinite(margin.radius):
            continue
        found = exclude(network, u, margin.label, 1 - margin.label, fraction * margin.radius, timeout=math.inf)
        assert found.proved, found
        proof = json.loads(json.dumps(found.to_proof()))
        kind = LiftedVerifier if proof["kind"] == "lifted" else Verifier
        verifier = kind(network, u, margin.label, 1 - margin.label)
        verifier.check(proof)
        assert verifier.leaves == found.leaves
        proved, leaves = proved + 1, leaves + found.leaves
    assert proved >= 4
    assert family != "deep" or leaves > 20, "this family is here to test the branching"


def test_wide_layers_with_linear_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What wide networks get for the ranges of their deeper layers, forced upon small ones."""
    monkeypatch.setattr("polymargin.bounds.ranges.WIDEST", 0)
    for widths in ((3, 4, 4, 2), (2, 3, 3, 2)):
        network = mixed_network(widths, 3, (3, 2))
        u = np.random.default_rng([3, 1]).normal(size=widths[0])
        margin = pm.margin(network, u, proof=False)
        found = exclude(network, u, margin.label, margin.rival, 0.8 * margin.radius, timeout=math.inf)
        assert found.proved
        Verifier(network, u, margin.label, margin.rival).check(found.to_proof())


def test_beyond_the_margin_there_is_a_counterexample() -> None:
    for seed in range(8):
        network = random_network((4, 6, 2), 3, seed)
        u = np.random.default_rng([seed, 1]).normal(size=4)
        margin = pm.margin(network, u, proof=False)
        found = exclude(network, u, margin.label, margin.rival, 1.001 * margin.radius)
        assert not found.proved
        assert found.reason == "counterexample"
        assert found.counterexample is not None
        logits = network.exact_logits(found.counterexample)
        assert logits[margin.rival] >= logits[margin.label]
        assert np.linalg.norm(found.counterexample - u) <= found.radius
        with pytest.raises(pm.InputError, match="nothing was proved"):
            found.to_proof()


def test_the_verifier_refuses_what_is_wrong() -> None:
    network = random_network((4, 6, 2), 3, 0)
    u = np.random.default_rng([0, 1]).normal(size=4)
    margin = pm.margin(network, u, proof=False)
    proof = exclude(network, u, margin.label, margin.rival, 0.5 * margin.radius).to_proof()
    Verifier(network, u, margin.label, margin.rival).check(proof)
    larger = proof | {"radius": float(1.01 * margin.radius).hex()}
    raised = json.loads(json.dumps(proof))
    row = raised["tree"]["bound"]["quadratics"][0]
    row[2] = (float.fromhex(row[2]) + 0.1).hex()
    for wrong in (larger, raised):
        with pytest.raises(AssertionError):
            Verifier(network, u, margin.label, margin.rival).check(wrong)


def test_limits_are_kept() -> None:
    network = random_network((3, 4, 4, 2), 2, 0)
    u = np.random.default_rng([0, 1]).normal(size=3)
    margin = pm.margin(network, u, proof=False)
    radius = (1 - 1e-9) * margin.radius
    assert exclude(network, u, margin.label, margin.rival, radius, most_leaves=3).reason == "too many leaves"
    slow = exclude(network, u, margin.label, margin.rival, radius, timeout=0.0)
    assert (slow.reason, slow.proved) == ("timeout", False)


def test_one_layer_of_squares_is_never_cut() -> None:
    """It is decided in one piece, but for rounding, and no cut helps against that."""
    network = random_network((6, 8, 2), 2, 0)
    u = np.random.default_rng([0, 1]).normal(size=6)
    margin = pm.margin(network, u, proof=False)
    assert exclude(network, u, margin.label, margin.rival, (1 - 1e-6) * margin.radius).leaves == 1
    rounded = exclude(network, u, margin.label, margin.rival, (1 - 1e-15) * margin.radius)
    assert not rounded.proved
    assert rounded.leaves + rounded.open_leaves <= 2


@pytest.mark.parametrize(("label", "rival", "radius"), [(0, 0, 0.1), (0, 2, 0.1), (0, 1, 0.0), (0, 1, float("nan"))])
def test_bad_input(label: int, rival: int, radius: float) -> None:
    with pytest.raises(pm.InputError, match="expected"):
        exclude(random_network((3, 4, 2), 3, 0), [0.0, 0.0, 0.0], label, rival, radius)
