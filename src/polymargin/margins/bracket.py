"""Proved bounds where enumeration has no answer that can be defended.

From above: a tie that was confirmed, or a point that an attack found, compared in exact arithmetic. From below: the largest
ball on which branch and bound proves that the two logits do not tie. Where the two meet and the checker accepts both, the
distance is known after all, and proved.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds import Exclusion, exclude, pair_lower_bound
from polymargin.deadlines import NEVER, Deadline
from polymargin.errors import PolymarginError
from polymargin.margins.judge import Judge
from polymargin.margins.proofs import RivalProof, Subject, beyond, counterexample_json
from polymargin.margins.result import PairMargin
from polymargin.networks.network import Network
from polymargin.regions import ThreatModel
from polymargin.relaxation.counterexamples import attack

Array = NDArray[np.float64]

# Shares of the upper bound that are tried in turn, and the gap at which the two bounds count as met.
SHARES = (0.5, 0.9, 0.99, 0.999, 1 - 1e-4, 1 - 1e-5, 1 - 1e-6, 1 - 1e-7)
MET = 1.01e-6
# Parts of the ball that branch and bound may look at for one share; seconds for one rival, which only a busy machine reaches.
PATIENCE = 20.0
MOST_LEAVES = 1_000
# Seconds for a lower bound in one piece where no share was proved.
LAST = 2.0


def bracketed(
    judge: Judge, u: Array, label: int, pair: PairMargin, deadline: Deadline = NEVER, *, doubted: bool = False
) -> PairMargin:
    """Better bounds for a pair that enumeration left open; what is `doubted` counts for nothing."""
    rival, network = pair.rival, judge.network
    if rival is None or not network.stages:
        return pair
    if doubted:
        pair = replace(pair, radius=math.inf, lower=0.0, upper=math.inf, point=None, complete=False)
    try:
        found = attack(network, u, rival)
    except PolymarginError:
        found = None  # it judges the class in doubles, and may be wrong about it
    if found is not None and found.label == label and found.distance < pair.upper:
        pair = replace(pair, radius=found.distance, upper=found.distance, point=found.point)
    proved = _proved_below(network, u, label, rival, pair.upper, deadline)
    if proved is None:
        return replace(pair, lower=min(pair.lower, pair.upper))
    if proved.radius >= (1 - MET) * pair.upper and math.isfinite(pair.upper):
        return _met(judge, u, label, pair, proved, deadline)
    return replace(pair, lower=max(proved.radius, min(pair.lower, pair.upper)))


def _met(judge: Judge, u: Array, label: int, pair: PairMargin, proved: Exclusion, deadline: Deadline) -> PairMargin:
    """Bounds that meet: an answer if the checker accepts both."""
    rival, tie, lower = proved.rival, pair.point, proved.radius
    end = None if tie is None else beyond(judge.network, u, label, rival, tie)
    if end is None:
        return replace(pair, lower=lower)
    subject = Subject(judge, u, label, ThreatModel.of(len(u), rivals=(rival,)))
    proofs = [RivalProof(rival, lower, proved.to_proof())]
    _, judgement = subject.judged_margin(
        lower, end.distance, proofs, counterexample_json(end), deadline.within(PATIENCE).left
    )
    if judgement.accepted:
        upper = max(pair.upper, end.distance)
        return replace(pair, radius=upper, lower=lower, upper=upper, complete=True, proved=True, method="exclusion")
    kept = min(pair.lower, pair.upper) if judgement.in_time else lower
    return replace(pair, lower=kept, notes=(judgement.reason, *pair.notes))


def _proved_below(
    network: Network, u: Array, label: int, rival: int, upper: float, deadline: Deadline
) -> Exclusion | None:
    """The largest ball of a radius below `upper` that was proved in the time there is."""
    end = deadline.within(PATIENCE)
    with np.errstate(all="ignore"):
        if math.isinf(upper):
            return _if_proved(pair_lower_bound(network, u, label, rival, tolerance=1e-2, timeout=end.left))
        if upper <= 0:
            return None
        # For quadrics, and near enough elsewhere, one relaxation is tight: then the closest share is proved at once.
        closest = exclude(network, u, label, rival, SHARES[-1] * upper, timeout=end.left, most_leaves=1)
        if closest.proved:
            return closest
        best: Exclusion | None = None
        for share in SHARES:
            if end.passed:
                break
            found = exclude(network, u, label, rival, share * upper, timeout=end.left, most_leaves=MOST_LEAVES)
            if not found.proved:
                break
            best = found
        if best is None:  # not even half of it; less is better than nothing
            limits = {"tolerance": 1e-2, "limit": upper, "timeout": deadline.within(LAST).left}
            return _if_proved(pair_lower_bound(network, u, label, rival, **limits))
    return best


def _if_proved(found: Exclusion) -> Exclusion | None:
    return found if found.proved else None
