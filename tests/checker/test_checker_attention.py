"""The checker on attention modules: its own reading, and everything that it has to refuse."""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker import relaxation_prover as prover
from checker.certificate_makers import certificate, hexes, write
from checker.stage_files import as_read
from flint import fmpq

import polymargin as pm
from polymargin.networks import Network
from polymargin.networks.attention import LightningAttention, random_attention
from polymargin_checker import check
from polymargin_checker.exact import exact_logits

SHAPES = [(1, 1, 1, 1), (2, 2, 1, 1), (3, 2, 2, 2), (2, 3, 3, 5), (3, 1, 2, 2), (2, 4, 3, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_checker_reads_the_same_polynomials(shape: tuple[int, ...]) -> None:
    network = random_attention(*shape, classes=3, seed=2)
    model = as_read(network)
    assert (model.dimension, model.class_count) == (network.dimension, network.class_count)
    point = np.random.default_rng(0).normal(size=network.dimension)
    exact = exact_logits(model, [fmpq(*float(value).as_integer_ratio()) for value in point])
    assert [Fraction(int(value.p), int(value.q)) for value in exact] == network.exact_logits(point)


@pytest.fixture(scope="module")
def proved() -> tuple[Network, Any]:
    """A proof that needs branching, and the certificate around it."""
    network = random_attention(2, 2, 2, 2, seed=2)
    u = np.random.default_rng([3, 1]).normal(size=4)
    verdict = pm.verify(network, u, 0.93 * pm.margin(network, u, proof=False).radius)
    assert verdict.answer is pm.Answer.ROBUST
    data = {**verdict.certificate.data, "point": hexes(u)}
    assert "split" in data["rivals"][0]["proof"]["tree"]
    return network, data


@pytest.mark.parametrize("exact", [False, True])
def test_the_original_is_accepted(proved: tuple[Network, Any], exact: bool, tmp_path: Path) -> None:
    verdict = check(*write(tmp_path, *proved), exact)
    assert verdict.accepted, verdict.reason


def first_leaf(document: Any) -> Any:
    tree = document["rivals"][0]["proof"]["tree"]
    while "split" in tree:
        tree = tree["low"]
    return tree


def farther(document: Any) -> None:
    """Beyond the margin."""
    proof = document["rivals"][0]["proof"]
    radius = (1.08 * float.fromhex(proof["radius"])).hex()
    proof["radius"] = document["rivals"][0]["lower"] = document["claim"]["radius"] = radius


MUTATIONS: list[tuple[str, Callable[[Any], object], str]] = [
    ("a lowering", lambda d: d["rivals"][0]["proof"].__setitem__("lowering", {}), "unknown key 'lowering'"),
    ("a negative multiplier", lambda d: first_leaf(d).__setitem__("ball", "-0x1p+0"), "negative"),
    ("no equalities", lambda d: first_leaf(d).pop("definition"), "positive definite"),
    ("a larger radius", farther, "not shown|contain"),
    ("a flat proof", lambda d: d["rivals"][0].__setitem__("proof", {"kind": "hyperplane"}), "degree above one"),
    ("another label", lambda d: d.__setitem__("label", 1 - d["label"]), "largest logit"),
    ("another point", lambda d: d["point"].__setitem__(0, "0x1p+1"), "not shown|outside the range"),
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


def test_values_that_vanish_are_no_obstacle(tmp_path: Path) -> None:
    network = random_attention(2, 3, 2, 2, seed=5)
    dead = network.structure.V.copy()
    dead[1] = 0.0
    module = network.structure
    network = LightningAttention(dead, module.K, module.Q, module.readout, module.bias)
    u = 0.1 * np.random.default_rng(0).normal(size=6)
    verdict = pm.verify(network, u, 0.2)
    assert verdict.answer is pm.Answer.ROBUST
    assert check(*write(tmp_path, network, verdict.certificate.data)).accepted


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
@pytest.mark.parametrize("share", [False, True])
def test_what_is_proved_about_one_rival_proves_nothing_about_another(
    order: tuple[int, int], share: bool, tmp_path: Path
) -> None:
    """f = (x³ + 1, 0, 100 x³) around 1, where the last class wins."""
    network = LightningAttention([[1.0]], [[1.0]], [[1.0]], [[1.0], [0.0], [100.0]], [1.0, 0.0, 0.0])
    entry = prover.shared(0.0625)
    given = prover.relaxations(network, [1.0])
    bound, leaf = prover.best_leaf(given, entry, 1, ["definition", "range", "argument", "box", "ball"])
    assert bound > 1
    good = {"kind": "relaxation", **entry, "tree": leaf, **({"lemmas": "shared"} if share else {})}
    entries = [{"rival": rival, "lower": (0.0625).hex(), "proof": good} for rival in order]
    document = certificate(network, [1.0], 0, {"kind": "robust", "radius": (0.0625).hex()}, entries, None)
    if share:
        document["ranges"] = entry
    found = check(*write(tmp_path, network, document))
    assert not found.accepted
    assert "rival 2: leaf 0" in found.reason
    document["rivals"] = [one for one in entries if one["rival"] == 1]
    assert "class 2 ties or wins" in check(*write(tmp_path, network, document)).reason
    (tmp_path / "model.npz").unlink()
    two = LightningAttention([[1.0]], [[1.0]], [[1.0]], [[1.0], [0.0]], [1.0, 0.0])
    document["model"]["sha256"] = two.fingerprint
    found = check(*write(tmp_path, two, document))
    assert found.accepted, found.reason
