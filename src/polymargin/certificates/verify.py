"""`verify`: does the class stay the same within a radius? With a proof, or honestly unknown.

In order of cost: an attack; what proves some radius at once, rival by rival; a relaxation of the whole ball; all critical
points with a certificate; branch and bound with the time that is left. ROBUST is said only with a certificate that the checker
accepted in the same call, VULNERABLE only with a point whose logits were compared in exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import DEFAULT_LIMIT, checked, positive
from polymargin.blas import few_blas_threads
from polymargin.certificates.acceptance import judged_loss, judged_radius, strongest
from polymargin.certificates.counterexample import search
from polymargin.certificates.region_search import RegionSearch
from polymargin.certificates.rivals import (
    prove_at_once,
    prove_by_ball,
    prove_by_branching,
    prove_by_enumeration,
    prove_flat,
    prove_smaller,
)
from polymargin.certificates.session import Options, ProofOptions, Session
from polymargin.certificates.verdict import Answer, Verdict, Verdicts, failed_verdict
from polymargin.class_names import named
from polymargin.continuation import TrackerSettings
from polymargin.errors import InputError
from polymargin.margins.certificate import Certificate
from polymargin.margins.checkpoint import Checkpoint
from polymargin.margins.judge import Judge, Judgement
from polymargin.margins.proofs import RivalProof, counterexample_json
from polymargin.networks.network import Network
from polymargin.networks.readers.models import reads_model
from polymargin.regions import Region, ThreatModel
from polymargin.regions.given import LARGEST, SMALLEST
from polymargin.relaxation.confirmation import Counterexample
from polymargin.rows import ManyPoints, OnePoint, OnRow, answers, one_or_many
from polymargin.standing import Standing
from polymargin.work import Workers

DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True, eq=False)
class _RadiusQuestion:
    """What `verify` asks about every point."""

    judge: Judge
    radius: float
    options: Options
    timeout: float | None
    asked: ThreatModel

    @property
    def network(self) -> Network:
        return self.judge.network

    def at(self, point: NDArray[np.float64]) -> Verdict:
        session = Session(self.judge, point, self.options, self.timeout, self.asked)
        if not self.asked.is_ball:
            return RegionSearch(session).verdict(self.radius)
        return _VerdictSearch(session, self.radius).run()

    def failed(self, error: str, seconds: float) -> Verdict:
        return failed_verdict(self.radius, error, seconds)


def _piecewise_verify() -> Callable[..., Any]:
    from polymargin.piecewise import piecewise_verify  # which is made of verdicts

    return piecewise_verify


@overload
def verify(network: Any, points: OnePoint, radius: float, **options: Unpack[ProofOptions]) -> Verdict: ...
@overload
def verify(network: Any, points: ManyPoints, radius: float, **options: Unpack[ProofOptions]) -> Verdicts: ...
@overload
def verify(network: Any, points: ArrayLike, radius: float, **options: Unpack[ProofOptions]) -> Any: ...
@reads_model(piecewise=_piecewise_verify)
@checked(Network)
@few_blas_threads
def verify(
    network: Any,
    points: ArrayLike,
    radius: float,
    *,
    timeout: float | None = DEFAULT_TIMEOUT,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    cache: bool | str | Path = True,
    settings: TrackerSettings | None = None,
    checkpoint: str | Path | None = None,
    on_row: OnRow | None = None,
    executor: Workers | None = None,
    within: Region | None = None,
    rivals: Sequence[int] | None = None,
    abstain: float = 0.0,
) -> Any:
    """Decide whether any other class ties or wins at a distance of at most `radius`, with a proof either way.

    One point (n,) gives a `Verdict`, a batch (m, n) gives `Verdicts`; a bad row of a batch reports its own error.

    Parameters
    ----------
    network      a polynomial network or attention module
    points       one vector, or a batch
    radius       of the ball around each point
    timeout      seconds per point, checking included; what is not decided then is UNKNOWN, with the bounds reached
    seed, threads, limit, cache, settings   as for `margin`
    checkpoint   a file that collects finished rows with their certificates; the same call continues where it stopped
    on_row       called with the number of a row and its verdict as soon as there is one
    executor     any `concurrent.futures.Executor` or Dask `Client` that takes the rows of a batch; one thread per worker then
    within, rivals, abstain   as for `margin`; no ellipsoid and no subspace within a domain

    >>> from polymargin import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> verify(net, [0.0, 0.25], radius=0.7, cache=False).answer.name         # the margin is 0.75
    'ROBUST'
    >>> from polymargin import Linf
    >>> verify(net, [0.0, 0.25], radius=0.7, within=Linf()).answer.name         # and 0.689 if every coordinate may move
    'VULNERABLE'
    >>> verify(net, [[0.0, 0.25], [0.0, 0.5]], radius=0.7, cache=False)
    Verdicts(2 points: 1 ROBUST, 1 VULNERABLE)
    """
    options = Options(seed, threads if executor is None else 1, limit, cache, settings or TrackerSettings())
    asked = ThreatModel.of(network.dimension, within, rivals, abstain, network.class_count)
    asked.region.check_bounded()
    question = _RadiusQuestion(Judge(network), _radius(radius), options, timeout, asked)
    array = one_or_many(points, network.dimension)
    if array.ndim == 1:
        return named(question.at(array), network)
    about = {"answers": "verdicts", "radius": question.radius, "timeout": timeout, **options.of_the_answer}
    about |= {} if asked.is_plain else {"within": asked.to_dict()}
    store = None if checkpoint is None else Checkpoint.open(checkpoint, network.fingerprint, array, about, Verdict)
    return Verdicts(answers(question, array, store=store, executor=executor, on_row=on_row))


def _radius(value: Any) -> float:
    radius = positive(value, "radius")
    if not SMALLEST <= radius <= LARGEST:
        raise InputError(f"radius={radius:g}: expected a number from {SMALLEST:g} to {LARGEST:g}; rescale the inputs")
    return radius


class _VerdictSearch:
    def __init__(self, session: Session, radius: float) -> None:
        self.session, self.radius = session, radius
        self.upper: Counterexample | None = None
        self.proofs: dict[int, RivalProof] = {}
        self.best: dict[int, RivalProof] = {}  # the same, and those of smaller radii
        self.reasons: list[str] = []
        self.longest = 0.0  # seconds of a first guess

    def run(self) -> Verdict:
        session = self.session
        if session.tied is not None:
            self._offer(Counterexample(session.u.copy(), session.tied, 0.0))
            return self._vulnerable()
        for rival in [None] if session.asked.rivals is None else session.rivals:
            self._offer(search(session, rival))
        if self._beaten():
            return self._vulnerable()
        for step in (self._at_once, self._ball, self._enumerate, self._branch):
            for rival in [rival for rival in session.rivals if rival not in self.proofs]:
                if (
                    session.time_left <= 0 and step != self._at_once
                ):  # which costs little, and every rival has a bound then
                    self.reasons.append("the time is up")
                    return self._unknown()
                step(rival)
                if self._beaten():
                    return self._vulnerable()
        return self._robust() if len(self.proofs) == len(session.rivals) else self._unknown()

    def _at_once(self, rival: int) -> None:
        flat = prove_flat(self.session, rival)
        self._keep(flat if flat is not None else self._guessed(rival))
        if flat is not None and flat.lower < self.radius:
            boundary = self.session.boundary(rival)
            self._offer(self.session.beyond(self.session.critical_points(boundary).points[0].real, rival))

    def _guessed(self, rival: int) -> RivalProof | None:
        """In half of the time that is left; without any where the longest one so far would take more than that."""
        left = self.session.time_left
        proof = prove_at_once(self.session, rival, self.radius, left / 2 if left > 2 * self.longest else 0.0)
        self.longest = max(self.longest, left - self.session.time_left) if math.isfinite(left) else 0.0
        return proof

    def _ball(self, rival: int) -> None:
        if len(self.session.network.stages) > 1:  # for shallow networks the first step was this one
            self._keep(prove_by_ball(self.session, rival, self.radius))

    def _enumerate(self, rival: int) -> None:
        proof, nearest, reason = prove_by_enumeration(self.session, rival)
        self._keep(proof)
        if nearest is not None and np.linalg.norm(nearest - self.session.u) <= self.radius:
            self._offer(self.session.beyond(nearest, rival))
        if reason:
            self.reasons.append(reason)

    def _branch(self, rival: int) -> None:
        if len(self.session.network.stages) > 1:  # a better answer than none, should branching not finish
            self._keep(prove_smaller(self.session, rival, self.radius, self.session.time_left / 4))
        self._keep(prove_by_branching(self.session, rival, self.radius, timeout=self.session.time_left))
        if rival not in self.proofs:
            self.reasons.append(f"against class {rival}: branch and bound did not finish")

    def _keep(self, proof: RivalProof | None) -> None:
        if proof is None:
            return
        if proof.lower >= self.radius:
            self.proofs[proof.rival] = proof
        self.best[proof.rival] = proof.instead_of(self.best.get(proof.rival))

    def _offer(self, found: Counterexample | None) -> None:
        if found is not None and (self.upper is None or found.distance < self.upper.distance):
            self.upper = found

    def _beaten(self) -> bool:
        return self.upper is not None and self.upper.distance <= self.radius

    def _verdict(
        self, answer: Answer, standing: Standing, proof: Certificate | None, lower: float, reason: str
    ) -> Verdict:
        session, upper = self.session, self.upper
        return Verdict(
            answer=answer,
            radius=self.radius,
            label=session.label,
            rival=None if upper is None else upper.rival,
            counterexample=upper.point if answer is Answer.VULNERABLE and upper is not None else None,
            certificate=proof,
            standing=standing,
            lower=lower,
            upper=float("inf") if upper is None else upper.distance,
            reason=reason,
            seconds=session.seconds,
        )

    def _robust(self) -> Verdict:
        proofs = [self.proofs[rival] for rival in self.session.rivals]
        document, judgement = judged_radius(self.session, self.radius, proofs)
        if not judgement.accepted:
            return self._refused(judgement)
        kinds = sorted({proof.proof["kind"] for proof in proofs})
        lower = min(proof.lower for proof in proofs)
        return self._verdict(Answer.ROBUST, Standing.CERTIFIED, document, lower, f"proved by {' and '.join(kinds)}")

    def _vulnerable(self) -> Verdict:
        assert self.upper is not None
        reason = f"class {self.upper.rival} ties or wins at distance {self.upper.distance:.6g}"
        standing, proof = Standing.CERTIFIED, None
        # A tie at the point itself has no unique label for a certificate to speak of.
        if self.session.tied is None:
            proof, judgement = judged_loss(self.session, self.radius, counterexample_json(self.upper))
            if not judgement.accepted:
                standing, proof, reason = Standing.NUMERICAL, None, f"{reason}; {judgement.reason}"
        return self._verdict(Answer.VULNERABLE, standing, proof, 0.0, reason)

    def _refused(self, judgement: Judgement) -> Verdict:
        """Without the proof: what the checker accepts of it."""
        self.reasons.append(judgement.reason)
        lower = self._lower()
        if judgement.in_time:
            proofs = [self.best[rival] for rival in self.session.rivals]
            lower = min(proof.lower for proof in strongest(self.session, proofs))
        return self._undecided(lower)

    def _unknown(self) -> Verdict:
        """With the largest radius that was proved, which the checker judges too."""
        lower = self._lower()
        if lower > 0:
            judgement = judged_radius(self.session, lower, [self.best[rival] for rival in self.session.rivals])[1]
            if not judgement.accepted:
                return self._refused(judgement)
        return self._undecided(lower)

    def _undecided(self, lower: float) -> Verdict:
        reason = "; ".join(dict.fromkeys(self.reasons))
        return self._verdict(Answer.UNKNOWN, Standing.BRACKETED, None, lower, reason)

    def _lower(self) -> float:
        """The radius proved against all rivals."""
        return min(self.best[rival].lower if rival in self.best else 0.0 for rival in self.session.rivals)
