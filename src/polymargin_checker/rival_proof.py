"""One proof about one rival: each kind goes to the file that judges it.

Completeness and quadric proofs are read here and judged later, all of them together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq

from polymargin_checker.arithmetic import PRECISION, working_precision
from polymargin_checker.boundary import Boundary
from polymargin_checker.completeness import Listed, read_completeness
from polymargin_checker.document import fields, kind
from polymargin_checker.dyadics import at_least
from polymargin_checker.exclusion import check_exclusion
from polymargin_checker.hyperplane import check_hyperplane
from polymargin_checker.lifted import check_lifted
from polymargin_checker.lifted_spectra import Known
from polymargin_checker.product_ball import check_product_ball
from polymargin_checker.quadric import Asked, read_quadric
from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.region_proof import KnownExpansions, check_region
from polymargin_checker.situation import Situation
from polymargin_checker.views import Attention, Model, Products, of_layers

KINDS = ("trivial", "hyperplane", "completeness", "quadric", "exclusion", "lifted", "products", "region", "relaxation")


def check_proof(situation: Situation, rival: int, lower: fmpq | None, proof: Any) -> Listed | Asked | None:
    """Judge a proof; one of critical points or of a quadric is returned, to be judged with others."""
    word = kind(proof, "proof", KINDS)
    if word == "trivial":
        fields(proof, "trivial proof", ("kind",))
        if lower is None or lower > 0:
            raise Refused("a trivial proof proves no lower bound above 0")
        return None
    if word == "relaxation":
        _check_relaxation(situation, rival, lower, proof)
        return None
    if word == "region":
        _check_region(situation, rival, lower, proof)
        return None
    if not situation.near.is_ball:
        raise Refused(f"a {word} proof speaks of L2 balls; this neighbourhood needs a region proof")
    if word == "quadric":
        return read_quadric(situation.point_in_doubles, situation.label, rival, lower, proof)
    if word == "completeness":
        network, label, u = situation.model, situation.label, situation.point_in_doubles
        return read_completeness(network, lambda: Boundary(network, label, rival), u, label, rival, proof)
    if word == "hyperplane":
        check_hyperplane(situation.model, situation.label, rival, situation.lead(rival), lower, proof)
        return None
    known = situation.known
    model, point, label, proof = situation.view, situation.point, situation.label, dict(proof)
    if model is None:
        raise Refused(f"a {word} proof speaks of networks of polynomials, and this one has piecewise stages")
    if isinstance(model, Model) and "lowering" in proof:
        model = of_layers(model)  # layers as products; the lowering makes layers of squares of these
    if isinstance(model, Attention):
        if word == "exclusion" and "lowering" not in proof:
            raise Refused("exclusion proof: the key 'lowering' is missing, which an attention module needs")
        lowering = proof.pop("lowering") if word == "exclusion" else None
        # These layers are for one rival alone, and so is what is known about them.
        model, label, rival, known = model.layers(label, rival, lowering), 0, 1, Known()
    if word == "products":
        _check_product_ball(situation, rival, lower, proof)
        return None
    if isinstance(model, Products):
        _check_products(situation, model, rival, lower, proof)
        return None
    if word == "exclusion":
        if not at_least(check_exclusion(model, point, label, rival, proof), lower):
            raise Refused("the lower bound is above the radius of the exclusion proof")
        return None
    if not at_least(check_lifted(model, point, label, rival, proof, known, situation.exact), lower):
        raise Refused("the lower bound is above the radius of the lifted proof")
    return None


def _check_relaxation(situation: Situation, rival: int, lower: fmpq | None, proof: Any) -> None:
    with working_precision(PRECISION), np.errstate(all="ignore"):
        try:
            radius = situation.relaxations.check(rival, proof, lambda: situation.lead(rival))
        except Unproved as refusal:
            if situation.exact:
                raise
            raise Refused(f"{refusal}; so it is in doubles, and --exact may prove it") from None
    if not at_least(radius, lower):
        raise Refused("the lower bound is above the radius of the relaxation proof")


def _check_region(situation: Situation, rival: int, lower: fmpq | None, proof: Any) -> None:
    known, label, given, lead = situation.expansions, situation.label, dict(proof), situation.lead(rival)
    if known is None:
        if not isinstance(situation.view, Attention):
            raise Refused("a region proof speaks of networks of polynomials, and this one has piecewise stages")
        if "lowering" not in given:
            raise Refused("region proof: the key 'lowering' is missing, which an attention module needs")
        layers = situation.view.layers(label, rival, given.pop("lowering"))
        known = KnownExpansions(layers, situation.exact, situation.near, situation.point)
        label, rival = 0, 1
    if not at_least(check_region(known, label, rival, given, lead), lower):
        raise Refused("the lower bound is above the radius of the region proof")


def _check_product_ball(situation: Situation, rival: int, lower: fmpq | None, proof: dict[str, Any]) -> None:
    """Bounds on balls by products, of a network of products or of layers."""
    if situation.program is None:
        raise Refused("a proof by products is not for attention modules")
    given = (situation.program, situation.point, situation.label, rival, proof, situation.known, situation.exact)
    if not at_least(check_product_ball(*given), lower):
        raise Refused("the lower bound is above the radius of the proof by products")


def _check_products(
    situation: Situation, model: Products, rival: int, lower: fmpq | None, proof: dict[str, Any]
) -> None:
    """Bounds on balls by the layers of squares of a program."""
    point, label = situation.point, situation.label
    if "lowering" not in proof:
        raise Refused(f"{proof['kind']} proof: the key 'lowering' is missing, which a network of products needs")
    layers = model.layers(proof.pop("lowering"))
    if proof["kind"] == "exclusion":
        radius = check_exclusion(layers, point, label, rival, proof)
    else:
        # What is proved about curvatures holds for these scales alone, so it is not shared with other rivals.
        radius = check_lifted(layers, point, label, rival, proof, Known(), situation.exact)
    if not at_least(radius, lower):
        raise Refused(f"the lower bound is above the radius of the {proof['kind']} proof")
