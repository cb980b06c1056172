"""Verdicts and margins about a program that evaluates the network in floating point, whatever the order of its sums.

Rounding changes a logit on the region by no more than the proved ends of all values allow. So the program gives the label where
that of the network leads by more than the errors of two logits: a lead is asked for, as by `abstain`. The checker computes the
errors from its own intervals.
"""

from __future__ import annotations

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
from polymargin.margins.case import Case
from polymargin.margins.judge import Judge
from polymargin.margins.noise import PointProblem, only_class
from polymargin.margins.noisy_answers import SEARCHING, margin_at, verdict_at
from polymargin.margins.result import Margin, failed
from polymargin.margins.verdict import Verdict, failed_verdict
from polymargin.networks.network import Network
from polymargin.regions import ThreatModel
from polymargin.relaxation.attack import nearest_counterexample
from polymargin.relaxation.curvatures import CurvatureCache
from polymargin.relaxation.prover import PreparedRegion
from polymargin.relaxation.rounding import format_of, rounding_errors

Array = NDArray[np.float64]

ROOM = 1 + 1e-6
"""The lead that is asked for, relative to the errors: the checker's intervals are rounded outward."""


@dataclass(frozen=True, eq=False)
class RoundedVerdict(PointQuestion):
    """What `verify` asks about every point for a program in a format."""

    judge: Judge
    threat: ThreatModel
    radius: float
    arithmetic: str
    timeout: float
    seed: int = 0

    @property
    def network(self) -> Network:
        """Return the network that is asked."""
        return self.judge.network

    def at(self, point: Array, tracker: Tracker) -> Verdict:
        """Return ROBUST or UNKNOWN."""
        started, deadline = perf_counter(), Deadline.after(self.timeout)
        u = checked_point(point, self.network.dimension)
        made = rounded(self.judge, self.threat, u, self.radius, self.arithmetic, self.seed, deadline)
        return verdict_at(made, self.radius, deadline, started)

    def failed(self, error: str, seconds: float) -> Verdict:
        """Return the answer of a row that failed."""
        return failed_verdict(self.radius, error, seconds)


@dataclass(frozen=True, eq=False)
class RoundedMargin(PointQuestion):
    """What `margin` asks about every point for a program in a format."""

    judge: Judge
    threat: ThreatModel
    arithmetic: str
    timeout: float
    seed: int = 0

    @property
    def network(self) -> Network:
        """Return the network that is asked."""
        return self.judge.network

    def at(self, point: Array, tracker: Tracker) -> Margin:
        """Return a margin with a lower bound."""
        started, deadline = perf_counter(), Deadline.after(self.timeout)
        network, threat = self.network, self.threat
        u = checked_point(point, network.dimension)
        label = only_class(network, u)
        rivals = threat.against(label, network.class_count)
        options: dict[str, Any] = {"seed": self.seed, "deadline": deadline.part(SEARCHING)}
        loss = nearest_counterexample(network, u, label, rivals, threat.region, **options)
        if loss is None:
            raise InputError(f"arithmetic={self.arithmetic!r}: no counterexample bounds the region; ask verify")
        made = rounded(self.judge, threat, u, loss.distance, self.arithmetic, self.seed, deadline)
        return margin_at(made, deadline, started)

    def failed(self, error: str, seconds: float) -> Margin:
        """Return the answer of a row that failed."""
        return failed(error, seconds)


def rounded(
    judge: Judge, threat: ThreatModel, u: Array, radius: float, arithmetic: str, seed: int, deadline: Deadline
) -> PointProblem:
    """Return what is asked of the network instead: a lead that rounding on the region cannot use up."""
    network, region = judge.network, threat.region
    made = format_of(network, arithmetic)
    if threat.abstain:
        raise InputError("abstain= with arithmetic=: expected one of them, as both ask for a lead")
    if region.is_skew:
        raise InputError("arithmetic= with an ellipsoid or a subspace: expected a region without these")
    Case.check_size(network, u)
    region.check_inside(u)
    label = only_class(network, u)
    try:
        here = PreparedRegion.of(network, u, region, radius, CurvatureCache(), deadline)
    except TimeUpError:
        raise InputError("arithmetic=: the time was too short for the ranges of the layers") from None
    errors = rounding_errors(here.proved.enclosures, u, made)
    rivals = threat.against(label, network.class_count)
    lead = ROOM * float(errors[label] + errors[rivals].max())
    if not np.isfinite(lead):
        raise InputError(f"arithmetic={arithmetic!r}: numbers may overflow within {radius:g}")
    return PointProblem(
        judge=judge,
        threat=replace(threat, abstain=lead),
        u=u,
        label=label,
        rivals=rivals,
        network=network,
        region=region,
        start=u,
        stated={"arithmetic": arithmetic},
        scale=radius,
        slack=0.0,
        seed=seed,
    )
