"""Proofs that another class ties or wins as near as claimed: a counterexample, or a critical point that is real."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from polymargin_checker.arrays import Floats, as_doubles, read_point
from polymargin_checker.claim import Claim
from polymargin_checker.completeness import Completeness
from polymargin_checker.document import fields, integer, kind
from polymargin_checker.exact import exact_logits
from polymargin_checker.refusal import Refused
from polymargin_checker.situation import Situation, counted_rival


@dataclass(frozen=True)
class Counterexample:
    """A point near enough, and the rival that is to tie or win there."""

    x: list[fmpq]
    doubles: Floats | None
    rival: int


@dataclass(frozen=True)
class NamedPoint:
    """A real critical point of the completeness proof of a rival."""

    rival: int
    index: int


def read_upper(situation: Situation, claim: Claim, upper: Any) -> Counterexample | NamedPoint | None:
    """Read what is to prove the upper bound; a counterexample is shown to be allowed and near enough."""
    if upper is None:
        if claim.kind != "robust" and claim.upper is not None:
            raise Refused("the claim has an upper bound, but the certificate has no proof of it")
        return None
    if claim.kind == "margin" and claim.upper is None:
        raise Refused("the claimed upper bound is infinite, so upper must be null")
    if kind(upper, "upper", ("counterexample", "critical-point")) == "counterexample":
        return _read_counterexample(situation, claim, upper)
    fields(upper, "upper", ("kind", "rival", "index"))
    if not situation.near.is_plain:
        raise Refused("upper: a critical point of the L2 distance says nothing about other neighbourhoods")
    rival = counted_rival(situation, upper["rival"], "upper, rival")
    return NamedPoint(rival, integer(upper["index"], "upper, index", 0, 1 << 30))


def check_named_point(claim: Claim, named: NamedPoint, proofs: Mapping[int, Completeness | None]) -> None:
    """Prove that a critical point is real and as near as claimed."""
    completeness = proofs.get(named.rival)
    if completeness is None:
        raise Refused(f"upper refers to a completeness proof of rival {named.rival}, and there is none")
    if named.index >= len(completeness.least):
        raise Refused(f"upper: solution {named.index} of rival {named.rival} is not certified real")
    if claim.upper is not None and not completeness.proves_upper(named.index, claim.upper):
        raise Refused(f"upper: solution {named.index} of rival {named.rival} is not shown to be as near as claimed")


def check_counterexample(situation: Situation, found: Counterexample) -> None:
    """Prove without rounding that the rival ties or wins."""
    logits = exact_logits(situation.model, found.x)
    if logits[found.rival] + situation.near.abstain < logits[situation.label]:
        raise Refused(f"class {found.rival} neither ties nor wins at the counterexample")


def _read_counterexample(situation: Situation, claim: Claim, upper: Any) -> Counterexample:
    frame = situation.near.frame
    place, size = ("point", situation.model.dimension) if frame is None else ("along", frame.size)
    fields(upper, "upper", ("kind", "rival", place))
    rival = counted_rival(situation, upper["rival"], "upper, rival")
    found = read_point(upper[place], f"upper, {place}", size)
    x, doubles = found.exact, found.doubles
    if frame is not None:
        x = frame.moved(situation.point, x)
        doubles = as_doubles(x)
    if not situation.near.within(situation.point, x, claim.upper):
        raise Refused("the counterexample is farther from the point than claimed, or not allowed by the neighbourhood")
    return Counterexample(x, doubles, rival)
