"""Certified radii without branching: the largest r at which one relaxation of the whole ball still proves B > 0.

Of several rivals only the most threatening ones need a search: the others are proved directly at the radius that is already
known to be the limit. Every radius that is returned has its own proof (`provers`).
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from polymargin.arguments import checked_point
from polymargin.bounds.exclusion import Exclusion
from polymargin.bounds.provers import FIRST_TRIAL, Prover, first_order, is_lifted, nothing, provers
from polymargin.bounds.regions.network_at import NetworkAt
from polymargin.bounds.regions.radius import largest_proved
from polymargin.bounds.views import bounded_view_of
from polymargin.deadlines import NEVER, Deadline
from polymargin.networks.network import Network
from polymargin.regions import ThreatModel
from polymargin.relaxation.counterexamples import nearest_attack
from polymargin.relaxation.label import label_at


@dataclass(frozen=True, eq=False)
class LowerBound:
    """No class ties with or beats `label` within `radius`; `exclusions` prove it, one per rival."""

    radius: float
    label: int
    rival: int
    exclusions: tuple[Exclusion, ...]
    seconds: float


def lower_bound_at(
    network: Network,
    point: ArrayLike,
    tolerance: float = 1e-6,
    limit: float | None = None,
    deadline: Deadline = NEVER,
    asked: ThreatModel | None = None,
) -> LowerBound:
    """Return the largest radius provable against all rivals in one piece, until a deadline.

    Up to the relative tolerance (deep networks: 0.002). No radius above `limit` is tried; for deep networks it is the distance
    of an attack unless it is given.
    """
    started = deadline.clock()
    u = checked_point(point, network.dimension)
    label = label_at(network, u)
    asked = asked or ThreatModel.of(network.dimension)
    others = asked.against(label, network.class_count)
    if not asked.is_ball:
        at = NetworkAt.of(network, u, asked)
        radius, limiting, proofs = largest_proved(at, label, others, tolerance, limit, deadline)
        return LowerBound(radius, label, limiting, proofs, deadline.clock() - started)
    views = {rival: bounded_view_of(network, u, label, rival) for rival in others}
    rivals = sorted(views, key=lambda rival: first_order(views[rival], label, rival))
    if limit is None:
        nearest = nearest_attack(network, u, deadline=deadline, asked=asked) if is_lifted(views[rivals[0]]) else None
        limit = 1e6 if nearest is None else nearest.distance
        rivals.sort(key=lambda rival: nearest is not None and rival != nearest.rival)
    against = provers(views, label, deadline)
    likely = min(FIRST_TRIAL * limit, 2 * min(first_order(views[rival], label, rival) for rival in rivals))
    found = _quick_ones(against, rivals, likely) if deadline.exists else {}
    best: Exclusion | None = None
    for rival in rivals:
        known = found.get(rival)
        reach = limit if best is None else best.radius
        if best is not None and known is not None and known.radius >= reach:
            continue
        exclusion = nothing(views[rival], label, rival)
        if reach > 0:
            search = against[rival].largest if best is None else against[rival].largest_close_to
            exclusion = search(tolerance, reach)
        if known is not None and known.radius > exclusion.radius:
            exclusion = known
        found[rival] = exclusion
        if best is None or exclusion.radius < best.radius:
            best = exclusion
    assert best is not None
    return LowerBound(
        best.radius, label, best.rival, tuple(found[rival] for rival in rivals), deadline.clock() - started
    )


def _quick_ones(against: dict[int, Prover], rivals: list[int], reach: float) -> dict[int, Exclusion]:
    """A proof against every rival that costs little, so that there is an answer when the time is up."""
    found: dict[int, Exclusion] = {}
    for rival in rivals:
        found[rival] = against[rival].quick(reach)
        reach = found[rival].radius or reach
    return found


def quick_exclusion(
    network: Network, point: ArrayLike, label: int, rival: int, radius: float, deadline: Deadline
) -> Exclusion:
    """Return a proof that costs little: at the radius, or at a half, a quarter … of it."""
    view = bounded_view_of(network, point, label, rival)
    return provers({rival: view}, label, deadline)[rival].quick(radius)
