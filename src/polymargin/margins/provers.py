"""The engines that bound and attack networks, behind three functions. Nothing else in this package knows which engines there are.

nearest_loss    the nearest counterexample that a local search finds
proved_at       which rivals neither win nor tie within a radius, with proofs
bound           the largest radius up to a limit that is proved against all rivals
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.exclusion import Exclusion, exclude_by
from polymargin.bounds.lower_bound import lower_bound_at, quick_exclusion
from polymargin.bounds.regions.network_at import NetworkAt
from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.search import prove_by_cutting, prove_whole
from polymargin.deadlines import NEVER, Deadline, TimeUpError
from polymargin.margins.proofs import distance_above
from polymargin.networks.network import Network
from polymargin.networks.stages import Product
from polymargin.regions import Norm, Region, ThreatModel
from polymargin.relaxation.attack import nearest_counterexample
from polymargin.relaxation.confirmation import Confirmation, Counterexample
from polymargin.relaxation.coordinates import Coordinates
from polymargin.relaxation.gradients import Functionals
from polymargin.relaxation.search import ProvedRadius, RegionSearch
from polymargin.relaxation.tree import prove_in_parts

Array = NDArray[np.float64]

# Bounds this close, relatively, have met; what is tried first is half as far from the limit.
MET = 1e-6
# Shares of a limit that are tried in turn where one piece does not reach it, and of the time for what is proved in one piece.
SHARES, ONE_PIECE = (0.5, 0.9, 0.99, 0.999, 1 - 1e-4, 1 - 1e-5, 1 - MET / 2), 0.6
# Radii without a limit, and halves below the first share of one.
UNLIMITED, HALVINGS, FIRST_SHARE = [2.0**k for k in range(-6, 4)], 7, 0.95
MOST_LEAVES = 100_000
# Inputs and values of all stages: fewer are enumerated or split by the older engines, more make programs too large.
FEW, MANY = 80, 2_500
# Of the time, for the relaxation; what it reaches of the limit before the older engines are not tried.
RELAXED, LOW = 0.75, 0.6
# Inputs and values of the layers, beyond which the checker reads no proof on a region; so none is made.
LARGEST_SPACE = 12_000


@dataclass(frozen=True)
class RadiusBound:
    """What was proved.

    radius   no rival wins or ties up to here; 0 if that was not proved of all of them
    proofs   by rival, as they stand in certificates: of this radius, or of the one that was asked for
    shared   what all proofs have in common
    loss     a counterexample within the radius that was asked for, met on the way
    reasons  by rival, why there is no proof
    """

    radius: float
    proofs: dict[int, dict[str, Any]] = field(default_factory=dict)
    shared: dict[str, Any] | None = None
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
    at = NetworkAt.of(network, point, threat)
    losses = (at.lost(at.start, label, rival) for rival in rivals)
    return next((found for found in losses if found is not None), None)


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
    threat = ThreatModel(region, tuple(rivals), abstain)
    if _is_relaxed(network, threat):
        part = deadline.part(RELAXED)
        found = _relaxed_at(network, point, label, rivals, region, radius, abstain, part, whole)
        if found.radius or found.loss is not None or not network.is_polynomial:
            return found
    if threat.is_ball:
        return _ball_at(network, point, label, rivals, radius, deadline, whole)
    return _region_at(network, point, label, list(rivals), threat, radius, deadline, whole, seed)


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
    seed: int = 0,
) -> RadiusBound:
    """Return the largest radius up to a limit that is proved against all rivals, as near as the time allows."""
    threat = ThreatModel(region, tuple(rivals), abstain)
    if _is_relaxed(network, threat):
        found = _relaxed(network, point, label, rivals, region, limit, abstain, deadline.part(RELAXED), tolerance)
        if found.loss is not None or found.radius >= LOW * limit or not network.is_polynomial:
            return found
        older = _older(network, point, label, rivals, region, threat, limit, abstain, deadline, tolerance, seed)
        return older if older.radius > found.radius else found
    return _older(network, point, label, rivals, region, threat, limit, abstain, deadline, tolerance, seed)


def _older(
    network: Network,
    point: Array,
    label: int,
    rivals: Sequence[int],
    region: Region,
    threat: ThreatModel,
    limit: float,
    abstain: float,
    deadline: Deadline,
    tolerance: float,
    seed: int,
) -> RadiusBound:
    try_radius = partial(proved_at, network, point, label, rivals, region, abstain=abstain, seed=seed)
    best, high = RadiusBound(0.0), limit
    if threat.is_ball:
        if not network.stages:
            return best
        if 0 < limit < math.inf:
            best = try_radius((1 - tolerance / 2) * limit, deadline=deadline, whole=True)
            if best.radius or best.loss is not None:
                return best
        best = _ball_in_one_piece(network, point, threat, limit, deadline, tolerance)
        trials = [] if math.isinf(limit) else [share * limit for share in SHARES]
    elif math.isinf(limit):
        trials = UNLIMITED
    else:
        halves = [FIRST_SHARE * limit * 0.5**k for k in range(HALVINGS)][::-1]
        trials = [*halves, *(share * limit for share in SHARES[1:])]
    loss: Counterexample | None = None
    for radius in trials:
        if best.radius < radius < high and not deadline.passed:
            found = try_radius(radius, deadline=deadline)
            if found.radius:
                best = found
                continue
            high = radius if found.loss is None else min(high, found.loss.distance)
            if found.loss is not None and (loss is None or found.loss.distance < loss.distance):
                loss = found.loss
    if not threat.is_ball and _balls_do(threat) and network.stages and not deadline.passed:
        ball = _ball_in_one_piece(network, point, replace(threat, region=_plain(region)), limit, deadline, tolerance)
        best = ball if ball.radius > best.radius else best
    return best if loss is None else replace(best, loss=loss)


# -- relaxations -------------------------------------------------------------------------------------------------------


def _is_relaxed(network: Network, threat: ThreatModel) -> bool:
    """Return whether the one calculus proves at least as much as the older engines: deep, wide or piecewise networks."""
    if not network.is_polynomial:
        return True
    size = network.dimension + sum(map(len, network.stages))
    if any(isinstance(stage, Product) for stage in network.stages) or not FEW < size <= MANY:
        return False
    return len(network.stages) == 2 or not threat.is_ball


def _relaxed(
    network: Network,
    point: Array,
    label: int,
    rivals: Sequence[int],
    region: Region,
    limit: float,
    abstain: float,
    deadline: Deadline,
    tolerance: float,
) -> RadiusBound:
    few = network.dimension + sum(map(len, network.stages)) <= FEW
    first = deadline.part(ONE_PIECE) if few else deadline
    search = partial(RegionSearch, network, point, label, rivals, region, abstain)
    with np.errstate(all="ignore"):
        found = ProvedRadius()
        if region.norm is Norm.L2 and region.low is not None:  # the ball alone says much, and soon
            found = search(first.part(1 / 3), with_box=False).largest(limit, None)
        found = search(first).largest(limit, None, known=found)
    best = RadiusBound(found.radius, found.proofs)
    for share in SHARES[::-1] if few and math.isfinite(limit) else ():
        radius = share * limit
        if radius <= best.radius * (1 + tolerance / 4) or deadline.passed:
            continue
        made = _relaxed_at(network, point, label, rivals, region, radius, abstain, deadline, False)
        if made.loss is not None or made.radius:
            return made if made.radius else replace(best, loss=made.loss)
    return best


def _relaxed_at(
    network: Network,
    point: Array,
    label: int,
    rivals: Sequence[int],
    region: Region,
    radius: float,
    abstain: float,
    deadline: Deadline,
    whole: bool,
) -> RadiusBound:
    search = RegionSearch(network, point, label, rivals, region, abstain, deadline)
    proofs: dict[int, dict[str, Any]] = {}
    reasons: dict[int, str] = {}
    with np.errstate(all="ignore"):
        try:
            here = search.prepared(radius)
            for rival in rivals:
                found = search.attempt(rival, radius, decide=True)
                tree: Any = found.leaf
                step = None
                if tree is None and not whole:
                    tree, step = prove_in_parts(here, point, label, rival, abstain, deadline)
                if tree is not None:
                    proofs[rival] = here.proof(tree)
                    continue
                reasons[rival] = "not proved in one piece" if whole else "not all parts of the region were proved"
                if step is not None:
                    asked = _confirmation(network, point, label, rival, region, abstain)
                    loss = asked.nearest(step * here.perturbations.weights, 0)
                    if loss is not None and loss.distance <= radius:
                        return RadiusBound(0.0, proofs, loss=loss, reasons=reasons)
        except TimeUpError:
            reasons |= {rival: "the time is up" for rival in rivals if rival not in proofs}
    return RadiusBound(radius if len(proofs) == len(rivals) else 0.0, proofs, reasons=reasons)


def _confirmation(
    network: Network, point: Array, label: int, rival: int, region: Region, abstain: float
) -> Confirmation:
    coordinates = Coordinates.of(region, point)
    leads = Functionals.leads(network, label, [rival], abstain).around(point).along(coordinates.directions)
    return Confirmation(network, leads, coordinates, label, [rival], abstain)


# -- balls -------------------------------------------------------------------------------------------------------------


def _ball_at(
    network: Network, point: Array, label: int, rivals: Sequence[int], radius: float, deadline: Deadline, whole: bool
) -> RadiusBound:
    proofs: dict[int, dict[str, Any]] = {}
    reasons: dict[int, str] = {}
    loss: Counterexample | None = None
    if not network.stages:
        return RadiusBound(0.0)
    with np.errstate(all="ignore"):
        for rival in rivals:
            quick = quick_exclusion(network, point, label, rival, radius, deadline) if whole else None
            found = quick if quick is not None and quick.radius >= radius and quick.proved else None
            if found is None and (not whole or (len(network.stages) > 1 and not deadline.passed)):
                leaves = 1 if whole else MOST_LEAVES
                found = exclude_by(deadline, network, point, label, rival, radius, leaves)
            if found is not None and found.proved:
                proofs[rival] = found.to_proof()
            elif found is not None and found.counterexample is not None:
                place = found.counterexample
                loss = Counterexample(place, rival, distance_above(place, point))
                break
            else:
                reasons[rival] = "branch and bound did not finish" if not whole else "not proved in one piece"
    return RadiusBound(radius if len(proofs) == len(rivals) else 0.0, proofs, None, loss, reasons)


def _ball_in_one_piece(
    network: Network, point: Array, threat: ThreatModel, limit: float, deadline: Deadline, tolerance: float
) -> RadiusBound:
    with np.errstate(all="ignore"):
        reach = None if math.isinf(limit) else limit
        found = lower_bound_at(network, point, tolerance, reach, deadline.part(ONE_PIECE), threat)
    return RadiusBound(found.radius, _proofs(found.exclusions)) if found.radius > 0 else RadiusBound(0.0)


def _proofs(exclusions: Sequence[Exclusion]) -> dict[int, dict[str, Any]]:
    return {one.rival: one.to_proof() for one in exclusions if one.proved}


# -- other regions -----------------------------------------------------------------------------------------------------


def _region_at(
    network: Network,
    point: Array,
    label: int,
    rivals: list[int],
    threat: ThreatModel,
    radius: float,
    deadline: Deadline,
    whole: bool,
    seed: int,
) -> RadiusBound:
    at = NetworkAt.of(network, point, threat)
    here = at.region(radius)
    lost, lowest = at.within(radius, label, rivals, seed)
    if lost is not None:
        return RadiusBound(0.0, loss=lost)
    space = {rival: network.dimension + sum(map(len, at.steps(label, rival).steps)) for rival in rivals}
    unreadable = f"a proof on a region for more than {LARGEST_SPACE:,} values, which the checker does not read"
    reasons = {rival: unreadable for rival in rivals if space[rival] > LARGEST_SPACE}
    proofs: dict[int, dict[str, Any]] = {}
    for steps, group in at.grouped(label, [rival for rival in rivals if rival not in reasons]):
        rows = lowest[[rivals.index(rival) for rival in group]]
        proved = prove_whole(steps, here, label, group, rows, deadline)
        proofs |= {rival: proof.to_proof() for rival, proof in proved.items()}
    left = [rival for rival in rivals if rival not in proofs]
    if left and _balls_do(threat) and not deadline.passed:
        proofs |= _ball_at(network, point, label, left, radius, deadline, True).proofs
    for rival in [] if whole else [rival for rival in rivals if rival not in proofs and rival not in reasons]:
        proof, reason, loss = _cut(at, here, label, rival, lowest[rivals.index(rival)], deadline)
        if loss is not None:
            return RadiusBound(0.0, proofs, loss=loss)
        if proof is None:
            reasons[rival] = reason
        else:
            proofs[rival] = proof
    return RadiusBound(radius if len(proofs) == len(rivals) else 0.0, proofs, reasons=reasons)


def _cut(
    at: NetworkAt, here: AllowedRegion, label: int, rival: int, low: Array, deadline: Deadline
) -> tuple[dict[str, Any] | None, str, Counterexample | None]:
    lost = partial(at.lost_within, label=label, rival=rival, radius=here.radius)
    outcome = prove_by_cutting(at.steps(label, rival), here, label, rival, low, deadline, lost)
    proof = None if outcome.proof is None else outcome.proof.to_proof()
    return proof, outcome.reason, outcome.loss


def _balls_do(threat: ThreatModel) -> bool:
    """Return whether a proof on the L2 ball is one here: the ball contains the region."""
    region = threat.region
    return region.norm is Norm.L2 and region.weights is None and region.ellipsoid is None and not threat.abstain


def _plain(region: Region) -> Region:
    return Region(Norm.L2).in_dimension(region.dimension)
