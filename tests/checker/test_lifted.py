"""Lifted proofs made by hand: honest ones are accepted in both arithmetics, and every change that makes them false is refused."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import Json, certificate, hexes, write
from checker.lifted_proofs import Around, deep_squares, lifted_certificate, lifted_proof
from checker.test_lifted_form import expansion
from flint import fmpq

import polymargin as pm
from polymargin_checker import CheckResult, check, lifted, lifted_leaf
from polymargin_checker import arithmetic as arithmetics
from polymargin_checker.arithmetic import working_precision
from polymargin_checker.enclosures import Balls
from polymargin_checker.floats import Floats
from polymargin_checker.lifted_leaf import BallPart, _top
from polymargin_checker.lifted_ranges import first_range
from polymargin_checker.univariate import shortfall

ZERO = "0x0p+0"


def verdict_of(folder: Path, network: pm.Network, made: Json, exact: bool = False) -> CheckResult:
    return check(*write(folder, network, made), exact)


@pytest.mark.parametrize("largest_exact", [0, 1000])
@pytest.mark.parametrize("widths", [(3, 4, 3, 2), (5, 3, 3, 2), (6, 4, 4, 3, 2)])
def test_honest_proofs(widths: Any, largest_exact: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, u, radius = deep_squares(widths)
    made = lifted_certificate(network, u, radius)
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", largest_exact)
    for exact in (False, True):
        verdict = verdict_of(tmp_path, network, made, exact)
        assert verdict.accepted, verdict.reason


def test_the_arithmetic_follows_from_the_size_and_from_the_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    network, u, radius = deep_squares()
    made = lifted_certificate(network, u, radius)
    used: list[Any] = []
    original = lifted.judging
    monkeypatch.setattr(lifted, "judging", lambda chosen: used.append(chosen) or original(chosen))
    variables = 1 + 3 + 3
    for largest, exact in ((variables, False), (variables - 1, False), (0, True)):
        monkeypatch.setattr(arithmetics, "LARGEST_EXACT", largest)
        assert verdict_of(tmp_path, network, made, exact).accepted
    assert used == [Balls, Floats, Balls]
    monkeypatch.setattr(lifted, "LARGEST_SPACE", variables)
    assert verdict_of(tmp_path, network, made).accepted
    monkeypatch.setattr(lifted, "LARGEST_SPACE", variables - 1)
    assert "in 7 variables; this checker accepts up to 6" in verdict_of(tmp_path, network, made).reason


def test_what_it_takes(tmp_path: Path) -> None:
    """Ranges for every layer but the first, degree two but for the last; a positive radius not below the claim."""
    network, u, radius = deep_squares()
    honest = lifted_certificate(network, u, radius)
    for text, reason in ((ZERO, "not positive"), ("-0x1p-9", "not positive"), ("0x1p-9", "above the radius")):
        made = copy.deepcopy(honest)
        made["rivals"][0]["proof"]["radius"] = text
        assert reason in verdict_of(tmp_path, network, made).reason
    square, cube = [0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]
    for activations in ([square], [cube, square], [cube, square, square], [square, cube, square], [cube, cube]):
        layers = [*[np.eye(2)] * len(activations), ([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])]
        other = pm.PolynomialNetwork(layers, activations=activations)
        rivals = [{"rival": 1, "lower": "0x1p-8", "proof": honest["rivals"][0]["proof"]}]
        made = certificate(other, [0.0, 0.0], 0, honest["claim"], rivals, None)
        (tmp_path / "model.npz").unlink()
        reason = verdict_of(tmp_path, other, made).reason
        expected = (
            "expected 0 entries" if len(activations) == 1 else "activations of degree two at most but for the last"
        )
        assert expected in reason
    affine = pm.PolynomialNetwork([([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])])
    made = certificate(affine, [0.0, 0.0], 0, honest["claim"], rivals, None)
    (tmp_path / "model.npz").unlink()
    assert "a lifted proof needs a hidden layer" in verdict_of(tmp_path, affine, made).reason


def test_unknown_keys_and_trees_that_are_none(tmp_path: Path) -> None:
    network, u, radius = deep_squares()
    leaf = Around(network, u).leaf(radius) | {"first": [ZERO]}
    made = lifted_certificate(network, u, radius)
    made["rivals"][0]["proof"]["word"] = "more"
    assert "unknown key 'word'" in verdict_of(tmp_path, network, made).reason
    made = lifted_certificate(network, u, radius, split(1, 0, 0.0, leaf, leaf) | {"word": "more"})
    assert "unknown key 'word'" in verdict_of(tmp_path, network, made).reason
    for tree in (7, ["split"], "split"):
        made["rivals"][0]["proof"]["tree"] = tree
        assert "rival 1: leaf 0" in verdict_of(tmp_path, network, made).reason


CHANGES: list[tuple[str, Callable[[Json], object], str]] = [
    ("a negative ball", lambda leaf: leaf.update(ball="-0x1p-60"), "ball: a multiplier is negative"),
    ("a negative cut", lambda leaf: leaf["cuts"].__setitem__(2, "-0x1p-60"), "cuts: a multiplier is negative"),
    ("a negative interval", lambda leaf: leaf["intervals"][1].__setitem__(1, "-0x1p-60"), "intervals: a multiplier is negative"),
    ("no ball", lambda leaf: leaf.update(ball=ZERO), "not shown to be positive definite"),
    ("too many equalities", lambda leaf: leaf["equalities"].append([]), "entries"),
    ("too few intervals", lambda leaf: leaf["intervals"].pop(), "entries"),
    ("too many cuts", lambda leaf: leaf["cuts"].append(ZERO), "entries"),
    ("first", lambda leaf: leaf["first"].append(ZERO), "entries"),
    ("another key", lambda leaf: leaf.update(word=ZERO), "unknown key"),
    ("minorants", lambda leaf: leaf.update(minorants=[[ZERO] * 3] * 2), "needs none"),
    ("ranges", lambda leaf: leaf.update(ranges=[]), "entries"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "reason"), CHANGES, ids=[change[0] for change in CHANGES])
def test_leaves_that_prove_nothing(name: str, change: Any, reason: str, tmp_path: Path) -> None:
    network, u, radius = deep_squares((3, 4, 3, 2, 2))
    made = lifted_certificate(network, u, radius)
    change(made["rivals"][0]["proof"]["tree"])
    verdict = verdict_of(tmp_path, network, made)
    assert not verdict.accepted, name
    assert "rival 1: leaf 0" in verdict.reason
    assert reason in verdict.reason


@pytest.mark.parametrize("largest_exact", [0, 1000])
@pytest.mark.parametrize("key", ["ball", "equalities", "intervals", "cuts"])
def test_numbers_beyond_all_doubles_prove_nothing_and_warn_of_nothing(
    key: str, largest_exact: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The square of 2¹⁰⁰⁰ is infinite in doubles; NumPy would say so on standard error."""
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", largest_exact)
    network, u, radius = deep_squares((3, 4, 3, 2, 2))
    made = lifted_certificate(network, u, radius)
    leaf = made["rivals"][0]["proof"]["tree"]
    row = leaf if key == "ball" else leaf[key] if key == "cuts" else leaf[key][0]
    row[key if key == "ball" else 0] = "0x1p+1000"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert "not shown to be positive definite" in verdict_of(tmp_path, network, made).reason
    assert not caught


