"""Bounds and notes that remain after the checker refuses proofs.

All proofs of an answer go to the checker together. If it refuses them, each goes alone, and those that it refuses are left out.
If time alone was missing, the proofs stay as they are, unchecked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polymargin.margins.case import Case
from polymargin.margins.certificate import Certificate, hexadecimal
from polymargin.margins.judge import Judgement
from polymargin.margins.proofs import Accepted, RivalProof, UpperProof, trivial
from polymargin.regions import ThreatModel


def judged_radius(
    case: Case, radius: float, proofs: Sequence[RivalProof], threat: ThreatModel | None = None
) -> tuple[Certificate, Judgement]:
    """Return the certificate of a robust radius, and what the checker says of it."""
    claim = {"kind": "robust", "radius": hexadecimal(radius)}
    return case.subject(threat).judged(claim, proofs, None, case.end.left)


def judged_loss(
    case: Case, radius: float, evidence: dict[str, Any], named: Sequence[RivalProof] = ()
) -> tuple[Certificate, Judgement]:
    """Return the certificate of a tie or a loss within a radius; `named` are the proofs that the evidence speaks of."""
    claim = {"kind": "vulnerable", "radius": hexadecimal(radius)}
    return case.subject().judged(claim, named, evidence, case.end.left)


def strongest(case: Case, proofs: Sequence[RivalProof]) -> list[RivalProof]:
    """Return the proofs that the checker accepts, with trivial ones in place of the others."""
    kept = [proof if _is_accepted(case, proof) else trivial(proof.rival) for proof in proofs]
    lower = _least(kept)
    together = lower <= 0 or judged_radius(case, lower, kept)[1].accepted
    return kept if together else [trivial(proof.rival) for proof in proofs]


def _is_accepted(case: Case, proof: RivalProof) -> bool:
    threat = replace(case.threat, rivals=(proof.rival,))
    return proof.lower > 0 and judged_radius(case, proof.lower, [proof], threat)[1].accepted


def accepted_bounds(case: Case, proofs: Sequence[RivalProof], upper: UpperProof | None) -> Accepted:
    """Return the bounds that the checker accepts of a margin."""
    document, judgement = _judged_margin(case, proofs, upper)
    refusal = judgement.reason
    if not judgement.accepted and judgement.in_time:
        proofs, upper = _what_stands(case, proofs, upper)
        document, judgement = _judged_margin(case, proofs, upper)
    high, rival = (math.inf, None) if upper is None else (upper.distance, upper.rival)
    lower = _least(proofs)
    says_something = judgement.accepted and (lower > 0 or math.isfinite(high))
    return Accepted(
        lower, high, rival, document if says_something else None, refusal, judgement.in_time, case.prepared.rtol
    )


def _judged_margin(case: Case, proofs: Sequence[RivalProof], upper: UpperProof | None) -> tuple[Certificate, Judgement]:
    high, evidence = (math.inf, None) if upper is None else (upper.distance, upper.evidence)
    return case.subject().judged_margin(_least(proofs), high, proofs, evidence, case.end.left)


def _what_stands(
    case: Case, proofs: Sequence[RivalProof], upper: UpperProof | None
) -> tuple[list[RivalProof], UpperProof | None]:
    """Return the two sides by themselves."""
    if upper is not None:
        named = [proof for proof in proofs if upper.of_critical_point and proof.rival == upper.rival]
        if not judged_loss(case, upper.distance, upper.evidence, named)[1].accepted:
            upper = None
    kept = strongest(case, proofs)
    if upper is not None and upper.of_critical_point and any(p.rival == upper.rival and not p.lower for p in kept):
        upper = None  # it speaks of a proof that is not there
    return kept, upper


def _least(proofs: Sequence[RivalProof]) -> float:
    return min(proof.lower for proof in proofs)
