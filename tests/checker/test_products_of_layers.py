"""Layers as a program of products: the same logits without rounding, and proofs by products of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checker.certificate_makers import certificate, write
from flint import fmpq

import polymargin as pm
from polymargin_checker import check
from polymargin_checker.exact import exact_logits
from polymargin_checker.model import Matrix, Model
from polymargin_checker.products import Form, Stage, of_layers

LAYERS = Model(
    (
        Matrix(3, 2, [0.5, 0.0, -0.25, 1.0, 0.0, 0.0]),
        Matrix(2, 3, [1.0, -0.5, 0.25, 0.0, 2.0, 0.0]),
        Matrix(2, 2, [0.5, 1.5, 0.0, -1.0]),
    ),
    ([0.25, 0.0, -0.5], [0.0, 0.125], [1.0, 0.0]),
    ((0.5, 1.0, 0.0, 0.25), (0.0, 0.0, 0.0, 0.0, 0.125)),
)


def test_forms_see_the_layer_before_them_alone() -> None:
    found = of_layers(LAYERS)
    assert found.dimension == 2
    assert found.stages == (
        Stage("A", (Form(2, [0, 1, 3, 3], [0, 0, 1], [0.5, -0.25, 1.0], [0.25, 0.0, -0.5]),), (0.5, 1.0, 0.0, 0.25)),
        Stage("A", (Form(5, [0, 3, 4], [2, 3, 4, 3], [1.0, -0.5, 0.25, 2.0], [0.0, 0.125]),), (0.0,) * 4 + (0.125,)),
    )
    assert found.readout == Form(7, [0, 2, 3], [5, 6, 6], [0.5, 1.5, -1.0], [1.0, 0.0])


@pytest.mark.parametrize("point", [(fmpq(0), fmpq(0)), (fmpq(3, 8), fmpq(-5, 4)), (fmpq(-7, 2), fmpq(1, 16))])
def test_logits_are_the_same(point: tuple[fmpq, fmpq]) -> None:
    assert of_layers(LAYERS).exact_logits(point) == exact_logits(LAYERS, point)


CUBED = pm.PolynomialNetwork(
    [([[1.0, 0.5], [0.0, 1.0]], [1.0, 0.0]), ([[1.0, -1.0]], [0.5]), ([[1.0], [-1.0]], [0.0, 1.0])],
    activations=[[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0]],
)
"""f₀ − f₁ = 2 ((x + y/2 + 1)³ − y³ + 1/2)² − 1, which is 7/2 at the origin."""


def judged(folder: Path, network: Any, proof: Any, lower: str = "0x1p-4", *, exact: bool = False) -> tuple[bool, str]:
    entries = [{"rival": 1, "lower": lower, "proof": proof}]
    document = certificate(network, [0.0] * network.dimension, 0, {"kind": "robust", "radius": lower}, entries, None)
    document["model"]["kind"] = network.kind
    (folder / "model.npz").unlink(missing_ok=True)
    found = check(*write(folder, network, document), exact=exact)
    return found.accepted, found.reason


def proof_of(network: pm.PolynomialNetwork, radius: float) -> dict[str, Any]:
    """Made for the same network written as products."""
    from polymargin.bounds.products.of_layers import products_of

    proved = pm.bounds.exclude(products_of(network), [0.0, 0.0], 0, 1, radius)
    return dict(proved.to_proof())


@pytest.mark.parametrize("exact", [False, True])
def test_layers_are_proved_by_products(exact: bool, tmp_path: Path) -> None:
    accepted, reason = judged(tmp_path, CUBED, proof_of(CUBED, 0.0625), exact=exact)
    assert accepted, reason


def test_a_proof_reaches_as_far_as_its_radius_and_holds_for_its_network(tmp_path: Path) -> None:
    proof = proof_of(CUBED, 0.0625)
    accepted, reason = judged(tmp_path, CUBED, proof, "0x1.0000001p-4")
    assert not accepted
    assert "the lower bound is above the radius of the proof by products" in reason
    steeper = pm.PolynomialNetwork(
        [(layer.weights * (1.0 + (k == 0)), layer.bias) for k, layer in enumerate(CUBED.layers)],
        activations=CUBED.activations,
    )
    accepted, reason = judged(tmp_path, steeper, proof)
    assert not accepted
    assert "curvatures of sum 0: the upper end is not proved" in reason


def test_not_of_what_multiplies_nothing_nor_of_attention(tmp_path: Path) -> None:
    affine = pm.PolynomialNetwork([([[3.0, 4.0], [0.0, 0.0]], [10.0, 5.0])])
    bent = pm.PolynomialNetwork([([[3.0, 4.0]], [1.0]), ([[1.0], [0.0]], [0.0, 0.0])], activations=[[1.0, 2.0]])
    for network in (affine, bent):
        accepted, reason = judged(tmp_path, network, proof_of(CUBED, 0.0625))
        assert not accepted
        assert "a proof by products of a model that multiplies nothing" in reason
    attention = pm.LightningAttention([[1.0]], [[1.0]], [[2.0]], [[1.0, 0.0], [0.0, 1.0]], [1.0, 0.5])
    accepted, reason = judged(tmp_path, attention, proof_of(CUBED, 0.0625))
    assert not accepted
    assert "a proof by products is not for attention modules" in reason
