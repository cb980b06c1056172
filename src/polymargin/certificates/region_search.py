"""`verify` and `certify` in neighbourhoods that are not simply L2 balls.

In order of cost: a descent to where each rival is nearest to winning; the whole region at once, by ranges, by a quadratic,
with rests lifted; for L2 what proves the ball around the region; cuts of the input as long as there is time. ROBUST is said
only with a certificate, VULNERABLE only with a point of the domain whose logits were compared in exact arithmetic.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.regions.attack import loss_within, nearest_in
from polymargin.bounds.regions.bracket import trial_radii
from polymargin.bounds.regions.network_at import FoundLoss, NetworkAt
from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.search import prove_by_cutting, prove_whole
from polymargin.certificates.certified_margin import CertifiedMargin
from polymargin.certificates.counterexample import Counterexample
from polymargin.certificates.document import Certificate, certificate, hexadecimal
from polymargin.certificates.rivals import RivalProof, prove_at_once, prove_by_ball
from polymargin.certificates.session import Session
from polymargin.certificates.verdict import Answer, Verdict
from polymargin.errors import InputError
from polymargin.margins import Margin
from polymargin.standing import Standing

Array = NDArray[np.float64]

CERTIFIED_GAP = 1e-6
# Inputs and values of the layers, beyond which the checker reads no proof on a region; so none is made.
LARGEST_SPACE = 12_000


class RegionSearch:
    """One network at one point in one neighbourhood."""

    def __init__(self, session: Session) -> None:
        self.session, self.near = session, session.near
        self.at = NetworkAt.of(session.network, session.u, session.near)

    # -- verify --------------------------------------------------------------------------------

    def verdict(self, radius: float) -> Verdict:
        session = self.session
        lost = self._lost_at_once()
        if lost is not None:
            return self._vulnerable(radius, lost)
        region = self.at.region(radius)
        found, lowest = loss_within(self.at, region, session.label, session.rivals, session.options.seed)
        if found is not None:
            return self._vulnerable(radius, _counterexample(found))
        proofs, lost, reasons = self._prove(region, lowest)
        if lost is not None:
            return self._vulnerable(radius, lost)
        if len(proofs) == len(session.rivals):
            return self._robust(radius, proofs)
        open_rivals = [rival for rival in session.rivals if rival not in proofs]
        reason = "; ".join(f"against class {rival}: {reasons[rival]}" for rival in open_rivals)
        return self._verdict(Answer.UNKNOWN, radius, None, None, reason)

    def _lost_at_once(self) -> Counterexample | None:
        """The point itself, where the label does not lead by more than the neighbourhood asks for."""
        session = self.session
        if session.tied is not None:
            return Counterexample(session.u.copy(), session.tied, 0.0)
        if not self.near.abstain:
            return None
        losses = (self.at.lost(self.at.start, session.label, rival) for rival in session.rivals)
        return next((_counterexample(found) for found in losses if found is not None), None)

    def _prove(
        self, region: AllowedRegion, lowest: Array
    ) -> tuple[dict[int, RivalProof], Counterexample | None, dict[int, str]]:
        session, radius = self.session, region.radius
        proofs: dict[int, RivalProof] = {}
        reasons: dict[int, str] = {}
        checkable = {rival: self._is_checkable(rival) for rival in session.rivals}
        for steps, rivals in self.at.grouped(session.label, [rival for rival in session.rivals if checkable[rival]]):
            rows = lowest[[session.rivals.index(rival) for rival in rivals]]
            for rival, proof in prove_whole(steps, region, session.label, rivals, rows, session.deadline).items():
                proofs[rival] = RivalProof(rival, radius, proof.to_proof())
        for rival in [rival for rival in session.rivals if rival not in proofs]:
            if self._balls_do and session.time_left > 0:
                for prove in (prove_at_once, prove_by_ball):
                    ball = prove(session, rival, radius)
                    if ball is not None and ball.lower >= radius:
                        proofs[rival] = ball
                        break
        for rival in [rival for rival in session.rivals if rival not in proofs]:
            if not checkable[rival]:
                reasons[rival] = (
                    f"a proof on a region for more than {LARGEST_SPACE:,} values, which the checker does not read"
                )
                continue
            outcome = prove_by_cutting(
                self.at.steps(session.label, rival),
                region,
                session.label,
                rival,
                lowest[session.rivals.index(rival)],
                session.deadline,
                partial(self.at.lost_within, label=session.label, rival=rival, radius=radius),
            )
            reasons[rival] = outcome.reason
            if outcome.loss is not None:
                return proofs, _counterexample(outcome.loss), reasons
            if outcome.proof is not None:
                proofs[rival] = RivalProof(rival, radius, outcome.proof.to_proof())
        return proofs, None, reasons

    def _is_checkable(self, rival: int) -> bool:
        steps = self.at.steps(self.session.label, rival).steps
        return self.session.network.dimension + sum(map(len, steps)) <= LARGEST_SPACE

    @property
    def _balls_do(self) -> bool:
        """Whether a proof on the L2 ball is one here: the ball contains the region."""
        return self.near.norm.value == "l2" and self.near.weights is None and not self.near.abstain

    # -- certify -------------------------------------------------------------------------------

    def margin(self) -> CertifiedMargin:
        """The margin between two proved numbers: the nearest counterexample found, and the largest radius that is proved."""
        session = self.session
        if self._lost_at_once() is not None:
            raise InputError("the point is not ahead of all rivals: the margin is 0, nothing to certify")
        found = nearest_in(self.at, session.label, session.rivals, None, session.options.seed)
        upper = None if found is None else _counterexample(found)
        limit = math.inf if upper is None else upper.distance
        best: dict[int, RivalProof] = {r: RivalProof(r, 0.0, {"kind": "trivial"}) for r in session.rivals}
        low, high = 0.0, limit
        for radius in trial_radii(limit):
            if radius <= low or radius >= high or session.time_left <= 0:
                continue
            region = self.at.region(radius)
            lost, lowest = loss_within(self.at, region, session.label, session.rivals, session.options.seed)
            proofs: dict[int, RivalProof] = {}
            nearer = None if lost is None else _counterexample(lost)
            if nearer is None:
                proofs, nearer, _ = self._prove(region, lowest)
            if nearer is not None:
                upper = nearer if upper is None or nearer.distance < upper.distance else upper
                high = min(high, upper.distance)
            elif len(proofs) == len(session.rivals):
                best, low = proofs, radius
            else:
                high = min(high, radius)
        return self._margin(low, upper, [best[rival] for rival in session.rivals])

    def _margin(self, lower: float, upper: Counterexample | None, proofs: list[RivalProof]) -> CertifiedMargin:
        session = self.session
        high = math.inf if upper is None else upper.distance
        claim = {"kind": "margin", "lower": hexadecimal(lower), "upper": hexadecimal(high)}
        document = self._document(claim, proofs, upper)
        closed = math.isfinite(high) and high - lower <= CERTIFIED_GAP * high
        margin = Margin(
            radius=high,
            lower=lower,
            upper=high,
            point=None if upper is None else upper.point,
            label=session.label,
            rival=None if upper is None else upper.rival,
            standing=Standing.CERTIFIED if closed else Standing.BRACKETED,
            method=" and ".join(sorted({proof.proof["kind"] for proof in proofs})),
            seconds=session.seconds,
            norm=self.near.norm.value,
        )
        return CertifiedMargin(margin, document)

    # -- answers -------------------------------------------------------------------------------

    def _document(self, claim: dict[str, str], proofs: list[RivalProof], upper: Counterexample | None) -> Certificate:
        session = self.session
        return certificate(
            session.network,
            session.u,
            session.label,
            claim,
            [proof.to_json() for proof in proofs],
            None if upper is None else upper.to_json(),
            session.options.seed,
            self.near,
        )

    def _robust(self, radius: float, proofs: dict[int, RivalProof]) -> Verdict:
        entries = [proofs[rival] for rival in self.session.rivals]
        document = self._document({"kind": "robust", "radius": hexadecimal(radius)}, entries, None)
        kinds = sorted({proof.proof["kind"] for proof in entries})
        return self._verdict(Answer.ROBUST, radius, None, document, f"proved by {' and '.join(kinds)}")

    def _vulnerable(self, radius: float, lost: Counterexample) -> Verdict:
        document = None
        if self.session.tied is None:  # a tie at the point itself has no unique label to speak of
            document = self._document({"kind": "vulnerable", "radius": hexadecimal(radius)}, [], lost)
        what = "comes too close" if self.near.abstain else "ties or wins"
        reason = f"class {lost.rival} {what} at {self.near.norm.value} distance {lost.distance:.6g}"
        return self._verdict(Answer.VULNERABLE, radius, lost, document, reason)

    def _verdict(
        self, answer: Answer, radius: float, lost: Counterexample | None, document: Certificate | None, reason: str
    ) -> Verdict:
        return Verdict(
            answer=answer,
            radius=radius,
            label=self.session.label,
            rival=None if lost is None else lost.rival,
            counterexample=None if lost is None else lost.point,
            certificate=document,
            standing=Standing.BRACKETED if answer is Answer.UNKNOWN else Standing.CERTIFIED,
            lower=radius if answer is Answer.ROBUST else 0.0,
            upper=math.inf if lost is None else lost.distance,
            reason=reason,
            seconds=self.session.seconds,
        )


def _counterexample(found: FoundLoss) -> Counterexample:
    return Counterexample(found.point, found.rival, found.length, found.along)
