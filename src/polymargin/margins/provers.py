"""The engine that attacks and bounds networks, behind four functions. Nothing else in this package knows it.

nearest_loss    the nearest counterexample that a local search finds
loss_at         the point itself, where it is lost
proved_at       which rivals neither win nor tie within a radius, with proofs
bound           the largest radius up to a limit that is proved against all rivals
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import NEVER, Deadline, TimeUpError
from polymargin.networks.network import Network
from polymargin.regions import Norm, Region, ThreatModel
from polymargin.relaxation.attack import nearest_counterexample
from polymargin.relaxation.confirmation import Confirmation, Counterexample
from polymargin.relaxation.search import ProvedRadius, RegionSearch
from polymargin.relaxation.tree import prove_in_parts
from polymargin.relaxation.within import counterexample_within

Array = NDArray[np.float64]

# Bounds this close, relatively, have met.
MET = 1e-6
# Shares of a limit proved in parts of the region, where one piece does not reach it: the last first, in part of the time.
SHARES, AT_ONCE = (0.5, 0.9, 0.99, 0.999, 1 - 1e-4, 1 - 1e-5, 1 - MET / 2), 0.4
# How often a nearer counterexample, met on the way, begins the search anew.
LOSSES = 8
# Inputs and values of all stages up to which regions are split, and of the time for what is proved in one piece there.
FEW, ONE_PIECE = 200, 0.6
# Inputs and values of the stages, beyond which programs take too much memory.
MANY = 6_000


@dataclass(frozen=True)
class RadiusBound:
    """What was proved.

    radius   no rival wins or ties up to here; 0 if that was not proved of all of them
    proofs   by rival, as they stand in certificates: of this radius, or of the one that was asked for
    loss     a counterexample within the radius that was asked for, met on the way
    reasons  by rival, why there is no proof
    """

    radius: float
    proofs: dict[int, dict[str, Any]] = field(default_factory=dict)
    loss: Counterexample | None = None
    reasons: dict[int, str] = field(default_factory=dict)


def nearest_loss(
    network: Network,
    point: Array,
    label: int,
    rivals: Sequence[int],
    region: Region,
    *,
    abstain: float = 0.0,
    seed: int = 0,
    deadline: Deadline = NEVER,
) -> Counterexample | None:
    """Return the nearest counterexample against any of the rivals that a search finds; None if it finds none."""
    return nearest_counterexample(network, point, label, rivals, region, seed=seed, deadline=deadline, abstain=abstain)


def loss_at(
    network: Network, point: Array, label: int, rivals: Sequence[int], threat: ThreatModel
) -> Counterexample | None:
    """Return the point itself where the label does not lead by more than is asked for, in exact arithmetic."""
    asked = Confirmation.of(network, point, label, rivals, threat.region, threat.abstain)
    step = np.zeros(asked.coordinates.ball.dimension)
    lost = (row for row in range(len(rivals)) if asked.behind(step, row) <= 0)
    return next((asked.found(step, row) for row in lost), None)


def proved_at(
    network: Network,
    point: Array,
    label: int,
    rivals: Sequence[int],
    region: Region,
    radius: float,
    *,
    abstain: float = 0.0,
    deadline: Deadline = NEVER,
    whole: bool = False,
    seed: int = 0,
) -> RadiusBound:
    """Prove that rivals neither win nor tie within a radius; the `whole` of it at once, or in as many parts as time allows."""
    if _is_too_large(network):
        return RadiusBound(0.0, reasons=dict.fromkeys(rivals, _too_large(network)))
    within = counterexample_within(
        network, point, label, rivals, region, radius, seed=seed, abstain=abstain, deadline=deadline
    )
    if within[0] is not None:
        return RadiusBound(0.0, loss=within[0])
    return _Attempt(network, point, label, rivals, region, abstain, deadline).at(radius, whole=whole)


def bound(
    network: Network,
    point: Array,
    label: int,
    rivals: Sequence[int],
    region: Region,
    *,
    limit: float = math.inf,
    abstain: float = 0.0,
    deadline: Deadline = NEVER,
    tolerance: float = MET,
) -> RadiusBound:
    """Return the largest radius up to a limit that is proved against all rivals, as near as the time allows."""
    if _is_too_large(network):
        return RadiusBound(0.0, reasons=dict.fromkeys(rivals, _too_large(network)))
    given = network, point, label, rivals, region, abstain
    is_small = network.dimension + sum(map(len, network.stages)) <= FEW
    first = deadline.part(ONE_PIECE) if is_small else deadline
    with np.errstate(all="ignore"):
        found = ProvedRadius()
        if region.norm is Norm.L2 and region.low is not None:  # the ball alone says much, and soon
            found = RegionSearch(*given, first.part(1 / 3), with_box=False).largest(limit)
        found = RegionSearch(*given, first).largest(limit, known=found)
    best = RadiusBound(found.radius, found.proofs)
    if not is_small or math.isinf(limit):
        return best
    loss = None
    for _ in range(LOSSES):
        if deadline.passed:
            break
        found_in_parts = _in_parts(_Attempt(*given, deadline), best, limit, tolerance)
        best = found_in_parts if found_in_parts.radius > best.radius else best
        if found_in_parts.loss is None:
            break
        loss, limit = found_in_parts.loss, found_in_parts.loss.distance
    return replace(best, loss=loss)


def _in_parts(attempt: _Attempt, best: RadiusBound, limit: float, tolerance: float) -> RadiusBound:
    """Return the best of what is known and what parts of the region prove up to the limit, or a nearer counterexample."""
    deadline, last = attempt.deadline, SHARES[-1] * limit
    if last <= best.radius * (1 + tolerance):
        return best
    made = replace(attempt, deadline=deadline.part(AT_ONCE)).at(last, whole=False)
    if made.radius or made.loss is not None:
        return made
    for radius in [share * limit for share in SHARES if share * limit > best.radius]:
        if deadline.passed:
            break
        made = attempt.at(radius, whole=False)
        if made.loss is not None:
            return replace(best, loss=made.loss)
        best = made if made.radius else best
    return best


def _is_too_large(network: Network) -> bool:
    return network.dimension + sum(map(len, network.stages[1:])) > MANY


def _too_large(network: Network) -> str:
    size = network.dimension + sum(map(len, network.stages[1:]))
    return f"{size:,} variables, of which programs take at most {MANY:,}"


@dataclass(frozen=True, eq=False)
class _Attempt:
    """All rivals, in one piece or in parts."""

    network: Network
    point: Array
    label: int
    rivals: Sequence[int]
    region: Region
    abstain: float
    deadline: Deadline

    def at(self, radius: float, *, whole: bool) -> RadiusBound:
        """Prove all rivals on the region of a radius; stop at a counterexample."""
        proofs: dict[int, dict[str, Any]] = {}
        reasons: dict[int, str] = {}
        search = RegionSearch(
            self.network, self.point, self.label, self.rivals, self.region, self.abstain, self.deadline
        )
        with np.errstate(all="ignore"):
            for rival in self.rivals:
                try:
                    tree, loss, reasons[rival] = self._tree(search, rival, radius, whole)
                except TimeUpError:
                    reasons[rival] = "the time is up"
                    continue
                if loss is not None:
                    return RadiusBound(0.0, proofs, loss, reasons)
                if tree is not None:
                    proofs[rival] = search.prepared(radius).proof(tree)
                    del reasons[rival]
        return RadiusBound(radius if len(proofs) == len(self.rivals) else 0.0, proofs, reasons=reasons)

    def _tree(
        self, search: RegionSearch, rival: int, radius: float, whole: bool
    ) -> tuple[object | None, Counterexample | None, str]:
        found = search.attempt(rival, radius, decide=True)
        if found.leaf is not None or whole:
            return found.leaf, None, "not proved in one piece"
        here = search.prepared(radius)
        tree, step = prove_in_parts(here, self.point, self.label, rival, self.abstain, self.deadline)
        loss = None if step is None else self._loss(rival, step * here.perturbations.weights)
        loss = loss if loss is not None and loss.distance <= radius else None
        return tree, loss, "not all parts of the region were proved"

    def _loss(self, rival: int, step: Array) -> Counterexample | None:
        asked = Confirmation.of(self.network, self.point, self.label, [rival], self.region, self.abstain)
        return asked.nearest(step, 0)
