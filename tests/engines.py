"""The bounding engines as tests ask them: by keywords, at one point."""

from __future__ import annotations

import math
from typing import Any

from polymargin.bounds.exclusion import Exclusion, exclude_by
from polymargin.bounds.lower_bound import LowerBound, lower_bound_at
from polymargin.bounds.provers import provers
from polymargin.bounds.views import bounded_view_of
from polymargin.deadlines import Deadline
from polymargin.regions import ThreatModel
from polymargin.relaxation.confirmation import Counterexample
from polymargin.relaxation.counterexamples import nearest_attack


def lower_bound(
    network: Any,
    point: Any,
    *,
    tolerance: float = 1e-6,
    limit: float | None = None,
    timeout: float = math.inf,
    **asked: Any,
) -> LowerBound:
    """Return the largest radius that is proved in one piece."""
    threat = ThreatModel.of(network.dimension, **asked)
    return lower_bound_at(network, point, tolerance, limit, Deadline.after(timeout), threat)


def pair_lower_bound(
    network: Any,
    point: Any,
    label: int,
    rival: int,
    *,
    tolerance: float = 1e-6,
    limit: float = 1e6,
    timeout: float = math.inf,
) -> Exclusion:
    """Return the same against one rival."""
    view = bounded_view_of(network, point, label, rival)
    return provers({rival: view}, label, Deadline.after(timeout))[rival].largest(tolerance, limit)


def exclude(
    network: Any,
    point: Any,
    label: int,
    rival: int,
    radius: float,
    *,
    timeout: float = 60.0,
    most_leaves: int = 100_000,
) -> Exclusion:
    """Return the outcome of branch and bound on a ball."""
    return exclude_by(Deadline.after(timeout), network, point, label, rival, radius, most_leaves)


def attack(
    network: Any, point: Any, rival: int | None = None, starts: int | None = None, **asked: Any
) -> Counterexample | None:
    """Return the nearest counterexample that a search with so many starts finds."""
    threat = ThreatModel.of(network.dimension, **asked)
    return nearest_attack(network, point, rival, starts, asked=threat)