@pytest.mark.parametrize("key", ["ball", "equalities", "intervals", "cuts", "first", "minorants", "ranges"])
def test_every_field_is_needed(key: str, tmp_path: Path) -> None:
    network, u, radius = deep_squares()
    made = lifted_certificate(network, u, radius)
    del made["rivals"][0]["proof"]["tree"][key]
    assert f"the key '{key}' is missing" in verdict_of(tmp_path, network, made).reason


def split(layer: int, neuron: int, value: float, low: Json, high: Json) -> Json:
    return {"split": [layer, neuron, value.hex()], "low": low, "high": high}


def test_splits(tmp_path: Path) -> None:
    """Of first neurons and of rests, one after the other, the same one twice."""
    network, u, radius = deep_squares((3, 4, 3, 2, 2))
    around = Around(network, u)
    leaf = around.leaf(radius)
    one, two = leaf | {"first": ["0x1p+0"]}, leaf | {"first": ["0x1p+0", "0x1p-1"]}
    reach = radius * float(np.linalg.norm(around.weights[0][2]))
    second, third = around.root_ranges(radius)
    tree = split(1, 2, 0.0, one, split(1, 2, reach / 2, split(1, 0, 0.0, two, two), one))
    tree = split(2, 1, float(second[1].mean()), tree, split(3, 1, float(third[1].mean()), leaf, leaf))
    verdict = verdict_of(tmp_path, network, lifted_certificate(network, u, radius, tree))
    assert verdict.accepted, verdict.reason
    for layer, neuron, low, high in ((1, 2, -reach, reach), (2, 1, *second[1]), (3, 1, *third[1])):
        near = leaf | {"first": [ZERO] * (layer == 1)}
        for value in (low, high, 2 * low, 2 * high):
            if layer > 1 or abs(value) > 1.5 * reach:
                made = lifted_certificate(network, u, radius, split(layer, neuron, float(value), near, near))
                assert "outside the range of neuron" in verdict_of(tmp_path, network, made).reason
        inner = (low + high) / 2
        for side in ("low", "high"):  # beyond the range that a split left
            far = float(low + 0.6 * (high - low)) if side == "low" else float(low + 0.4 * (high - low))
            tree = split(layer, neuron, float(inner), near, near) | {side: split(layer, neuron, far, near, near)}
            made = lifted_certificate(network, u, radius, tree)
            assert (
                f"outside the range of neuron {neuron} of layer {layer}" in verdict_of(tmp_path, network, made).reason
            )
    for place in ([0, 0, ZERO], [4, 0, ZERO], [1, 4, ZERO], [1, -1, ZERO], [3, 2, ZERO], [1, 0]):
        tree = {"split": place, "low": one, "high": one}
        verdict = verdict_of(tmp_path, network, lifted_certificate(network, u, radius, tree))
        assert not verdict.accepted
        assert "split" in verdict.reason


