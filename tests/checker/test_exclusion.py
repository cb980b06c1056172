"""Exclusion proofs: squares, cubes with branching, deep networks, and tampering with each part."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import certificate, hexes, shallow_tree, write
from checker.deep_exclusions import deep_bound, deep_leaf
from problems import random_network

import polymargin as pm
from polymargin_checker import check


def exclusion(net: pm.Network, u: Any, r: float, proof: Any) -> Any:
    rivals = [{"rival": 1, "lower": float(r).hex(), "proof": proof}]
    return certificate(net, u, 0, {"kind": "robust", "radius": float(r).hex()}, rivals, None)


def with_label_zero(net: pm.Network, u: Any) -> pm.Network:
    """The same network with its logits in the order that makes class 0 the label."""
    if net.predict(u) == 0:
        return net
    *hidden, last = [(layer.weights, layer.bias) for layer in net.chain.layers]
    return pm.PolynomialNetwork([*hidden, (last[0][::-1], last[1][::-1])], activations=net.chain.activations)


class Case:
    def __init__(self, folder: Path, widths: list[int], degree: int, share: float, scale: float = 1.0) -> None:
        self.folder = folder
        self.u = np.random.default_rng(5).normal(size=widths[0])
        self.net = with_label_zero(random_network(widths, degree, 3, scale), self.u)
        self.margin = pm.margin(self.net, self.u, proof=False).radius
        self.radius = share * min(self.margin, 1.0)
        if len(widths) == 3:
            proof = shallow_tree(self.net, self.u, self.radius, degree)
        else:
            leaf = deep_leaf(self.net, self.u, self.radius, 0, 1)
            proof = {"kind": "exclusion", "radius": self.radius.hex(), "tree": leaf}
        self.document = exclusion(self.net, self.u, self.radius, proof)

    def verdict(self, document: Any) -> Any:
        return check(*write(self.folder, self.net, document))


def leaves(tree: Any) -> list[Any]:
    if "split" in tree:
        return leaves(tree["low"]) + leaves(tree["high"])
    return [tree]


@pytest.fixture(scope="module")
def square(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("square"), [3, 5, 2], 2, 0.999)


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("cube"), [3, 4, 2], 3, 0.99)


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("deep"), [3, 4, 4, 2], 2, 0.5)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("three"), [2, 3, 3, 3, 2], 2, 0.2)


@pytest.mark.parametrize("name", ["square", "cube", "deep", "three"])
def test_true_radii_are_proved(name: str, request: pytest.FixtureRequest) -> None:
    case = request.getfixturevalue(name)
    verdict = case.verdict(case.document)
    assert verdict.accepted, verdict.reason
    tree = case.document["rivals"][0]["proof"]["tree"]
    assert (len(leaves(tree)) > 1) is (name == "cube")


def test_ranges_by_bounds_and_by_intervals_both_occur(three: Case) -> None:
    ranges = three.document["rivals"][0]["proof"]["tree"]["ranges"]
    parts = [part for layer in ranges for entry in layer for part in entry[2:]]
    assert any(part is None for part in parts)
    assert any(part is not None for part in parts)


def test_fewer_neurons_than_inputs_are_proved_in_the_smaller_space(tmp_path: Path) -> None:
    case = Case(tmp_path, [7, 3, 2], 2, 0.99)
    verdict = case.verdict(case.document)
    assert verdict.accepted, verdict.reason


@pytest.mark.parametrize("kind", ["zero row", "equal rows"])
def test_dependent_neurons_are_no_obstacle(tmp_path: Path, kind: str) -> None:
    u = np.array([0.5, 0.1, -0.3, 0.2, 0.7])
    first = np.random.default_rng(0).normal(size=(3, 5))
    first[2] = 0.0 if kind == "zero row" else first[0]
    net = pm.PolynomialNetwork([(first, [0.1, 0.2, 0.3]), ([[1.0, 2.0, 1.0], [0.0, 0.0, 0.0]], [-0.15, 0.0])], degree=2)
    radius = 0.9 * pm.margin(net, u, proof=False).radius
    document = exclusion(net, u, radius, shallow_tree(net, u, radius, 2))
    verdict = check(*write(tmp_path, net, document))
    assert verdict.accepted, verdict.reason


def test_a_radius_beyond_the_margin_is_refused(square: Case) -> None:
    document = copy.deepcopy(square.document)
    radius = (square.margin * (1 + 1e-9)).hex()
    document["claim"]["radius"] = document["rivals"][0]["lower"] = radius
    assert "above the radius of the exclusion proof" in square.verdict(document).reason
    document["rivals"][0]["proof"]["radius"] = radius
    assert "positive definite" in square.verdict(document).reason


def raise_quadratic(tree: Any) -> None:
    row = leaves(tree)[0]["bound"]["quadratics"][1]
    row[2] = (float.fromhex(row[2]) + 1e-3).hex()


def lower_all(tree: Any) -> None:
    row = leaves(tree)[0]["bound"]["quadratics"][1]
    row[2] = (float.fromhex(row[2]) - 1e3).hex()


def tilt_quadratic(tree: Any) -> None:
    row = leaves(tree)[0]["bound"]["quadratics"][1]
    row[1] = (float.fromhex(row[1]) + 1e-2).hex()


def negative_multiplier(tree: Any) -> None:
    leaves(tree)[0]["bound"]["multiplier"] = "-0x1p-3"


def large_multiplier(tree: Any) -> None:
    leaves(tree)[0]["bound"]["multiplier"] = "0x1p+30"


def drop_quadratic(tree: Any) -> None:
    del leaves(tree)[0]["bound"]["quadratics"][0]


def extra_slopes(tree: Any) -> None:
    leaves(tree)[0]["bound"]["slopes"] = [[]]


@pytest.mark.parametrize("name", ["square", "cube", "deep"])
@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (raise_quadratic, "not shown to lie below"),
        (lower_all, "positive definite"),
        (tilt_quadratic, "not shown to lie below"),
        (negative_multiplier, "multiplier is negative"),
        (large_multiplier, "positive definite"),
        (drop_quadratic, "quadratics: expected"),
        (extra_slopes, "slopes"),
    ],
)
def test_tampered_bounds(name: str, tamper: Any, reason: str, request: pytest.FixtureRequest) -> None:
    case = request.getfixturevalue(name)
    document = copy.deepcopy(case.document)
    tamper(document["rivals"][0]["proof"]["tree"])
    verdict = case.verdict(document)
    assert not verdict.accepted
    assert reason in verdict.reason


def test_tampered_trees(cube: Case) -> None:
    def refusal(tree: Any) -> str:
        document = copy.deepcopy(cube.document)
        document["rivals"][0]["proof"]["tree"] = tree
        verdict = cube.verdict(document)
        assert not verdict.accepted
        return str(verdict.reason)

    tree = cube.document["rivals"][0]["proof"]["tree"]
    j, v = tree["split"]
    width = len(leaves(tree)[0]["bound"]["quadratics"])
    shift = 0.2 * cube.radius * np.linalg.norm(cube.net.chain.layers[0].weights[j])
    assert "not shown to lie below" in refusal({**tree, "split": [j, (float.fromhex(v) + shift).hex()]})
    assert "outside the range" in refusal({**tree, "split": [j, "0x1p+9"]})
    assert "outside the range" in refusal({**tree, "split": [j, "-0x1p+9"]})
    assert "split coordinate" in refusal({**tree, "split": [width, v]})
    assert "split coordinate" in refusal({**tree, "split": [-1, v]})
    assert "split coordinate" in refusal({**tree, "split": [True, v]})
    assert "'high' is missing" in refusal({"split": [j, v], "low": tree["low"]})
    assert "leaf" in refusal({**tree, "high": None})
    assert refusal({**tree, "high": tree["low"], "low": tree["high"]})
    assert refusal(tree["low"])
    assert refusal(leaves(tree)[0])


def test_tampered_ranges_and_slopes(deep: Case) -> None:
    def refusal(change: Any) -> str:
        document = copy.deepcopy(deep.document)
        change(document["rivals"][0]["proof"]["tree"])
        verdict = deep.verdict(document)
        assert not verdict.accepted
        return str(verdict.reason)

    def shift(entry: list[Any], position: int, amount: float) -> None:
        entry[position] = (float.fromhex(entry[position]) + amount).hex()

    ranges = deep.document["rivals"][0]["proof"]["tree"]["ranges"][0]
    for neuron, (low, high, low_bound, high_bound) in enumerate(ranges):
        width = float.fromhex(high) - float.fromhex(low)
        expected = "interval arithmetic does not prove the lower end" if low_bound is None else "positive definite"
        assert expected in refusal(lambda tree, i=neuron, w=width: shift(tree["ranges"][0][i], 0, 0.2 * w))
        expected = "interval arithmetic does not prove the upper end" if high_bound is None else "positive definite"
        assert expected in refusal(lambda tree, i=neuron, w=width: shift(tree["ranges"][0][i], 1, -0.2 * w))
        for position, amount in ((1, 1e-3), (0, 0.1), (0, -0.1)):
            reason = refusal(lambda tree, i=neuron, p=position, a=amount: shift(tree["bound"]["slopes"][0][i], p, a))
            # A line turned downward stays below the activation, but then the parabolas no longer fit.
            assert "not shown to lie below" in reason
            assert position == 0 or f"slopes of layer 2, neuron {neuron}: the line" in reason
        # The offset of a line counts: one far below leaves nothing positive.
        assert "positive definite" in refusal(lambda tree, i=neuron: shift(tree["bound"]["slopes"][0][i], 1, -1e6))
    assert "the range is empty" in refusal(lambda tree: shift(tree["ranges"][0][0], 0, 1e6))
    assert "expected 1 entries" in refusal(lambda tree: tree["ranges"].clear())
    assert "expected 4 entries" in refusal(lambda tree: tree["ranges"][0].pop())
    assert "slopes: expected 1 entries" in refusal(lambda tree: tree["bound"]["slopes"].clear())


@pytest.mark.parametrize("end", [0, 1])
def test_one_end_without_a_bound_is_proved_by_intervals_or_not_at_all(deep: Case, end: int) -> None:
    """All other ends have bounds of their own, so that nothing else asks for the intervals."""
    document = copy.deepcopy(deep.document)
    tree = document["rivals"][0]["proof"]["tree"]
    layer = deep.net.chain.layers[1]
    for neuron, entry in enumerate(tree["ranges"][0]):
        low, high = float.fromhex(entry[0]), float.fromhex(entry[1])
        row, bias = layer.weights[neuron], float(layer.bias[neuron])
        wide = (high - low) + 1.0
        entry[0], entry[1] = (low - wide).hex(), (high + wide).hex()
        entry[2] = deep_bound(deep.net, deep.u, deep.radius, [], row, bias - low + wide, 1)[1]
        entry[3] = deep_bound(deep.net, deep.u, deep.radius, [], -row, high + wide - bias, 1)[1]
    for neuron, entry in enumerate(tree["ranges"][0]):
        kept, entry[2 + end] = entry[2 + end], None
        ends = entry[0], entry[1]
        entry[end] = entry[1 - end]  # a range of one point
        verdict = deep.verdict(document)
        word = ("lower", "upper")[end]
        assert f"neuron {neuron}: interval arithmetic does not prove the {word} end" in verdict.reason
        entry[0], entry[1] = ends
        entry[2 + end] = kept
        assert "ranges of layer 2" not in deep.verdict(document).reason


def test_bounds_cannot_lean_on_ranges_that_are_not_proved_yet(three: Case) -> None:
    """A range of layer 2 may not use slopes over layer 2 itself."""
    document = copy.deepcopy(three.document)
    tree = document["rivals"][0]["proof"]["tree"]
    tree["ranges"][0][0][2] = tree["bound"]
    verdict = three.verdict(document)
    assert not verdict.accepted
    assert "slopes: expected 0 entries" in verdict.reason


def test_intervals_alone_prove_a_small_radius(tmp_path: Path, deep: Case) -> None:
    radius = 0.1 * deep.radius
    leaf = deep_leaf(deep.net, deep.u, radius, 0, 1, intervals_only=True)
    proof = {"kind": "exclusion", "radius": radius.hex(), "tree": leaf}
    document = exclusion(deep.net, deep.u, radius, proof)
    verdict = check(*write(tmp_path, deep.net, document))
    assert verdict.accepted, verdict.reason
    for position, sign, end in ((0, 1.0, "lower"), (1, -1.0, "upper")):
        narrow = copy.deepcopy(document)
        entry = narrow["rivals"][0]["proof"]["tree"]["ranges"][0][2]
        entry[position] = (float.fromhex(entry[position]) + sign * 1e-6).hex()
        reason = check(*write(tmp_path, deep.net, narrow)).reason
        assert f"neuron 2: interval arithmetic does not prove the {end} end" in reason


def test_an_affine_network_has_no_exclusion(tmp_path: Path) -> None:
    net = pm.PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])])
    leaf = {"ranges": [], "bound": {"slopes": [], "quadratics": [], "multiplier": "0x0p0"}}
    document = exclusion(net, [0.0, 0.0], 0.1, {"kind": "exclusion", "radius": "0x1p0", "tree": leaf})
    assert "needs a hidden layer" in check(*write(tmp_path, net, document)).reason
    assert hexes([1.0]) == ["0x1.0000000000000p+0"]
