"""Which proof proves which claim: balls and regions, attention modules in regions, and radii that do not reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checker.certificate_makers import certificate, hexes, write

import polymargin as pm
from polymargin.networks.attention import LightningAttention
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Product
from polymargin_checker import check

AFFINE = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0]], [10.0, 5.0])])
"""Class 0 leads by 5 at the origin, with slope (3, 4): a tie is at L2 distance 1 and L∞ distance 5/7."""
PLAIN: dict[str, Any] = {
    "norm": "l2",
    "weights": None,
    "low": None,
    "high": None,
    "movable": None,
    "rivals": None,
    "abstain": "0x0p+0",
}
REGION = {"kind": "region", "radius": "0x1p-1", "tree": {"linear": "point"}}


def judged(folder: Path, lower: str, proof: Any, near: dict[str, Any] | None) -> tuple[bool, str]:
    entries = [{"rival": 1, "lower": lower, "proof": proof}]
    document = certificate(AFFINE, [0.0, 0.0], 0, {"kind": "robust", "radius": lower}, entries, None)
    if near is not None:
        document["neighbourhood"] = {**PLAIN, **near}
    found = check(*write(folder, AFFINE, document))
    return found.accepted, found.reason


@pytest.mark.parametrize(
    ("near", "accepted"),
    [
        (None, True),
        ({}, True),
        ({"low": ["-0x1p+0", None], "high": [None, "0x1p+0"]}, True),
        ({"movable": [1]}, True),
        ({"norm": "linf"}, False),
        ({"norm": "l1"}, False),
        ({"weights": ["0x1p-1", "0x1p-1"]}, False),
        ({"abstain": "0x1p+0"}, False),
    ],
)
def test_a_proof_on_a_ball_is_for_what_lies_in_balls(near: Any, accepted: bool, tmp_path: Path) -> None:
    found, reason = judged(tmp_path, "0x1p+0", {"kind": "hyperplane"}, near)
    assert found is accepted
    assert accepted or "a hyperplane proof speaks of L2 balls; this neighbourhood needs a region proof" in reason


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_a_region_proof_reaches_as_far_as_its_radius(norm: str, tmp_path: Path) -> None:
    for lower in ("0x1p-1", "0x1p-2", "0x0p+0"):
        assert judged(tmp_path, lower, REGION, {"norm": norm})[0]
    for lower in ((0.5000001).hex(), "0x1p+0", "inf"):
        accepted, reason = judged(tmp_path, lower, REGION, {"norm": norm})
        assert not accepted
        assert "the lower bound is above the radius of the region proof" in reason


LOWERING = {"values": [["0x1p+0"]], "keys": [["0x1p+0"]], "scales": [[["0x1p+0"] * 3]]}


def attention(folder: Path, readout: list[float], bias: list[float], label: int, proofs: dict[int, Any]) -> Any:
    """f = readout · x³ + bias around x = 1, in L∞."""
    network = LightningAttention([[1.0]], [[1.0]], [[1.0]], [[c] for c in readout], bias)
    (folder / "model.npz").unlink(missing_ok=True)
    entries = [{"rival": rival, "lower": "0x1p-4", "proof": proof} for rival, proof in proofs.items()]
    document = certificate(AFFINE, [1.0], label, {"kind": "robust", "radius": "0x1p-4"}, entries, None)
    document["model"] = {"sha256": network.fingerprint}
    document["neighbourhood"] = {**PLAIN, "norm": "linf"}
    found = check(*write(folder, network, document))
    return found.accepted, found.reason


def in_region(**more: Any) -> dict[str, Any]:
    return {**REGION, "radius": "0x1p-4", **more}


def test_attention_modules_in_regions(tmp_path: Path) -> None:
    good = in_region(lowering=LOWERING)
    assert attention(tmp_path, [1.0, 0.0], [1.0, 0.0], 0, {1: good})[0]
    assert attention(tmp_path, [0.0, 1.0], [0.0, 1.0], 1, {0: good})[0]
    assert attention(tmp_path, [0.0, 0.0, 1.0], [0.0, 0.5, 1.0], 2, {0: good, 1: good})[0]
    accepted, reason = attention(tmp_path, [1.0, 0.0], [1.0, 0.0], 0, {1: in_region()})
    assert not accepted
    assert "the key 'lowering' is missing, which an attention module needs" in reason
    for readout, bias in (
        ([1.0, 0.9], [0.0, 0.0]),
        ([1.0, -9.0], [-9.0, 0.5]),
    ):  # near 1 − 1/16 there is a tie, or nearly
        accepted, reason = attention(tmp_path, readout, bias, 0, {1: good})
        assert accepted is (readout[1] > 0)
    accepted, reason = attention(tmp_path, [1.0, 0.0, 1.5], [1.0, 0.0, 0.49], 0, {1: good, 2: good})
    assert not accepted
    assert "rival 2: leaf 0" in reason


SQUARE = Network(
    [Product(Forms.of([[1.0]], [0.0]), Forms.of([[1.0]], [0.0]))], Forms.of([[0.0, 1.0], [0.0, 0.0]], [1.0, 0.0])
)
"""B = x² + 1: one product, one neuron as a layer of squares."""
SCALES = {"scales": ["0x1p+0"]}
HALF, ZERO = "0x1p-1", "0x0p+0"
PROOFS: dict[str, dict[str, Any]] = {
    "exclusion": {
        "tree": {"ranges": [], "bound": {"slopes": [], "quadratics": [["0x1p+0", ZERO, ZERO]], "multiplier": HALF}}
    },
    "lifted": {
        "ranges": [],
        "tree": {
            "ball": HALF,
            "minorants": None,
            "ranges": None,
            **{key: [] for key in ("equalities", "intervals", "cuts", "first")},
        },
    },
    "products": {
        "ball": HALF,
        **{key: [] for key in ("curvatures", "ranges", "equalities", "intervals", "cuts")},
    },
}


def of_products(folder: Path, lower: str, proof: Any) -> tuple[bool, str]:
    entries = [{"rival": 1, "lower": lower, "proof": proof}]
    document = certificate(AFFINE, [0.0], 0, {"kind": "robust", "radius": lower}, entries, None)
    document["model"] = {"sha256": SQUARE.fingerprint}
    found = check(*write(folder, SQUARE, document))
    return found.accepted, found.reason


@pytest.mark.parametrize("kind", PROOFS)
def test_networks_of_products_and_their_proofs(kind: str, tmp_path: Path) -> None:
    lowering: dict[str, Any] = {} if kind == "products" else {"lowering": SCALES}
    proof = {"kind": kind, "radius": "0x1p+0", **PROOFS[kind], **lowering}
    for lower in ("0x1p+0", HALF):
        accepted, reason = of_products(tmp_path, lower, proof)
        assert accepted, reason
    accepted, reason = of_products(tmp_path, "0x1.0000000000001p+0", proof)
    assert not accepted
    assert "the lower bound is above the radius of the" in reason
    accepted, reason = of_products(tmp_path, "0x1p+0", {"kind": kind, "radius": "0x1p+0", **PROOFS[kind]})
    assert accepted is (kind == "products")
    assert accepted or f"{kind} proof: the key 'lowering' is missing, which a network of products needs" in reason


def test_products_have_no_hyperplane(tmp_path: Path) -> None:
    accepted, reason = of_products(tmp_path, "0x1p+0", {"kind": "hyperplane"})
    assert not accepted
    assert "a hyperplane proof for a network with an activation of degree above one" in reason


THREE = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]], [10.0, 5.0, 5.0])])


def attacked(folder: Path, rival: int, share: float, near: dict[str, Any]) -> tuple[bool, str]:
    """A point on the way to the tie, where class 0 leads by 5 (1 − share)."""
    tie = {"kind": "counterexample", "rival": rival, "point": hexes([-0.6 * share, -0.8 * share])}
    document = certificate(THREE, [0.0, 0.0], 0, {"kind": "vulnerable", "radius": "0x1p+1"}, [], tie)
    document["neighbourhood"] = {**PLAIN, **near}
    found = check(*write(folder, THREE, document))
    return found.accepted, found.reason


def test_a_lead_that_counts_as_a_tie(tmp_path: Path) -> None:
    assert attacked(tmp_path, 1, 1.125, {})[0]
    assert attacked(tmp_path, 1, 0.875, {"abstain": "0x1p+0"})[0]  # a lead of 5/8
    for share, near in ((0.875, {}), (0.5, {"abstain": "0x1p+0"})):
        accepted, reason = attacked(tmp_path, 1, share, near)
        assert not accepted
        assert "class 1 neither ties nor wins at the counterexample" in reason


def test_rivals_that_do_not_count_make_no_counterexample(tmp_path: Path) -> None:
    assert attacked(tmp_path, 2, 1.125, {"rivals": [2]})[0]
    accepted, reason = attacked(tmp_path, 1, 1.125, {"rivals": [2]})
    assert not accepted
    assert "upper, rival: class 1 does not count in this neighbourhood" in reason
