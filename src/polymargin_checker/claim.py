"""The claim of a certificate: a ball without ties, a tie within a ball, or a margin between two numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import fmpq

from polymargin_checker.document import fields, kind
from polymargin_checker.dyadics import at_least, number, number_or_infinity
from polymargin_checker.refusal import Refused
from polymargin_checker.words import rounded_down, rounded_up


@dataclass(frozen=True)
class Claim:
    """The margin is at least `lower` and at most `upper`; None is infinity."""

    kind: str
    lower: fmpq | None
    upper: fmpq | None

    def about(self, distance: str) -> str:
        """Return the claim in words; `distance` names the measured distance."""
        if self.kind == "robust":
            return f"robust: no other class ties or wins at {distance} below {rounded_down(self.lower)}"
        if self.kind == "vulnerable":
            return f"vulnerable: another class ties or wins at {distance} of at most {rounded_up(self.upper)}"
        return f"the margin lies in [{rounded_down(self.lower)}, {rounded_up(self.upper)}], {distance}"


def read_claim(entry: Any) -> Claim:
    """Read a claim; refuse one that cannot be true."""
    word = kind(entry, "claim", ("robust", "vulnerable", "margin"))
    if word == "margin":
        fields(entry, "claim", ("kind", "lower", "upper"))
        claim = Claim(
            word, number_or_infinity(entry["lower"], "claim, lower"), number_or_infinity(entry["upper"], "claim, upper")
        )
        if not at_least(claim.upper, claim.lower):
            raise Refused("the claimed lower bound of the margin is above the upper bound")
        return claim
    fields(entry, "claim", ("kind", "radius"))
    if word == "robust":
        return Claim(word, number_or_infinity(entry["radius"], "claim, radius"), None)
    return Claim(word, fmpq(0), number(entry["radius"], "claim, radius"))
