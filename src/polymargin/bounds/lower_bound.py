"""Certified radii without branching: the largest r at which one relaxation of the whole ball still proves B > 0.

Of several rivals only the most threatening ones need a search: the others are proved directly at the radius that is already
known to be the limit. Every radius that is returned has its own proof (`provers`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack, overload

from numpy.typing import ArrayLike

from polymargin.arguments import checked, checked_point, positive
from polymargin.blas import few_blas_threads
from polymargin.bounds.exclusion import Exclusion
from polymargin.bounds.provers import FIRST_TRIAL, Prover, first_order, is_lifted, nothing, provers
from polymargin.bounds.regions.network_at import NetworkAt
from polymargin.bounds.regions.radius import largest_proved
from polymargin.bounds.views import bounded_view_of
from polymargin.class_names import AboutClasses, named
from polymargin.deadlines import NEVER, Deadline
from polymargin.networks.network import Network
from polymargin.networks.readers.models import reads_model
from polymargin.regions import Region, ThreatModel, ThreatOptions
from polymargin.relaxation.counterexamples import nearest_attack
from polymargin.relaxation.label import label_at
from polymargin.rows import ManyPoints, OnePoint, each, one_or_many


@dataclass(frozen=True, eq=False)
class LowerBound(AboutClasses):
    """No class ties with or beats `label` within `radius`; `exclusions` prove it, one per rival."""

    radius: float
    label: int
    rival: int
    exclusions: tuple[Exclusion, ...]
    seconds: float
    norm: str = "l2"
    class_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        norm = "" if self.norm == "l2" else f" in {self.norm}"
        return f"LowerBound({self.radius:.10g}{norm}, class {self.label_name}, limited by {self.rival_name})"


class LowerBoundOptions(ThreatOptions, total=False):
    """The keywords of `lower_bound`, for type checkers."""

    tolerance: float
    limit: float | None
    timeout: float


@overload
def lower_bound(network: Any, points: OnePoint, **options: Unpack[LowerBoundOptions]) -> LowerBound: ...
@overload
def lower_bound(network: Any, points: ManyPoints, **options: Unpack[LowerBoundOptions]) -> list[LowerBound]: ...
@overload
def lower_bound(network: Any, points: ArrayLike, **options: Unpack[LowerBoundOptions]) -> Any: ...
@reads_model()
@checked(Network)
@few_blas_threads
def lower_bound(
    network: Network,
    points: ArrayLike,
    *,
    tolerance: float = 1e-6,
    limit: float | None = None,
    timeout: float = math.inf,
    within: Region | None = None,
    rivals: Sequence[int] | None = None,
    abstain: float = 0.0,
) -> Any:
    """The largest radius provable against all rivals in one piece, up to the relative tolerance (deep networks: 0.002).

    One point (n,), or a list of answers for a batch (m, n). No radius above `limit` is tried; for deep networks it is the
    distance of an attack unless it is given. `within`, `rivals` and `abstain` as for `margin`; other regions than
    L2 balls give a radius within 0.002 of the best one.

    >>> from polymargin import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[0.0, 0.0], [1.0, 4.0]], [4.0, 0.0])],
    ...                         degree=2)
    >>> round(lower_bound(net, [0.0, 0.25]).radius, 5)
    0.75
    """
    tolerance = positive(tolerance, "tolerance")
    limit = None if limit is None else positive(limit, "limit")
    asked = ThreatModel.of(network.dimension, within, rivals, abstain, network.class_count)
    asked.region.check_bounded()
    array = one_or_many(points, network.dimension)
    if array.ndim == 2:
        return each(
            lambda row: named(lower_bound_at(network, row, tolerance, limit, Deadline.after(timeout), asked), network),
            array,
        )
    return named(lower_bound_at(network, array, tolerance, limit, Deadline.after(timeout), asked), network)


def lower_bound_at(
    network: Network,
    point: ArrayLike,
    tolerance: float = 1e-6,
    limit: float | None = None,
    deadline: Deadline = NEVER,
    asked: ThreatModel | None = None,
) -> LowerBound:
    """`lower_bound` at one point, until a deadline."""
    started = deadline.clock()
    u = checked_point(point, network.dimension)
    label = label_at(network, u)
    asked = asked or ThreatModel.of(network.dimension)
    others = asked.against(label, network.class_count)
    if not asked.is_ball:
        at = NetworkAt.of(network, u, asked)
        radius, limiting, proofs = largest_proved(at, label, others, tolerance, limit, deadline)
        return LowerBound(radius, label, limiting, proofs, deadline.clock() - started, asked.region.norm.value)
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


def pair_lower_bound(
    network: Network,
    point: ArrayLike,
    label: int,
    rival: int,
    *,
    tolerance: float = 1e-6,
    limit: float = 1e6,
    timeout: float = math.inf,
) -> Exclusion:
    """The same for one rival: a proof with a single leaf. No radius above `limit` is tried."""
    deadline = Deadline.after(timeout)
    view = bounded_view_of(network, point, label, rival)
    return provers({rival: view}, label, deadline)[rival].largest(tolerance, limit)


def quick_lower_bound(
    network: Network, point: ArrayLike, label: int, rival: int, radius: float, *, timeout: float = math.inf
) -> Exclusion:
    """A proof that costs little: at the radius, or at a half, a quarter … of it."""
    deadline = Deadline.after(timeout)
    view = bounded_view_of(network, point, label, rival)
    return provers({rival: view}, label, deadline)[rival].quick(radius)
