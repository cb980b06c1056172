"""Which proof proves which claim: balls and other neighbourhoods, and radii that do not reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checker.certificate_makers import certificate, hexes, write
from checker.relaxation_prover import shared

import polymargin as pm
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
IN_ONE_PIECE = {"kind": "relaxation", **shared(0.5), "tree": {"judge": "linear"}}


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
    assert accepted or "a hyperplane proof speaks of L2 balls; this neighbourhood needs a relaxation proof" in reason


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_a_relaxation_proof_reaches_as_far_as_its_radius(norm: str, tmp_path: Path) -> None:
    for lower in ("0x1p-1", "0x1p-2", "0x0p+0"):
        assert judged(tmp_path, lower, IN_ONE_PIECE, {"norm": norm})[0]
    for lower in ((0.5000001).hex(), "0x1p+0", "inf"):
        accepted, reason = judged(tmp_path, lower, IN_ONE_PIECE, {"norm": norm})
        assert not accepted
        assert "the lower bound is above the radius of the relaxation proof" in reason


SQUARE = Network(
    [Product(Forms.of([[1.0]], [0.0]), Forms.of([[1.0]], [0.0]))], Forms.of([[0.0, 1.0], [0.0, 0.0]], [1.0, 0.0])
)
"""B = x² + 1, as one product."""


def of_products(folder: Path, lower: str, proof: Any) -> tuple[bool, str]:
    entries = [{"rival": 1, "lower": lower, "proof": proof}]
    document = certificate(AFFINE, [0.0], 0, {"kind": "robust", "radius": lower}, entries, None)
    document["model"] = {"sha256": SQUARE.fingerprint}
    found = check(*write(folder, SQUARE, document))
    return found.accepted, found.reason


def test_networks_of_products_and_their_proofs(tmp_path: Path) -> None:
    tree = {"judge": "definite", "ball": "0x1p-1"}
    proof = {"kind": "relaxation", **shared(1.0), "tree": tree}
    for lower in ("0x1p+0", "0x1p-1"):
        accepted, reason = of_products(tmp_path, lower, proof)
        assert accepted, reason
    accepted, reason = of_products(tmp_path, "0x1.0000000000001p+0", proof)
    assert not accepted
    assert "the lower bound is above the radius of the" in reason
    for tree in ({"judge": "definite", "ball": "0x1p0"}, {"judge": "linear", "ball": "0x1p-1"}):
        accepted, reason = of_products(tmp_path, "0x1p+0", {**proof, "tree": tree})
        assert not accepted
    for kind in ("exclusion", "lifted", "products", "region"):  # kinds of proofs that there are not
        accepted, reason = of_products(tmp_path, "0x1p+0", {**proof, "kind": kind})
        assert not accepted
        assert "kind" in reason


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
