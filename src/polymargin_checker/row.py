"""One row of a certificate: a claim about a model at one point, put together from parts that are proved one by one.

The label is the only largest logit at u, every rival stays away from u as far as stated, and a tie or a loss exists as near as
stated. Reading comes first; what is judged together for many rows comes then; the conclusion comes last.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq

from polymargin_checker.claim import Claim, read_claim
from polymargin_checker.completeness import Completeness, Listed
from polymargin_checker.conditions import conditions, distance
from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import at_least, number_or_infinity
from polymargin_checker.noise import StatedNoise
from polymargin_checker.quadric import Asked
from polymargin_checker.refusal import OutOfTime, Refused
from polymargin_checker.rival_proof import check_proof
from polymargin_checker.situation import Situation, read_situation, rival_of
from polymargin_checker.stages import Network
from polymargin_checker.upper_proof import (
    Counterexample,
    NamedPoint,
    check_counterexample,
    check_named_point,
    read_upper,
)
from polymargin_checker.words import rounded_down, rounded_up


class Row:
    """A row of a certificate, and the facts proved so far.

    waiting    proofs that are judged together with those of other rows, by rival
    unshown    rivals that are to be shown to be behind the label at the point
    """

    def __init__(self, model: Network, document: dict[str, Any], exact: bool, noise: StatedNoise | None = None) -> None:
        self.document = document
        self.situation: Situation = read_situation(model, document, exact, noise)
        self.claim: Claim = read_claim(document["claim"])
        self.upper: Counterexample | NamedPoint | None = None
        self.waiting: dict[int, tuple[fmpq | None, Listed | Asked]] = {}
        self._complete: dict[int, Completeness | None] = {}
        self.unshown = self._unshown()

    def _unshown(self) -> list[int]:
        # A relaxation proof shows the label of its rival too, for u is in the region.
        entries = items(self.document["rivals"], "rivals")
        shown = {
            entry.get("rival")
            for entry in entries
            if isinstance(entry, dict)
            and isinstance(entry.get("proof"), dict)
            and entry["proof"].get("kind") == "relaxation"
            and type(entry.get("rival")) is int
        }
        classes, label = self.situation.model.class_count, self.situation.label
        return [rival for rival in range(classes) if rival != label and rival not in shown]

    def show_label(self) -> None:
        """Prove in exact arithmetic that the label is the only largest logit of those in question."""
        for rival in self.unshown:
            if self.situation.lead(rival) <= 0:
                label = self.situation.label
                raise Refused(f"class {label} is not the only largest logit at the point: class {rival} ties or wins")

    def read_proofs(self) -> None:
        """Judge what is judged for each row alone, and read what is judged together."""
        situation, claim = self.situation, self.claim
        for entry in items(self.document["rivals"], "rivals"):
            fields(entry, "rival entry", ("rival", "lower", "proof"))
            rival = rival_of(situation, entry["rival"], "rival")
            if rival in self._complete or rival in self.waiting:
                raise Refused(f"rival {rival} is listed twice")
            lower = number_or_infinity(entry["lower"], f"rival {rival}, lower")
            if claim.kind != "vulnerable" and not at_least(lower, claim.lower):
                bounds = f"{rounded_down(lower)} is below the claimed {rounded_up(claim.lower)}"
                raise Refused(f"rival {rival}: its lower bound {bounds}")
            with about(rival):
                proof = check_proof(situation, rival, self._needed(lower), entry["proof"])
            if proof is None:
                self._complete[rival] = None
            else:
                self.waiting[rival] = (lower, proof)
            if situation.arithmetic is not None and entry["proof"].get("kind") not in ("relaxation", "trivial"):
                raise Refused(f"rival {rival}: a claim about {situation.arithmetic} needs relaxation proofs")
        self.upper = read_upper(situation, claim, self.document["upper"])
        if situation.arithmetic is not None and (self.upper is not None or claim.upper is not None):
            raise Refused("arithmetic: a counterexample of the network says nothing about a program")
        if claim.kind != "vulnerable":
            for rival in range(situation.model.class_count):
                if situation.near.rivals is not None and rival not in situation.near.rivals:
                    continue
                if rival != situation.label and rival not in self._complete and rival not in self.waiting:
                    raise Refused(f"rival {rival} is missing; every class but the label needs a proof")

    def _needed(self, lower: fmpq | None) -> fmpq | None:
        """Return what a proof must prove for a bound: with noise a little more."""
        noise = self.situation.noise
        return lower if noise is None or lower is None or lower <= 0 else lower + noise.slack

    def conclude(self, judged: dict[int, Completeness | Refused | bool], wins: bool) -> str:
        """Return the claim in words if everything is proved; `wins` if the counterexample is known to be one."""
        for rival, (lower, _) in self.waiting.items():
            with about(rival):
                found = judged[rival]
                if isinstance(found, Refused):
                    raise found
                if found is False:
                    raise Refused("the form of the quadric is not shown to be positive definite")
                if isinstance(found, Completeness):
                    if not found.proves_lower(lower):
                        raise Refused("a critical point that may be real is nearer than the stated lower bound")
                    self._complete[rival] = found
        situation = self.situation
        if isinstance(self.upper, NamedPoint):
            check_named_point(self.claim, self.upper, self._complete)
        elif self.upper is not None and not wins:
            check_counterexample(situation, self.upper)
        claimed, label = self.claim.about(distance(situation.near)), situation.label
        stated = conditions(situation.near, situation.model.dimension, label, situation.model.class_count)
        if situation.noise is not None:
            stated = f"{situation.noise.words}, {stated}"
        if situation.arithmetic is not None:
            stated = f"for programs in {situation.arithmetic}, {stated}"
        return f"class {label}{': ' if self.claim.kind == 'margin' else ' is '}{claimed} ({stated})"


class about:  # noqa: N801 - a context, written like a word
    """Inside, a refusal says which rival it is about."""

    def __init__(self, rival: int) -> None:
        self._rival = rival

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Refused) and not isinstance(error, OutOfTime):
            raise Refused(f"rival {self._rival}: {error}") from None
