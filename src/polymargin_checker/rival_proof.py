"""One proof about one rival: each kind goes to the file that judges it.

Completeness and quadric proofs are read here and judged later, all of them together.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq

from polymargin_checker.arithmetic import judging
from polymargin_checker.boundary import Boundary
from polymargin_checker.completeness import Listed, read_completeness
from polymargin_checker.document import fields, kind
from polymargin_checker.dyadics import at_least
from polymargin_checker.hyperplane import check_hyperplane
from polymargin_checker.quadric import Asked, read_quadric
from polymargin_checker.refusal import Refused
from polymargin_checker.situation import Situation

KINDS = ("trivial", "hyperplane", "completeness", "quadric", "relaxation")


def check_proof(situation: Situation, rival: int, lower: fmpq | None, proof: Any) -> Listed | Asked | None:
    """Judge a proof; one of critical points or of a quadric is returned, to be judged with others."""
    word = kind(proof, "proof", KINDS)
    if word == "trivial":
        fields(proof, "trivial proof", ("kind",))
        if lower is None or lower > 0:
            raise Refused("a trivial proof proves no lower bound above 0")
        return None
    if word == "relaxation":
        with judging(situation.exact):
            radius = situation.relaxations.check(rival, proof, lambda: situation.lead(rival))
        if not at_least(radius, lower):
            raise Refused("the lower bound is above the radius of the relaxation proof")
        return None
    if not situation.near.is_ball:
        raise Refused(f"a {word} proof speaks of L2 balls; this neighbourhood needs a relaxation proof")
    if word == "quadric":
        return read_quadric(situation.point_in_doubles, situation.label, rival, lower, proof)
    if word == "completeness":
        network, label, u = situation.model, situation.label, situation.point_in_doubles
        return read_completeness(network, lambda: Boundary(network, label, rival), u, label, rival, proof)
    check_hyperplane(situation.model, situation.label, rival, situation.lead(rival), lower, proof)
    return None