def test_both_sides_of_a_split_have_to_be_proved(tmp_path: Path) -> None:
    network, u, radius = deep_squares()
    around = Around(network, u)
    leaf = around.leaf(radius) | {"first": [ZERO]}
    wrong = leaf | {"ball": ZERO}
    for tree, name in ((split(1, 0, 0.0, wrong, leaf), "leaf 0"), (split(1, 0, 0.0, leaf, wrong), "leaf 1")):
        assert name in verdict_of(tmp_path, network, lifted_certificate(network, u, radius, tree)).reason


def test_the_parts_of_a_split_together_are_the_whole(tmp_path: Path) -> None:
    network, u, radius = deep_squares((3, 4, 3, 2, 2))
    around_point = expansion(tmp_path, network, u, 1, radius, Balls)
    ranges = tuple([(fmpq(-layer), fmpq(layer))] * size for layer, size in ((2, 3), (3, 2)))
    whole = BallPart(ranges, {3: (fmpq(1, 1 << 20), fmpq(3, 1 << 20))})

    def parts(layer: int, neuron: int, value: float) -> list[tuple[str, BallPart]]:
        node = {"split": [layer, neuron, value.hex()], "low": "below", "high": "above"}
        return lifted._parts(around_point, node, whole)[::-1]

    (low_name, low), (high_name, high) = parts(1, 3, 2.0**-19)
    assert (low_name, high_name) == ("below", "above")
    assert low == BallPart(ranges, {3: (fmpq(1, 1 << 20), fmpq(1, 1 << 19))})
    assert high == BallPart(ranges, {3: (fmpq(1, 1 << 19), fmpq(3, 1 << 20))})
    (_, low), (_, high) = parts(1, 1, 0.0)
    least, most = first_range(around_point, 1)
    assert list(low.first.items()) == [*whole.first.items(), (1, (least, fmpq(0)))]
    assert list(high.first.items()) == [*whole.first.items(), (1, (fmpq(0), most))]
    assert low.rests == high.rests == ranges
    for layer, neuron in ((2, 0), (2, 1), (2, 2), (3, 0), (3, 1)):
        (_, low), (_, high) = parts(layer, neuron, 1.0)
        assert low.first == high.first == whole.first
        for part, ends in ((low, (fmpq(-layer), fmpq(1))), (high, (fmpq(1), fmpq(layer)))):
            expected = [list(rests) for rests in ranges]
            expected[layer - 2][neuron] = ends
            assert part.rests == tuple(expected)


