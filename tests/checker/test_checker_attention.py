"""The checker on attention modules: its own reading, its own cubes, and everything that it has to refuse."""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker.certificate_makers import hexes, write
from checker.views_of_files import as_read, read_view
from engines import exclude
from flint import fmpq

import polymargin as pm
from polymargin.bounds.layered.layers import layered
from polymargin.networks import Network
from polymargin.networks.attention import LightningAttention, random_attention
from polymargin_checker import check
from polymargin_checker.exact import exact_logits
from polymargin_checker.refusal import Refused
from polymargin_checker.views import Attention, Model

SHAPES = [(1, 1, 1, 1), (2, 2, 1, 1), (3, 2, 2, 2), (2, 3, 3, 5), (3, 1, 2, 2), (2, 4, 3, 2)]


def saved(folder: Path, network: Network) -> Attention:
    network.save(folder / "model.npz")
    model = read_view(folder / "model.npz")
    assert isinstance(model, Attention)
    return model


def rationals(values: Any) -> list[fmpq]:
    return [fmpq(*float(value).as_integer_ratio()) for value in values]


def nested(array: np.ndarray) -> Any:
    return hexes(array) if array.ndim == 1 else [nested(row) for row in array]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_checker_reads_the_same_polynomials(tmp_path: Path, shape: tuple[int, ...]) -> None:
    network = random_attention(*shape, classes=3, seed=2)
    model = saved(tmp_path, network)
    assert (model.dimension, model.class_count) == (network.dimension, network.class_count)
    point = np.random.default_rng(0).normal(size=network.dimension)
    ours = [Fraction(int(value.p), int(value.q)) for value in exact_logits(as_read(network), rationals(point))]
    assert ours == network.exact_logits(point)


def cubes(model: Model, point: list[fmpq]) -> fmpq:
    """f_0 − f_1 of one hidden layer of cubes, exactly."""
    first, top = model.weights
    assert model.activations == ((0.0, 0.0, 0.0, 1.0),)
    hidden = [
        sum((w * x for w, x in zip(first.row(j), point, strict=True)), model.biases[0][j]) ** 3
        for j in range(first.rows)
    ]
    sides = [sum((w * h for w, h in zip(top.row(c), hidden, strict=True)), model.biases[1][c]) for c in (0, 1)]
    return sides[0] - sides[1]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_lowering_gives_the_same_polynomial(tmp_path: Path, shape: tuple[int, ...]) -> None:
    network = random_attention(*shape, classes=3, seed=3)
    model = saved(tmp_path, network)
    generator = np.random.default_rng(1)
    module = network.structure
    r, s = min(module.d_prime, module.t, module.d), min(module.a, module.d)
    for lowering in (
        None,
        {name: nested(array) for name, array in layered(network, 2, 0).lowering.items()},
        {
            "values": nested(generator.normal(size=(r, r))),
            "keys": nested(generator.normal(size=(s, s))),
            "scales": nested(generator.normal(size=(r, s, 3))),
        },
    ):
        layers = model.layers(2, 0, lowering)
        for seed in range(3):
            point = rationals(np.random.default_rng(seed).normal(size=network.dimension))
            logits = exact_logits(as_read(network), point)
            assert cubes(layers, point) == logits[2] - logits[0]


@pytest.fixture(scope="module")
def proved() -> tuple[Network, Any]:
    """A proof that needs branching, and the certificate around it."""
    network = random_attention(2, 2, 2, 2, seed=2)
    u = np.random.default_rng([3, 1]).normal(size=4)
    label = int(network.predict(u))
    radius = 0.97 * pm.margin(network, u, proof=False).radius
    found = exclude(network, u, label, 1 - label, radius)
    assert found.proved
    assert found.leaves > 1
    document = {
        "format": "polymargin-certificate-1",
        "model": {"sha256": network.fingerprint},
        "point": hexes(u),
        "label": label,
        "claim": {"kind": "robust", "radius": float(radius).hex()},
        "rivals": [{"rival": 1 - label, "lower": float(radius).hex(), "proof": found.to_proof()}],
        "upper": None,
    }
    return network, document


def test_the_original_is_accepted(proved: tuple[Network, Any], tmp_path: Path) -> None:
    verdict = check(*write(tmp_path, *proved))
    assert verdict.accepted, verdict.reason


def singular(document: Any) -> None:
    matrix = lowering(document)["values"]
    matrix[1] = list(matrix[0])


def lowering(document: Any) -> Any:
    return document["rivals"][0]["proof"]["lowering"]


def first_leaf(document: Any) -> Any:
    tree = document["rivals"][0]["proof"]["tree"]
    while "split" in tree:
        tree = tree["low"]
    return tree


MUTATIONS: list[tuple[str, Callable[[Any], object], str]] = [
    ("no lowering", lambda d: d["rivals"][0]["proof"].pop("lowering"), "'lowering' is missing"),
    ("a singular basis", singular, "not invertible"),
    ("a short basis", lambda d: lowering(d)["keys"].pop(), "expected 2 entries"),
    ("no scales", lambda d: lowering(d).pop("scales"), "'scales' is missing"),
    ("an unknown key", lambda d: lowering(d).__setitem__("hint", 1), "unknown key"),
    ("a product left out", lambda d: lowering(d)["scales"][0].__setitem__(0, ["0x0p+0"] * 3), "the product is not"),
    ("another basis", lambda d: lowering(d)["values"][0].__setitem__(0, "0x1.8p+0"), "leaf"),
    ("another scale", lambda d: lowering(d)["scales"][0][0].__setitem__(2, "0x1p+3"), "leaf"),
    ("numbers as JSON numbers", lambda d: lowering(d)["values"][0].__setitem__(0, 1.0), "in quotes"),
    ("a negative multiplier", lambda d: first_leaf(d)["bound"].__setitem__("multiplier", "-0x1p+0"), "negative"),
    ("a minorant raised", lambda d: first_leaf(d)["bound"]["quadratics"][0].__setitem__(2, "0x1p+4"), "quadratic"),
    ("a larger radius", lambda d: d["rivals"][0]["proof"].__setitem__("radius", "0x1p+2"), "leaf"),
    ("a flat proof", lambda d: d["rivals"][0].__setitem__("proof", {"kind": "hyperplane"}), "degree above one"),
    ("another label", lambda d: d.__setitem__("label", 1 - d["label"]), "largest logit"),
    ("another point", lambda d: d["point"].__setitem__(0, "0x1p+1"), "leaf|largest logit"),
]


