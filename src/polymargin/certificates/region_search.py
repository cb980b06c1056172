"""`verify` and `certify` in regions that are not simply L2 balls.

In order of cost: a descent to where each rival is nearest to winning; the whole region at once, by ranges, by a quadratic,
with rests lifted; for L2 what proves the ball around the region; cuts of the input as long as there is time. ROBUST is said
only with a certificate that the checker accepted, VULNERABLE only with a point of the domain whose logits were compared in exact
arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.regions.bracket import ATTACK, trial_radii
from polymargin.bounds.regions.network_at import NetworkAt
from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.search import prove_by_cutting, prove_whole
from polymargin.certificates.acceptance import UpperProof, accepted_margin, judged_loss, judged_radius
from polymargin.certificates.certified_margin import CertifiedMargin
from polymargin.certificates.rivals import prove_at_once, prove_by_ball
from polymargin.certificates.session import Session
from polymargin.certificates.verdict import Answer, Verdict
from polymargin.errors import InputError
from polymargin.margins.proofs import RivalProof, counterexample_json, trivial
from polymargin.relaxation.confirmation import Counterexample
from polymargin.standing import Standing

Array = NDArray[np.float64]

# Inputs and values of the layers, beyond which the checker reads no proof on a region; so none is made.
LARGEST_SPACE = 12_000


class RegionSearch:
    """One network at one point in one region."""

    def __init__(self, session: Session) -> None:
        self.session, self.asked = session, session.asked
        self.at = NetworkAt.of(session.network, session.u, session.asked)

    # -- verify --------------------------------------------------------------------------------

    def verdict(self, radius: float) -> Verdict:
        session = self.session
        lost = self._lost_at_once()
        if lost is not None:
            return self._vulnerable(radius, lost)
        region = self.at.region(radius)
        found, lowest = self.at.within(radius, session.label, session.rivals, session.options.seed)
        if found is not None:
            return self._vulnerable(radius, found)
        proofs, lost, reasons = self._prove(region, lowest)
        if lost is not None:
            return self._vulnerable(radius, lost)
        if len(proofs) == len(session.rivals):
            return self._robust(radius, proofs)
        open_rivals = [rival for rival in session.rivals if rival not in proofs]
        reason = "; ".join(f"against class {rival}: {reasons[rival]}" for rival in open_rivals)
        return self._undecided(radius, reason)

    def _lost_at_once(self) -> Counterexample | None:
        """The point itself, where the label does not lead by more than `abstain` asks for."""
        session = self.session
        if session.tied is not None:
            return Counterexample(session.u.copy(), session.tied, 0.0)
        if not self.asked.abstain:
            return None
        losses = (self.at.lost(self.at.start, session.label, rival) for rival in session.rivals)
        return next((found for found in losses if found is not None), None)

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
                return proofs, outcome.loss, reasons
            if outcome.proof is not None:
                proofs[rival] = RivalProof(rival, radius, outcome.proof.to_proof())
        return proofs, None, reasons

    def _is_checkable(self, rival: int) -> bool:
        steps = self.at.steps(self.session.label, rival).steps
        return self.session.network.dimension + sum(map(len, steps)) <= LARGEST_SPACE

    @property
    def _balls_do(self) -> bool:
        """Whether a proof on the L2 ball is one here: the ball contains the region."""
        region = self.asked.region
        return (
            region.norm.value == "l2" and region.weights is None and region.ellipsoid is None and not self.asked.abstain
        )

    # -- certify -------------------------------------------------------------------------------

    def margin(self) -> CertifiedMargin:
        """The margin between two proved numbers: the nearest counterexample found, and the largest radius that is proved."""
        session = self.session
        if self._lost_at_once() is not None:
            raise InputError("the point is not ahead of all rivals: the margin is 0, nothing to certify")
        attack_time = session.deadline.part(ATTACK)
        upper = self.at.nearest(session.label, session.rivals, session.options.seed, attack_time)
        limit = math.inf if upper is None else upper.distance
        best = {rival: trivial(rival) for rival in session.rivals}
        low, high = 0.0, limit
        for radius in trial_radii(limit):
            if radius <= low or radius >= high or session.time_left <= 0:
                continue
            region = self.at.region(radius)
            lost, lowest = self.at.within(radius, session.label, session.rivals, session.options.seed)
            proofs: dict[int, RivalProof] = {}
            nearer = None if lost is None else lost
            if nearer is None:
                proofs, nearer, _ = self._prove(region, lowest)
            if nearer is not None:
                upper = nearer if upper is None or nearer.distance < upper.distance else upper
                high = min(high, upper.distance)
            elif len(proofs) == len(session.rivals):
                best, low = {rival: proofs[rival].instead_of(best[rival]) for rival in session.rivals}, radius
            else:
                high = min(high, radius)
        strongest = [best[rival] for rival in session.rivals]
        evidence = None if upper is None else UpperProof(upper.distance, upper.rival, counterexample_json(upper))
        answer = accepted_margin(session, strongest, evidence)
        if upper is None or answer.margin.rival is None:
            return answer
        return replace(answer, margin=replace(answer.margin, point=upper.point))

    # -- answers -------------------------------------------------------------------------------

    def _robust(self, radius: float, proofs: dict[int, RivalProof]) -> Verdict:
        entries = [proofs[rival] for rival in self.session.rivals]
        document, judgement = judged_radius(self.session, radius, entries)
        if not judgement.accepted:
            return self._undecided(radius, judgement.reason)
        kinds = sorted({proof.proof["kind"] for proof in entries})
        return Verdict(
            answer=Answer.ROBUST,
            radius=radius,
            label=self.session.label,
            rival=None,
            counterexample=None,
            certificate=document,
            standing=Standing.CERTIFIED,
            lower=radius,
            upper=math.inf,
            reason=f"proved by {' and '.join(kinds)}",
            seconds=self.session.seconds,
        )

    def _vulnerable(self, radius: float, lost: Counterexample) -> Verdict:
        what = "comes too close" if self.asked.abstain else "ties or wins"
        reason = f"class {lost.rival} {what} at {self.asked.region.norm.value} distance {lost.distance:.6g}"
        standing, document = Standing.CERTIFIED, None
        if self.session.tied is None:  # a tie at the point itself has no unique label to speak of
            document, judgement = judged_loss(self.session, radius, counterexample_json(lost))
            if not judgement.accepted:
                standing, document, reason = Standing.NUMERICAL, None, f"{reason}; {judgement.reason}"
        return Verdict(
            answer=Answer.VULNERABLE,
            radius=radius,
            label=self.session.label,
            rival=lost.rival,
            counterexample=lost.point,
            certificate=document,
            standing=standing,
            lower=0.0,
            upper=lost.distance,
            reason=reason,
            seconds=self.session.seconds,
        )

    def _undecided(self, radius: float, reason: str) -> Verdict:
        label, seconds = self.session.label, self.session.seconds
        nothing = (None, None, None)
        return Verdict(Answer.UNKNOWN, radius, label, *nothing, Standing.BRACKETED, 0.0, math.inf, reason, seconds)
