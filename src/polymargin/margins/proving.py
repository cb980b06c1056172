"""From the number to the proof: bounds of a margin that the checker accepts, and what they make of the answer.

Flat boundaries and complete lists of critical points prove the distance to a rival itself. What is left is proved as far as the
nearest tie or counterexample, by the engines of `provers`. Bounds that meet make the answer CERTIFIED.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polymargin.continuation import Tracker
from polymargin.deadlines import Deadline, TimeUpError
from polymargin.errors import PolymarginError
from polymargin.margins import provers
from polymargin.margins.acceptance import accepted_bounds
from polymargin.margins.batch import Answered, PointQuestion
from polymargin.margins.block import BlockProofs
from polymargin.margins.case import Case
from polymargin.margins.columns import Places
from polymargin.margins.network_margins import NetworkMargins
from polymargin.margins.pair_work import Found
from polymargin.margins.pairs import FOLLOWING
from polymargin.margins.prepared import Prepared
from polymargin.margins.proofs import Accepted, RivalProof, UpperProof, counterexample_json, trivial
from polymargin.margins.result import Margin, failed
from polymargin.margins.rivals import nearest_on_quadric, prove_by_enumeration, prove_flat
from polymargin.relaxation.confirmation import Counterexample
from polymargin.standing import Standing

# Of the time that is left, for the search for a counterexample.
SEARCHING = 0.3
# The number and the proof may differ by this much, relatively.
AGREEMENT = 1e-6
# A proof counts as so many paths where rows are put together.
PROOF = 256


def with_proof(prepared: Prepared, u: provers.Array, found: Margin, deadline: Deadline) -> Margin:
    """Return the answer with proved bounds and their certificate; the answer itself where there is nothing to prove."""
    if found.standing is Standing.FAILED or found.radius == 0 or not prepared.has_proofs:
        return found
    case = Case(prepared, u, deadline)
    if case.tied is not None or found.label != case.label:
        return found
    accepted, loss, notes = _bounds(case, found)
    return _proved(replace(found, seconds=found.seconds + case.seconds), accepted, loss, notes)


def _proved(found: Margin, accepted: Accepted, loss: Counterexample | None = None, notes: Sequence[str] = ()) -> Margin:
    """The answer between the bounds that were accepted."""
    if accepted.certificate is None:
        unproved = replace(found, notes=(*found.notes, *notes))
        if found.standing is not Standing.BRACKETED:
            return unproved
        return replace(unproved, lower=0.0) if accepted.in_time else _narrowed(unproved, accepted, loss)
    proof: dict[str, Any] = {"certificate": accepted.certificate, "notes": (*found.notes, *notes)}
    fits = accepted.lower <= found.radius * (1 + AGREEMENT) and found.radius <= accepted.upper * (1 + AGREEMENT)
    if accepted.closed:
        nearer = loss is not None and (not fits or found.point is None)
        return replace(
            found,
            radius=min(max(found.radius, accepted.lower), accepted.upper) if fits else accepted.upper,
            lower=accepted.lower,
            upper=accepted.upper,
            point=loss.point if loss is not None and nearer else found.point,
            rival=found.rival if fits and found.rival is not None else accepted.rival,
            standing=Standing.CERTIFIED,
            **proof,
        )
    if found.standing is Standing.BRACKETED or not fits:
        found = replace(found, standing=Standing.BRACKETED)
        return replace(_narrowed(found, accepted, loss), **proof)
    return replace(found, lower=accepted.lower, upper=accepted.upper, **proof)


def _narrowed(found: Margin, accepted: Accepted, loss: Counterexample | None) -> Margin:
    """The bounds of the proof, and the nearer of the two points."""
    if accepted.upper < found.upper or not math.isfinite(found.upper):
        point = None if loss is None else loss.point
        found = replace(found, radius=accepted.upper, upper=accepted.upper, rival=accepted.rival, point=point)
    return replace(found, lower=min(accepted.lower, found.upper))


def _bounds(case: Case, found: Margin) -> tuple[Accepted, Counterexample | None, list[str]]:
    """Proofs against all rivals, the nearest proved tie, and what the checker accepts of them."""
    proofs: dict[int, RivalProof] = {}
    ends: list[UpperProof] = []
    losses: list[Counterexample] = []
    notes: list[str] = []
    for rival in case.rivals if case.has_critical_points else []:
        proof, end, reason = _exact(case, rival)
        if proof is not None:
            proofs[rival] = proof
        if end is not None:
            ends.append(end)
        if reason:
            notes.append(reason)
    if found.rival is not None and found.point is not None and found.rival not in proofs and case.threat.is_ball:
        loss = case.beyond(found.point, found.rival)
        losses += [] if loss is None else [loss]
    if len(proofs) < len(case.rivals) and (not losses or found.standing is Standing.BRACKETED):
        left = [rival for rival in case.rivals if rival not in proofs]
        loss = provers.nearest_loss(
            case.network,
            case.u,
            case.label,
            left,
            case.threat.region,
            abstain=case.threat.abstain,
            seed=case.seed,
            deadline=case.deadline.part(SEARCHING),
        )
        losses += [] if loss is None else [loss]
    ends += [UpperProof(loss.distance, loss.rival, counterexample_json(loss)) for loss in losses]
    nearest = min(ends, key=lambda end: end.distance, default=None)
    left = [rival for rival in case.rivals if rival not in proofs]
    if left:  # beyond the nearest tie of all, nothing needs a proof
        limit = math.inf if nearest is None else nearest.distance
        bound = _bounded(case, left, limit)
        if bound.loss is not None and (nearest is None or bound.loss.distance < nearest.distance):
            losses.append(bound.loss)
            nearest = UpperProof(bound.loss.distance, bound.loss.rival, counterexample_json(bound.loss))
        for rival in left:
            entry = bound.proofs.get(rival)
            proofs[rival] = trivial(rival) if entry is None else RivalProof(rival, bound.radius, entry)
    accepted = accepted_bounds(case, [proofs[rival] for rival in case.rivals], nearest)
    closest = min(losses, key=lambda one: one.distance, default=None)
    refusal = [accepted.refusal] if accepted.refusal else []
    return accepted, closest, [*([] if accepted.closed else notes), *refusal]


def _bounded(case: Case, rivals: Sequence[int], limit: float) -> provers.RadiusBound:
    return provers.bound(
        case.network,
        case.u,
        case.label,
        rivals,
        case.threat.region,
        limit=limit,
        abstain=case.threat.abstain,
        deadline=case.deadline,
        tolerance=case.prepared.rtol,
    )


def _exact(case: Case, rival: int) -> tuple[RivalProof | None, UpperProof | None, str]:
    """A proof of the distance to this rival if there is one, a proved upper end, and a reason if there is no proof."""
    flat = prove_flat(case, rival)
    if flat is not None:
        if math.isinf(flat.lower):  # the two logits differ by a constant
            return flat, None, ""
        return flat, _end(case.beyond(case.critical_points(rival).points[0].real, rival)), ""
    proof, nearest, reason = prove_by_enumeration(case, rival)
    if proof is not None:
        if proof.nearest is None:
            return proof, None, ""
        evidence = {"kind": "critical-point", "rival": rival, "index": proof.nearest}
        return proof, UpperProof(proof.upper, rival, evidence), ""
    if nearest is None:
        nearest = nearest_on_quadric(case, rival)
    return None, None if nearest is None else _end(case.beyond(nearest, rival)), reason


def _end(found: Counterexample | None) -> UpperProof | None:
    return None if found is None else UpperProof(found.distance, found.rival, counterexample_json(found))


class MarginQuestion(PointQuestion):
    """What `margin` asks about every point: the search for margins of a model, with its proofs as the last step.

    Rows that the search leaves open are always closed as far as proofs can; the others only if `proof` asks for it.
    """

    def __init__(self, prepared: Prepared, proof: bool) -> None:
        self._prepared, self._proof = prepared, proof and prepared.has_proofs

    @property
    def paths_per_point(self) -> int:
        paths = self._prepared.margins.paths_per_point
        return max(paths, PROOF) if self._proof else paths

    def prepare(self, points: provers.Array) -> None:
        self._prepared.margins.prepare(points)

    def together(self, points: provers.Array, tracker: Tracker) -> Answered:
        following = tracker.until(tracker.deadline.part(FOLLOWING))
        margins, proofs = self._prepared.margins, dict[int, Accepted]()
        if self._proof and isinstance(margins, NetworkMargins) and (block := self._prepared.block_proofs) is not None:
            (places, found), made = margins.search(points, following, keep=True)
            proofs = {} if made is None else self._proved(block, points, places, made, tracker.deadline)
        else:
            places, found = margins.ordinary(points, following)
        if not self._proof:
            return places, found
        return places, [
            _proved(one, proofs[place]) if place in proofs else self._alone(points[place], one, self._deadline(tracker))
            for place, one in zip(places.tolist(), found, strict=True)
        ]

    def _deadline(self, tracker: Tracker) -> Deadline:
        """Return the deadline of the call where there is one, else that of a row of a batch."""
        return self._prepared.search.deadline(tracker)

    def _proved(
        self, block: BlockProofs, points: provers.Array, places: Places, found: Found, end: Deadline
    ) -> dict[int, Accepted]:
        """Return the bounds of those rows that are proved at the first try."""
        timeout, proofs = self._prepared.search.timeout, dict[int, Accepted]()
        for start in range(0, len(places), block.size):
            part = places[start : start + block.size]
            deadline = Deadline.after(None if timeout is None else timeout * len(part) / 2).within(end.left)
            try:
                proofs |= block.prove(points, part, found, deadline)
            except (PolymarginError, TimeUpError, ArithmeticError, np.linalg.LinAlgError):
                continue  # one of the rows broke it; alone, each tells
        return proofs

    def at(self, point: provers.Array, tracker: Tracker) -> Margin:
        deadline = self._deadline(tracker)
        found = self._prepared.margins.margin_at(point, tracker.until(deadline))
        return self._alone(point, found, deadline) if self._proof or found.standing is Standing.BRACKETED else found

    def failed(self, error: str, seconds: float) -> Margin:
        return failed(error, seconds)

    def _alone(self, u: provers.Array, found: Margin, deadline: Deadline) -> Margin:
        try:
            return with_proof(self._prepared, u, found, deadline)
        except (PolymarginError, TimeUpError, ArithmeticError, np.linalg.LinAlgError) as error:
            reason = str(error) or "the time is up"
            return replace(found, notes=(*found.notes, f"no proof: {reason}"))
