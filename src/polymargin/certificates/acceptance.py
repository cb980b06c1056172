"""What is left of proofs that the checker does not accept.

All proofs of an answer go to the checker together. If it refuses them, each goes alone, and gives way to the weaker one that it
replaced, until what is left is accepted. If time alone was missing, the proofs stay as they are, unchecked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from polymargin.certificates.certified_margin import CertifiedMargin
from polymargin.certificates.session import Session
from polymargin.margins import Margin
from polymargin.margins.certificate import Certificate, hexadecimal
from polymargin.margins.judge import Judgement
from polymargin.margins.proofs import RivalProof, trivial
from polymargin.regions import ThreatModel
from polymargin.standing import Standing

# Bounds that differ by this much, relatively, have met.
CERTIFIED_GAP = 1e-6


@dataclass(frozen=True)
class UpperProof:
    """A tie or a loss against a rival at most so far away, and what proves it."""

    distance: float
    rival: int
    evidence: dict[str, Any]

    @property
    def of_critical_point(self) -> bool:
        """Whether it speaks of a solution of the rival's completeness proof."""
        return bool(self.evidence["kind"] == "critical-point")


def judged_radius(
    session: Session, radius: float, proofs: Sequence[RivalProof], asked: ThreatModel | None = None
) -> tuple[Certificate, Judgement]:
    """The certificate of a robust radius, and what the checker says of it."""
    claim = {"kind": "robust", "radius": hexadecimal(radius)}
    return session.subject(asked).judged(claim, proofs, None, session.end.left)


def judged_loss(
    session: Session, radius: float, evidence: dict[str, Any], named: Sequence[RivalProof] = ()
) -> tuple[Certificate, Judgement]:
    """The certificate of a tie or a loss within a radius; `named` are the proofs that the evidence speaks of."""
    claim = {"kind": "vulnerable", "radius": hexadecimal(radius)}
    return session.subject().judged(claim, named, evidence, session.end.left)


def strongest(session: Session, proofs: Sequence[RivalProof]) -> list[RivalProof]:
    """The strongest of the proofs, and of those they replaced, that the checker accepts; trivial ones where it accepts none."""
    kept = [_accepted(session, proof) for proof in proofs]
    lower = _least(kept)
    together = lower <= 0 or judged_radius(session, lower, kept)[1].accepted
    return kept if together else [trivial(proof.rival) for proof in proofs]


def _accepted(session: Session, proof: RivalProof) -> RivalProof:
    """Of one rival."""
    asked = replace(session.asked, rivals=(proof.rival,))
    candidate: RivalProof | None = proof
    while candidate is not None and candidate.lower > 0:
        if judged_radius(session, candidate.lower, [candidate], asked)[1].accepted:
            return candidate
        candidate = candidate.weaker
    return trivial(proof.rival)


def accepted_margin(
    session: Session, proofs: Sequence[RivalProof], upper: UpperProof | None, notes: Sequence[str] = ()
) -> CertifiedMargin:
    """The margin between the bounds that the checker accepts; CERTIFIED where they meet."""
    document, judgement = _judged_margin(session, proofs, upper)
    if not judgement.accepted:
        notes = [*notes, judgement.reason]
        if judgement.in_time:
            proofs, upper = _what_stands(session, proofs, upper)
            document, judgement = _judged_margin(session, proofs, upper)
    return CertifiedMargin(_margin(session, proofs, upper, judgement.accepted, notes), document)


def _judged_margin(
    session: Session, proofs: Sequence[RivalProof], upper: UpperProof | None
) -> tuple[Certificate, Judgement]:
    high, evidence = (math.inf, None) if upper is None else (upper.distance, upper.evidence)
    return session.subject().judged_margin(_least(proofs), high, proofs, evidence, session.end.left)


def _what_stands(
    session: Session, proofs: Sequence[RivalProof], upper: UpperProof | None
) -> tuple[list[RivalProof], UpperProof | None]:
    """The two sides by themselves."""
    if upper is not None:
        named = [proof for proof in proofs if upper.of_critical_point and proof.rival == upper.rival]
        if not judged_loss(session, upper.distance, upper.evidence, named)[1].accepted:
            upper = None
    kept = strongest(session, proofs)
    if upper is not None and upper.of_critical_point and any(p.rival == upper.rival and not p.lower for p in kept):
        upper = None  # it speaks of a proof that is not there
    return kept, upper


def _margin(
    session: Session, proofs: Sequence[RivalProof], upper: UpperProof | None, accepted: bool, notes: Sequence[str]
) -> Margin:
    lower, high = _least(proofs), math.inf if upper is None else upper.distance
    closed = lower == high or (math.isfinite(high) and high - lower <= CERTIFIED_GAP * high)
    return Margin(
        radius=high,
        lower=lower,
        upper=high,
        point=None,
        label=session.label,
        rival=None if upper is None else upper.rival,
        standing=Standing.CERTIFIED if closed and accepted else Standing.BRACKETED,
        method=" and ".join(sorted({proof.proof["kind"] for proof in proofs})),
        seconds=session.seconds,
        notes=tuple(notes),
        norm=session.asked.region.norm.value,
    )


def _least(proofs: Sequence[RivalProof]) -> float:
    return min(proof.lower for proof in proofs)