@pytest.mark.parametrize(("name", "mutate", "reason"), MUTATIONS, ids=[m[0] for m in MUTATIONS])
def test_damaged_proofs_are_refused(
    name: str, mutate: Callable[[Any], object], reason: str, proved: tuple[Network, Any], tmp_path: Path
) -> None:
    network, document = proved[0], copy.deepcopy(proved[1])
    mutate(document)
    verdict = check(*write(tmp_path, network, document))
    assert not verdict.accepted, name
    assert any(part in verdict.reason for part in reason.split("|")), verdict.reason


def test_one_ulp_in_one_weight_is_another_model(proved: tuple[Network, Any], tmp_path: Path) -> None:
    network, document = proved
    Q = network.structure.Q.copy()
    Q[0, 0] = np.nextafter(Q[0, 0], np.inf)
    module = network.structure
    other = LightningAttention(module.V, module.K, Q, module.readout, module.bias)
    verdict = check(*write(tmp_path, other, document))
    assert not verdict.accepted
    assert "another model" in verdict.reason


def test_a_network_of_layers_has_no_lowering(proved: tuple[Network, Any], tmp_path: Path) -> None:
    network = pm.PolynomialNetwork([np.eye(2), ([[1.0, 1.0], [0.0, 0.0]], [1.0, 0.0])], degree=2)
    document = pm.verify(network, [0.1, 0.2], 1.0).certificate.data
    document["rivals"][0]["proof"]["lowering"] = lowering(proved[1])
    verdict = check(*write(tmp_path, network, document))
    assert not verdict.accepted


def test_scales_zero_are_right_where_a_product_vanishes(tmp_path: Path) -> None:
    network = random_attention(2, 3, 2, 2, seed=5)
    dead = network.structure.V.copy()
    dead[1] = 0.0
    module = network.structure
    network = LightningAttention(dead, module.K, module.Q, module.readout, module.bias)
    u = 0.1 * np.random.default_rng(0).normal(size=6)
    verdict = pm.verify(network, u, 0.2)
    assert verdict.answer is pm.Answer.ROBUST
    scales = verdict.certificate.data["rivals"][0]["proof"]["lowering"]["scales"]
    assert any(float.fromhex(number) == 0 for row in scales for entry in row for number in entry)
    assert check(*write(tmp_path, network, verdict.certificate.data)).accepted


def test_layers_too_large_are_refused_quickly(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="too large for an exclusion"):
        saved(tmp_path, random_attention(24, 24, 12, 12)).layers(0, 1)


def lifted(model: Attention, label: int, rival: int, u: float, radius: float) -> dict[str, Any]:
    """A lifted proof for one input, with the least value of every cube as its parabola."""
    layers = model.layers(label, rival)
    rows = []
    for neuron in range(layers.weights[0].rows):
        (w,) = (float(entry.p) / float(entry.q) for entry in layers.weights[0].row(neuron))
        factor = float(layers.weights[1].row(0)[neuron].p) / float(layers.weights[1].row(0)[neuron].q)
        least = min(factor * (w * (u + side * 1.001 * radius)) ** 3 for side in (-1, 1))
        rows.append(hexes([0.0, 0.0, least - 1e-9]))
    none: dict[str, Any] = {key: [] for key in ("equalities", "intervals", "cuts", "first")}
    leaf = {"ball": "0x1p+0", "minorants": rows, "ranges": None, **none}
    return {"kind": "lifted", "radius": radius.hex(), "ranges": [], "tree": leaf}


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_what_is_known_about_one_rival_proves_nothing_about_another(order: tuple[int, int], tmp_path: Path) -> None:
    """f = (x³ + 1, 0, 100 x³) around 1, where the last class wins: the layers of cubes are other ones for every rival."""
    network = LightningAttention([[1.0]], [[1.0]], [[1.0]], [[1.0], [0.0], [100.0]], [1.0, 0.0, 0.0])
    model = saved(tmp_path, network)
    good = lifted(model, 0, 1, 1.0, 0.0625)
    entries = [{"rival": rival, "lower": (0.0625).hex(), "proof": good} for rival in order]
    document = {
        "format": "polymargin-certificate-1",
        "model": {"sha256": network.fingerprint},
        "point": ["0x1p+0"],
        "label": 0,
        "claim": {"kind": "robust", "radius": (0.0625).hex()},
        "rivals": entries,
        "upper": None,
    }
    found = check(*write(tmp_path, network, document))
    assert not found.accepted
    assert "rival 2: leaf 0" in found.reason
    (tmp_path / "model.npz").unlink()
    two = LightningAttention([[1.0]], [[1.0]], [[1.0]], [[1.0], [0.0]], [1.0, 0.0])
    document["model"]["sha256"], document["rivals"] = two.fingerprint, [{**entries[0], "rival": 1}]
    found = check(*write(tmp_path, two, document))
    assert found.accepted, found.reason
