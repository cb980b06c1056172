"""Proofs that another class ties or wins as near as claimed: a counterexample, or a critical point that is real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpq

from polymargin_checker.claim import Claim
from polymargin_checker.completeness import Completeness, Nature
from polymargin_checker.document import fields, integer, items, kind
from polymargin_checker.dyadics import number
from polymargin_checker.refusal import Refused
from polymargin_checker.situation import Situation, counted_rival, logits_at


def check_upper(situation: Situation, claim: Claim, proofs: dict[int, Completeness | None], upper: Any) -> None:
    if upper is None:
        if claim.kind != "robust" and claim.upper is not None:
            raise Refused("the claim has an upper bound, but the certificate has no proof of it")
        return
    if claim.kind == "margin" and claim.upper is None:
        raise Refused("the claimed upper bound is infinite, so upper must be null")
    if kind(upper, "upper", ("counterexample", "critical-point")) == "counterexample":
        frame = situation.near.frame
        place, size = ("point", situation.model.dimension) if frame is None else ("along", frame.size)
        fields(upper, "upper", ("kind", "rival", place))
        rival = counted_rival(situation, upper["rival"], "upper, rival")
        entries = items(upper[place], f"upper, {place}", size)
        x = [number(entry, "upper, a coordinate") for entry in entries]
        _check_counterexample(situation, claim, rival, x if frame is None else frame.moved(situation.point, x))
        return
    fields(upper, "upper", ("kind", "rival", "index"))
    if not situation.near.is_plain:
        raise Refused("upper: a critical point of the L2 distance says nothing about other neighbourhoods")
    rival = counted_rival(situation, upper["rival"], "upper, rival")
    completeness = proofs.get(rival)
    if completeness is None:
        raise Refused(f"upper refers to a completeness proof of rival {rival}, and there is none")
    index = integer(upper["index"], "upper, index", 0, len(completeness.solutions) - 1)
    if completeness.solutions[index].nature is not Nature.REAL:
        raise Refused(f"upper: solution {index} of rival {rival} is not certified real")
    if claim.upper is not None and not completeness.proves_upper(index, claim.upper):
        raise Refused(f"upper: solution {index} of rival {rival} is not shown to be as near as claimed")


def _check_counterexample(situation: Situation, claim: Claim, rival: int, x: Sequence[fmpq]) -> None:
    if not situation.near.within(situation.point, x, claim.upper):
        raise Refused("the counterexample is farther from the point than claimed, or not allowed by the neighbourhood")
    logits = logits_at(situation.model, x)
    if logits[rival] + situation.near.abstain < logits[situation.label]:
        raise Refused(f"class {rival} neither ties nor wins at the counterexample")