def one_square(radius: float = 1.0, offset: float = 0.1) -> tuple[pm.Network, Any]:
    """B = 4 (x − 1/2)² − offset with one hidden neuron, z = x, and the tree that splits it at 0: η = ±1 above 0, 4 below."""
    network = pm.PolynomialNetwork([([[1.0]], [-0.5]), ([[4.0], [0.0]], [-offset, 0.0])], activations=[(0.0, 0.0, 1.0)])
    leaf = {"ball": ZERO, "equalities": [], "intervals": [], "cuts": [], "minorants": None, "ranges": None}
    tree = split(1, 0, 0.0, leaf | {"first": ["0x1p+2"]}, leaf | {"first": ["-0x1p+0"]})
    proof = {"kind": "lifted", "radius": radius.hex(), "ranges": [], "tree": tree}
    rivals = [{"rival": 1, "lower": radius.hex(), "proof": proof}]
    return network, certificate(network, [0.0], 0, {"kind": "robust", "radius": radius.hex()}, rivals, None)


@pytest.mark.parametrize("largest_exact", [0, 1000])
def test_a_split_of_the_only_hidden_layer(largest_exact: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 (x − 1/2)² + 1/10 > 0 on both sides of 0, with multipliers of the two ranges and without that of the ball."""
    monkeypatch.setattr(arithmetics, "LARGEST_EXACT", largest_exact)
    network, made = one_square(offset=-0.1)
    made["rivals"][0]["proof"]["tree"]["high"]["first"] = ["0x1p-3"]
    verdict = verdict_of(tmp_path, network, made)
    assert verdict.accepted, verdict.reason


def test_a_negative_multiplier_of_a_split_would_prove_a_falsehood(tmp_path: Path) -> None:
    """B(1/2) = −1/10, and B + t (1 − t) > 0: with η = −1 the form of the upper half is positive definite."""
    network, made = one_square()
    assert network.predict([0.5]) == 1
    assert "leaf 1, first: a multiplier is negative" in verdict_of(tmp_path, network, made).reason


def parabolas(around: Around, radius: float, sigma: Any) -> tuple[Any, Any]:
    """Below v_j σ(p_j + t) for the t of the last layer, and the ends of t: the Taylor polynomial, lowered by its error."""
    reach = radius * np.linalg.norm(around.a[-1], axis=1)
    rests = around.root_ranges(radius)[-1]
    rows = []
    for neuron, (p, v) in enumerate(zip(around.p[-1], around.v, strict=True)):
        shifted = v * np.polynomial.Polynomial(sigma)(np.polynomial.Polynomial([p, 1]))
        end = max(abs(rests[neuron, 0] - reach[neuron]), abs(rests[neuron, 1] + reach[neuron]))
        c, b, a, *higher = shifted.coef
        error = sum(abs(h) * end ** (k + 3) for k, h in enumerate(higher))
        rows.append([a, b, c - 1.01 * error - 1e-12])
    return np.array(rows), reach


SIGMA = [0.5, 0.25, 0.5, 0.25, 0.125]


def curved(widths: tuple[int, ...] = (3, 4, 3, 2), sigma: Any = SIGMA) -> tuple[pm.Network, Around, float, Json]:
    """A last activation of higher degree, with the leaf that proves a small ball."""
    network, u, radius = deep_squares(widths)
    layers = [(layer.weights, layer.bias) for layer in network.chain.layers]
    activations = [*network.chain.activations[:-1], sigma]
    scores = pm.PolynomialNetwork(layers, activations=activations)(u)
    layers[-1] = (layers[-1][0], layers[-1][1] + [scores[1] - scores[0] + 2, 0])
    network = pm.PolynomialNetwork(layers, activations=activations)
    around = Around(network, u)
    leaf = around.leaf(radius)
    rows, _ = parabolas(around, radius, sigma)
    leaf["minorants"] = [hexes(row) for row in rows]
    leaf["intervals"][-1] = hexes(np.abs(rows[:, 0]) * 4 + 4)
    return network, around, radius, leaf


def test_cubes_need_parabolas(tmp_path: Path) -> None:
    network, around, radius, leaf = curved(sigma=SIGMA[:4])
    assert verdict_of(tmp_path, network, lifted_certificate(network, around.u, radius, leaf)).accepted
    without = lifted_certificate(network, around.u, radius, leaf | {"minorants": None})
    assert "minorants" in verdict_of(tmp_path, network, without).reason


def test_parabolas_above_the_last_of_three_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their ends are those of the last layer, whose ranges are not the ones of the second."""
    network, around, radius, leaf = curved((3, 4, 3, 3, 2))
    asked: list[Any] = []
    monkeypatch.setattr(lifted_leaf, "shortfall", lambda gap, ends: asked.append(ends) or shortfall(gap, ends))
    verdict = verdict_of(tmp_path, network, lifted_certificate(network, around.u, radius, leaf))
    assert verdict.accepted, verdict.reason
    reach = radius * np.linalg.norm(around.a[-1], axis=1)
    rests = around.root_ranges(radius)[-1]
    expected = np.stack([rests[:, 0] - reach, rests[:, 1] + reach], axis=1)
    np.testing.assert_allclose([[float(end) for end in ends] for ends in asked], expected, rtol=1e-9)
    found = expansion(tmp_path, network, around.u, 1, radius, Balls)
    assert [float(c) for c in found.last.coeffs()] == SIGMA


@pytest.mark.parametrize("arithmetic", [Balls, Floats])
def test_parabolas_replace_the_last_layer(arithmetic: Any, tmp_path: Path) -> None:
    network, around, radius, leaf = curved()
    rests = [tuple(fmpq(*end.as_integer_ratio()) for end in row) for row in around.root_ranges(radius)[-1].tolist()]
    with working_precision(128):
        top = _top(expansion(tmp_path, network, around.u, 1, radius, arithmetic), leaf["minorants"], "leaf", rests)
    rows, _ = parabolas(around, radius, SIGMA)
    for column, found in ((0, top.square), (1, top.linear)):
        assert [float(entry) for entry in found.entries()] == pytest.approx(rows[:, column])
    assert float(top.constant.entries()[0]) == pytest.approx(around.bias + rows[:, 2].sum())


def test_parabolas_below_a_last_activation_of_higher_degree(tmp_path: Path) -> None:
    network, around, radius, leaf = curved()

    def answer(tree: Json) -> CheckResult:
        return verdict_of(tmp_path, network, lifted_certificate(network, around.u, radius, tree))

    verdict = answer(leaf)
    assert verdict.accepted, verdict.reason
    for neuron in range(3):
        for place, more, accepted in ((0, 2.0**24, False), (1, 2.0**16, False), (2, -100.0, False), (2, 1.0, True)):
            other = copy.deepcopy(leaf)
            value = float.fromhex(leaf["minorants"][neuron][place])
            other["minorants"][neuron][place] = (value + more).hex()
            verdict = answer(other)
            assert verdict.accepted == accepted, verdict.reason
            assert accepted or "not shown to be positive definite" in verdict.reason
    for wrong in (None, leaf["minorants"][1:], [row[1:] for row in leaf["minorants"]]):
        assert "minorants" in answer(leaf | {"minorants": wrong}).reason


def test_a_parabola_has_to_lie_below_on_all_that_the_last_layer_takes(tmp_path: Path) -> None:
    """What crosses the activation a little inside of an end of t is lowered, and what does a little outside is not."""
    network, around, radius, leaf = curved()
    rows, reach = parabolas(around, radius, SIGMA)
    rests = around.root_ranges(radius)[-1]
    found = expansion(tmp_path, network, around.u, 1, radius, Balls)
    exact = [tuple(fmpq(*end.as_integer_ratio()) for end in row) for row in rests.tolist()]

    def constant(minorants: Any) -> float:
        with working_precision(128):
            return float(_top(found, minorants, "leaf", exact).constant.entries()[0])

    for neuron in range(3):
        for end in (rests[neuron, 0] - reach[neuron], rests[neuron, 1] + reach[neuron]):
            for factor in (0.99, 1.01):
                slope = -np.sign(end) * 2.0**-4  # what is between the two is slope · (t − factor · end), nearly
                broken = copy.deepcopy(leaf["minorants"])
                a, b, c = rows[neuron]
                broken[neuron] = hexes([a, b - slope, c + slope * factor * end])
                lowered = constant(leaf["minorants"]) + slope * factor * end - constant(broken)
                expected = 0.01 * abs(slope * end) if factor < 1 else 0.0
                assert lowered == pytest.approx(expected, rel=0.1, abs=1e-9)


def test_the_label_has_to_win_against_every_rival(tmp_path: Path) -> None:
    """A lifted proof shows it of its rival; of the others exact logits do, listed or not."""
    network, u, radius = deep_squares((3, 4, 3, 3))
    proof = lifted_proof(Around(network, u), radius)
    zero = {"kind": "robust", "radius": ZERO}
    honest = [
        {"rival": 1, "lower": radius.hex(), "proof": proof},
        {"rival": 2, "lower": ZERO, "proof": {"kind": "trivial"}},
    ]
    assert verdict_of(tmp_path, network, certificate(network, u, 0, zero, honest, None)).accepted
    layers = [(layer.weights, layer.bias.copy()) for layer in network.chain.layers]
    scores = network(u)
    for lead in (0.5, 0.0):  # class 2 wins, or ties but for rounding
        layers[-1][1][2] = network.chain.layers[-1].bias[2] + scores[0] - scores[2] + lead + 1e-12
        other = pm.PolynomialNetwork(layers, activations=network.chain.activations)
        vulnerable = {"kind": "vulnerable", "radius": "0x1p0"}
        for claim, rivals in ((zero, honest), (zero, honest[:1]), (vulnerable, honest[:1])):
            (tmp_path / "model.npz").unlink()
            verdict = verdict_of(tmp_path, other, certificate(other, u, 0, claim, rivals, None))
            assert not verdict.accepted
            assert "class 0 is not the only largest logit at the point: class 2 ties or wins" in verdict.reason
        # A word alone proves nothing: the lifted proof of rival 1 does not hold against rival 2.
        (tmp_path / "model.npz").unlink()
        moved = [{"rival": 2, "lower": radius.hex(), "proof": proof}, honest[0]]
        assert "rival 2: " in verdict_of(tmp_path, other, certificate(other, u, 0, zero, moved, None)).reason
