"""What is asked of networks with noise at every point: verdicts, margins, and how much noise a class bears."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import checked_point
from polymargin.continuation import Tracker
from polymargin.deadlines import Deadline, TimeUpError
from polymargin.errors import InputError
from polymargin.margins.batch import PointQuestion
from polymargin.margins.case import CHECKING
from polymargin.margins.certificate import hexadecimal
from polymargin.margins.judge import Judge
from polymargin.margins.noise import Noise, PointProblem
from polymargin.margins.prediction import predicted_class
from polymargin.margins.proofs import RivalProof, trivial
from polymargin.margins.result import Margin, failed
from polymargin.margins.verdict import Answer, Verdict, failed_verdict
from polymargin.networks.network import Network
from polymargin.networks.noisy import layers_of
from polymargin.regions import Linf, ThreatModel
from polymargin.relaxation.attack import nearest_counterexample
from polymargin.relaxation.search import ProvedRadius
from polymargin.relaxation.tree import prove_in_parts
from polymargin.relaxation.within import counterexample_within
from polymargin.standing import Standing

Array = NDArray[np.float64]

UNLIMITED, NEARLY = (2.0, 16.0, 128.0), 0.9
"""Radii relative to the scale where no counterexample is found, and the part of one that is enough for trying the next."""
WHOLE, FEW, SHARES, IN_PARTS = 0.6, 80, (0.05, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99), 0.5
"""Of the time, for the region in one piece. Networks with so few inputs and values are proved in pieces too: parts of the upper
bound that are tried, each in so much of what is left.
"""
SEARCHING = 0.3
"""Of the time, for the search for a counterexample."""


@dataclass(frozen=True, eq=False)
class NoisyVerdict(PointQuestion):
    """What `verify` asks about every point where there is noise."""

    judge: Judge
    threat: ThreatModel
    radius: float
    noise: Noise
    timeout: float
    seed: int = 0

    @property
    def network(self) -> Network:
        return self.judge.network

    def at(self, point: Array, tracker: Tracker) -> Verdict:
        """Return the verdict at a point."""
        started, deadline = perf_counter(), Deadline.after(self.timeout)
        u = checked_point(point, self.network.dimension)
        sizes = self.noise.at(self.network, u, self.threat.region, self.radius, deadline)
        return verdict_at(
            PointProblem.of(self.judge, self.threat, u, sizes, self.radius, self.seed), self.radius, deadline, started
        )

    def failed(self, error: str, seconds: float) -> Verdict:
        return failed_verdict(self.radius, error, seconds)


@dataclass(frozen=True, eq=False)
class NoisyMargin(PointQuestion):
    """What `margin` asks about every point where there is noise."""

    judge: Judge
    threat: ThreatModel
    noise: Noise
    timeout: float
    seed: int = 0

    @property
    def network(self) -> Network:
        return self.judge.network

    def at(self, point: Array, tracker: Tracker) -> Margin:
        """Return the margin at a point."""
        started, deadline = perf_counter(), Deadline.after(self.timeout)
        network, threat = self.network, self.threat
        u = checked_point(point, network.dimension)
        label, _ = predicted_class(network, u)
        rivals = threat.against(label, network.class_count)
        options: dict[str, Any] = {"seed": self.seed, "deadline": deadline.part(SEARCHING), "abstain": threat.abstain}
        plain = nearest_counterexample(network, u, label, rivals, threat.region, **options)
        if plain is None and self.noise.relative:
            raise InputError("noise in percent: no counterexample bounds the region; give sizes as numbers")
        scale = 1.0 if plain is None or not plain.distance else plain.distance
        sizes = self.noise.at(network, u, threat.region, scale, deadline)
        return margin_at(PointProblem.of(self.judge, threat, u, sizes, scale, self.seed), deadline, started)

    def failed(self, error: str, seconds: float) -> Margin:
        return failed(error, seconds)


@dataclass(frozen=True, eq=False)
class NoiseBudget(PointQuestion):
    """What `noise_budget` asks about every point: the inputs stay, and noise is measured in units of its sizes."""

    judge: Judge
    noise: Noise
    asked: ThreatModel
    timeout: float
    seed: int = 0

    @property
    def network(self) -> Network:
        return self.judge.network

    def at(self, point: Array, tracker: Tracker) -> Margin:
        """Return the largest multiple of the sizes that the class at a point bears."""
        started, deadline = perf_counter(), Deadline.after(self.timeout)
        u = checked_point(point, self.network.dimension)
        sizes = dict(self.noise.absolute)
        forms = _forms_at(self.network, u)
        sizes |= {k: np.full(len(forms[k]), share * np.abs(forms[k]).max()) for k, share in self.noise.relative.items()}
        threat = replace(self.asked, region=Linf().in_dimension(self.network.dimension))
        made = PointProblem.of(self.judge, threat, u, dict(sorted(sizes.items())), None, self.seed)
        return margin_at(made, deadline, started)

    def failed(self, error: str, seconds: float) -> Margin:
        return failed(error, seconds)


def verdict_at(problem: PointProblem, radius: float, end: Deadline, started: float) -> Verdict:
    """Return the verdict for one radius: a counterexample (x, e), or proofs against all rivals."""
    deadline = end.part(1 - CHECKING)

    def answer(word: Answer, standing: Standing, reason: str, **known: Any) -> Verdict:
        parts: dict[str, Any] = {
            "rival": None,
            "counterexample": None,
            "certificate": None,
            "lower": 0.0,
            "upper": math.inf,
        }
        seconds = perf_counter() - started
        about = {"label": problem.label, "reason": reason, "seconds": seconds, **parts, **known}
        return Verdict(answer=word, radius=radius, standing=standing, **about)

    if "arithmetic" not in problem.stated:  # counterexamples of a network say little about a program
        loss, _ = counterexample_within(
            problem.network,
            problem.start,
            problem.label,
            problem.rivals,
            problem.region,
            radius,
            deadline=deadline.part(SEARCHING),
            **problem.options,
        )
    else:
        loss = None
    if loss is not None:
        document, judgement = problem.judged({"kind": "vulnerable", "radius": hexadecimal(radius)}, [], loss, end)
        reason = f"class {loss.rival} ties or wins at distance {loss.distance:.6g} with noise"
        known = {"rival": loss.rival, "counterexample": loss.point, "upper": loss.distance}
        if judgement.accepted:
            return answer(Answer.VULNERABLE, Standing.CERTIFIED, reason, certificate=document, **known)
        return answer(Answer.VULNERABLE, Standing.NUMERICAL, f"{reason}; {judgement.reason}", **known)
    proofs, unproved = _proofs(problem, radius + problem.slack, deadline)
    if unproved is not None:
        reason = f"against class {unproved}: not proved" + ("; the time is up" if deadline.passed else "")
        return answer(Answer.UNKNOWN, Standing.BRACKETED, reason)
    stated = [RivalProof(rival, radius, proof) for rival, proof in proofs.items()]
    document, judgement = problem.judged({"kind": "robust", "radius": hexadecimal(radius)}, stated, None, end)
    if not judgement.accepted:
        return answer(Answer.UNKNOWN, Standing.BRACKETED, judgement.reason)
    reason = f"proved by relaxation, with {next(iter(problem.stated))}"
    return answer(Answer.ROBUST, Standing.CERTIFIED, reason, certificate=document, lower=radius)


def margin_at(problem: PointProblem, end: Deadline, started: float) -> Margin:
    """Return the margin between a proved lower bound and a counterexample (x, e)."""
    deadline = end.part(1 - CHECKING)
    asked = problem.network, problem.start, problem.label, problem.rivals, problem.region
    loss = nearest_counterexample(*asked, deadline=deadline.part(SEARCHING), **problem.options)
    limit = math.inf if loss is None else loss.distance
    notes: list[str] = []
    if "arithmetic" in problem.stated:  # counterexamples of a network say little about a program
        notes = (
            [] if loss is None else [f"at {loss.distance:.6g} the network leads by no more than rounding may change"]
        )
        loss = None
    upper = math.inf if loss is None else loss.distance
    claim = {"kind": "margin", "lower": "", "upper": hexadecimal(upper)}
    for found in [*_proved(problem, limit, deadline), ProvedRadius()]:
        lower = max(0.0, found.radius - problem.slack)
        proofs = [RivalProof(r, lower, found.proofs[r]) if lower else trivial(r) for r in problem.rivals]
        document, judgement = problem.judged(claim | {"lower": hexadecimal(lower)}, proofs, loss, end)
        if judgement.accepted or not judgement.in_time:
            break
        notes.append(judgement.reason)
    lower = lower if judgement.accepted else 0.0
    says_something = judgement.accepted and (lower > 0 or math.isfinite(upper))
    return Margin(
        radius=upper,
        lower=lower,
        upper=upper,
        point=None if loss is None else loss.point,
        label=problem.label,
        rival=None if loss is None else loss.rival,
        standing=Standing.BRACKETED,
        method="bounds",
        seconds=perf_counter() - started,
        notes=tuple(notes),
        norm=problem.threat.region.norm.value,
        certificate=document if says_something else None,
    )


def _proved(problem: PointProblem, upper: float, deadline: Deadline) -> list[ProvedRadius]:
    """Return radii up to a bound that are proved, the largest first."""
    found = [_in_one_piece(problem, upper, deadline.part(WHOLE))]
    size = problem.network.dimension + sum(map(len, problem.network.stages))
    for radius in [share * upper for share in SHARES] if size <= FEW and math.isfinite(upper) else []:
        if radius > found[-1].radius:
            made, unproved = _proofs(problem, radius, deadline.part(IN_PARTS))
            if unproved is not None:
                break
            found.append(ProvedRadius(radius, made))
    return found[::-1]


def _in_one_piece(problem: PointProblem, upper: float, deadline: Deadline) -> ProvedRadius:
    search, found = problem.search(deadline), ProvedRadius()
    with np.errstate(all="ignore"):
        if math.isfinite(upper):
            return search.largest(upper) if upper > problem.slack else found
        for limit in (factor * problem.scale for factor in UNLIMITED):
            found = search.largest(limit, known=found)
            if found.radius < NEARLY * limit or deadline.passed:
                break
    return found


def _proofs(problem: PointProblem, radius: float, deadline: Deadline) -> tuple[dict[int, Any], int | None]:
    """Return proofs against all rivals, or the first one against which there is none."""
    search, proofs = problem.search(deadline), dict[int, Any]()
    with np.errstate(all="ignore"):
        rival: int | None = None
        try:
            here = search.prepared(radius)
            for rival in search.by_nearness(radius):
                tree: Any = search.attempt(rival, radius, decide=True).leaf
                if tree is None:
                    abstain = problem.threat.abstain
                    tree, _ = prove_in_parts(here, problem.start, problem.label, rival, abstain, deadline)
                if tree is None:
                    return proofs, rival
                proofs[rival] = here.proof(tree)
        except TimeUpError:
            return proofs, problem.rivals[0] if rival is None else rival
    return proofs, None


def _forms_at(network: Network, point: Array) -> list[Array]:
    values = network.values(point)
    return [np.asarray(forms(values[: len(forms.widths)])) for forms in layers_of(network)]
