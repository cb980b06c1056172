"""Does the class stay the same within a radius? With a proof, or unknown.

In order of cost: a counterexample; proofs of the whole region at once, rival by rival; all critical points with a certificate;
the region in parts with the time that is left. ROBUST is said only with a certificate that the checker accepted in the same call,
VULNERABLE only with a point whose logits were compared in exact arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker
from polymargin.margins import provers
from polymargin.margins.acceptance import judged_loss, judged_radius, strongest
from polymargin.margins.batch import PointQuestion
from polymargin.margins.case import Case
from polymargin.margins.certificate import Certificate
from polymargin.margins.prepared import Prepared
from polymargin.margins.proofs import RivalProof, counterexample_json
from polymargin.margins.rivals import prove_by_enumeration, prove_flat
from polymargin.margins.verdict import Answer, Verdict, failed_verdict
from polymargin.relaxation.confirmation import Counterexample
from polymargin.standing import Standing

# Of the time that is left: for the search for a counterexample, for the whole region at once, and for its parts; the remainder
# is for a smaller radius where this one is not proved.
SEARCHING, AT_ONCE, IN_PARTS = 0.3, 0.5, 0.7


def verdict_at(case: Case, radius: float) -> Verdict:
    """Return the verdict for one point and one radius."""
    return _VerdictSearch(case, radius).run()


class _VerdictSearch:
    def __init__(self, case: Case, radius: float) -> None:
        self.case, self.radius = case, radius
        self.upper: Counterexample | None = None
        self.proofs: dict[int, RivalProof] = {}
        self.reasons: dict[int, list[str]] = {}

    def run(self) -> Verdict:
        case = self.case
        if case.tied is not None:
            self._offer(Counterexample(case.u.copy(), case.tied, 0.0))
            return self._vulnerable()
        if case.threat.abstain:
            self._offer(provers.loss_at(case.network, case.u, case.label, case.rivals, case.threat))
        if not self._beaten():
            self._offer(
                provers.nearest_loss(
                    case.network,
                    case.u,
                    case.label,
                    case.rivals,
                    case.threat.region,
                    abstain=case.threat.abstain,
                    seed=case.seed,
                    deadline=case.deadline.part(SEARCHING),
                )
            )
        for step in (
            self._flat,
            partial(self._prove, True, AT_ONCE),
            self._enumerate,
            partial(self._prove, False, IN_PARTS),
        ):
            if self._beaten():
                return self._vulnerable()
            if not self._left or case.deadline.passed:
                break
            step()
        if self._beaten():
            return self._vulnerable()
        return self._robust() if not self._left else self._unknown()

    @property
    def _left(self) -> list[int]:
        return [rival for rival in self.case.rivals if rival not in self.proofs]

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _flat(self) -> None:
        if not self.case.has_critical_points:
            return
        for rival in self._left:
            flat = prove_flat(self.case, rival)
            if flat is None:
                return
            self._keep(flat)
            if flat.lower < self.radius:
                foot = self.case.critical_points(rival).points[0].real
                self._offer(self.case.beyond(foot, rival))

    def _prove(self, whole: bool, share: float) -> None:
        case = self.case
        found = provers.proved_at(
            case.network,
            case.u,
            case.label,
            self._left,
            case.threat.region,
            self.radius,
            abstain=case.threat.abstain,
            deadline=case.deadline.part(share),
            whole=whole,
            seed=case.seed,
        )
        for rival, proof in found.proofs.items():
            self.proofs[rival] = RivalProof(rival, self.radius, proof)
        for rival, reason in {} if whole else found.reasons.items():
            self.reasons.setdefault(rival, []).append(reason)
        self._offer(found.loss)

    def _enumerate(self) -> None:
        if not self.case.network.is_polynomial:
            self._search_cells()
        for rival in self._left if self.case.has_critical_points else []:
            if self._beaten() or self.case.deadline.passed:
                return
            proof, nearest, reason = prove_by_enumeration(self.case, rival)
            if proof is not None:
                self._keep(proof)
            if nearest is not None and np.linalg.norm(nearest - self.case.u) <= self.radius:
                self._offer(self.case.beyond(nearest, rival))
            if reason:
                self.reasons.setdefault(rival, []).append(reason.removeprefix(f"against class {rival}: "))

    def _search_cells(self) -> None:
        """Look for a counterexample in the cells of a piecewise network, where they are few."""
        tracker = self.case.prepared.search.tracker.until(self.case.deadline.part(AT_ONCE))
        found = self.case.prepared.margins.margin_at(self.case.u, tracker)
        if found.point is not None and found.rival is not None:
            self._offer(Counterexample(found.point, found.rival, found.upper))

    def _keep(self, proof: RivalProof) -> None:
        if proof.lower >= self.radius:
            self.proofs[proof.rival] = proof

    def _offer(self, found: Counterexample | None) -> None:
        if found is not None and (self.upper is None or found.distance < self.upper.distance):
            self.upper = found

    def _beaten(self) -> bool:
        return self.upper is not None and self.upper.distance <= self.radius

    # -- answers -------------------------------------------------------------------------------------------------------

    def _verdict(
        self, answer: Answer, standing: Standing, proof: Certificate | None, lower: float, reason: str
    ) -> Verdict:
        case, upper = self.case, self.upper
        return Verdict(
            answer=answer,
            radius=self.radius,
            label=case.label,
            rival=None if upper is None else upper.rival,
            counterexample=upper.point if answer is Answer.VULNERABLE and upper is not None else None,
            certificate=proof,
            standing=standing,
            lower=lower,
            upper=math.inf if upper is None else upper.distance,
            reason=reason,
            seconds=case.seconds,
        )

    def _robust(self) -> Verdict:
        proofs = [self.proofs[rival] for rival in self.case.rivals]
        document, judgement = judged_radius(self.case, self.radius, proofs)
        if not judgement.accepted:
            lower = self.radius
            if judgement.in_time:
                lower = min(proof.lower for proof in strongest(self.case, proofs))
            return self._verdict(Answer.UNKNOWN, Standing.BRACKETED, None, lower, judgement.reason)
        kinds = sorted({proof.proof["kind"] for proof in proofs})
        lower = min(proof.lower for proof in proofs)
        return self._verdict(Answer.ROBUST, Standing.CERTIFIED, document, lower, f"proved by {' and '.join(kinds)}")

    def _vulnerable(self) -> Verdict:
        assert self.upper is not None
        what = "comes too close" if self.case.threat.abstain else "ties or wins"
        norm = "" if self.case.threat.is_ball else f"{self.case.threat.region.norm.value} "
        reason = f"class {self.upper.rival} {what} at {norm}distance {self.upper.distance:.6g}"
        standing, proof = Standing.CERTIFIED, None
        # A tie at the point itself has no unique label for a certificate to speak of.
        if self.case.tied is None:
            proof, judgement = judged_loss(self.case, self.radius, counterexample_json(self.upper))
            if not judgement.accepted:
                standing, proof, reason = Standing.NUMERICAL, None, f"{reason}; {judgement.reason}"
        return self._verdict(Answer.VULNERABLE, standing, proof, 0.0, reason)

    def _unknown(self) -> Verdict:
        """With the largest radius that was proved, which the checker judges too."""
        reasons = [f"against class {rival}: {reason}" for rival, found in self.reasons.items() for reason in found]
        if self.case.deadline.passed:
            reasons.append("the time is up")
        lower = 0.0
        case = self.case
        limit = self.radius if self.upper is None else min(self.radius, self.upper.distance)
        found = provers.bound(
            case.network,
            case.u,
            case.label,
            case.rivals,
            case.threat.region,
            limit=limit,
            abstain=case.threat.abstain,
            deadline=case.deadline,
            tolerance=1e-2,
        )
        if found.radius > 0:
            proofs = [RivalProof(rival, found.radius, found.proofs[rival]) for rival in case.rivals]
            _, judgement = judged_radius(case, found.radius, proofs)
            lower = found.radius if judgement.accepted or not judgement.in_time else 0.0
            reasons += [judgement.reason] if judgement.reason else []
        if found.loss is not None and found.loss.distance <= self.radius:
            self._offer(found.loss)
            return self._vulnerable()
        reason = "; ".join(dict.fromkeys(reasons)) or "not proved"
        return self._verdict(Answer.UNKNOWN, Standing.BRACKETED, None, lower, reason)


@dataclass(frozen=True, eq=False)
class VerdictQuestion(PointQuestion):
    """One radius for all points."""

    prepared: Prepared
    radius: float

    def at(self, point: NDArray[np.float64], tracker: Tracker) -> Verdict:
        deadline = self.prepared.search.deadline(tracker)
        return verdict_at(Case(self.prepared, point, deadline), self.radius)

    def failed(self, error: str, seconds: float) -> Verdict:
        return failed_verdict(self.radius, error, seconds)
