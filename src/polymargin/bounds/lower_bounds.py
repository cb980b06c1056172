"""Certified radii without branching: the largest r at which one relaxation of the whole ball still proves B > 0.

The best bound θ(r) falls with r from θ(0) = B(u). Its root is bracketed and found by regula falsi with Illinois'
halving; every radius that is returned has its own proof. Of several rivals only the most threatening ones need a search:
the others are proved directly at the radius that is already known to be the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked, checked_point, positive
from polymargin.bounds.exclusion import Exclusion
from polymargin.bounds.gradients import evaluate
from polymargin.bounds.leaves import bound_leaves
from polymargin.bounds.tree import Leaf
from polymargin.bounds.view import View, label_at
from polymargin.networks.network import Network

Array = NDArray[np.float64]

EVALUATIONS = 60


@dataclass(frozen=True, eq=False)
class LowerBound:
    """No class ties with or beats `label` within `radius`; `exclusions` prove it, one per rival."""

    radius: float
    label: int
    rival: int
    exclusions: tuple[Exclusion, ...]
    seconds: float

    def __repr__(self) -> str:
        return f"LowerBound({self.radius:.10g}, class {self.label}, limited by {self.rival})"


@checked(Network)
def lower_bound(network: Network, point: ArrayLike, *, tolerance: float = 1e-6, limit: float = 1e6) -> LowerBound:
    """The largest radius provable against all rivals in one piece, up to the relative tolerance.

    >>> from polymargin import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[0.0, 0.0], [1.0, 4.0]], [4.0, 0.0])],
    ...                         degree=2)
    >>> round(lower_bound(net, [0.0, 0.25]).radius, 5)
    0.75
    """
    started = perf_counter()
    tolerance, limit = positive(tolerance, "tolerance"), positive(limit, "limit")
    u = checked_point(point, network.dimension)
    label = label_at(network, u)
    view = {rival: View.of(network, u, label, rival) for rival in range(network.class_count) if rival != label}
    rivals = sorted(view, key=lambda rival: _first_order(view[rival], label, rival))
    best = _largest(view[rivals[0]], label, rivals[0], tolerance, limit)
    found = [best]
    for rival in rivals[1:]:
        if best.radius == 0:
            found.append(_single(view[rival], 0.0, label, rival, None, 0.0))
            continue
        exclusion = _at(view[rival], label, rival, best.radius)
        if not exclusion.proved:
            exclusion = best = _largest(view[rival], label, rival, tolerance, best.radius)
        found.append(exclusion)
    return LowerBound(best.radius, label, best.rival, tuple(found), perf_counter() - started)


def pair_lower_bound(
    network: Network,
    point: ArrayLike,
    label: int,
    rival: int,
    *,
    tolerance: float = 1e-6,
    limit: float = 1e6,
) -> Exclusion:
    """The same for one rival: a proof with a single leaf. No radius above `limit` is tried."""
    return _largest(View.of(network, point, label, rival), label, rival, tolerance, limit)


def _first_order(view: View, label: int, rival: int) -> float:
    """B(u) / ‖∇B(u)‖."""
    values, slopes = evaluate(view, np.zeros((1, view.factor.shape[1])), label, np.array([rival]))
    return float(abs(values[0])) / max(float(np.linalg.norm(slopes[0])), 1e-300)


def _at(view: View, label: int, rival: int, radius: float) -> Exclusion:
    """Try one radius; the answer is a sign."""
    return _attempt(view, label, rival, radius, decide=True)[1]


def _attempt(view: View, label: int, rival: int, radius: float, *, decide: bool) -> tuple[float, Exclusion]:
    started = perf_counter()
    gamma, constant = view.difference(label, rival)
    one = np.array([radius])
    found = bound_leaves(view, view.root_ranges(radius)[None], gamma[None], np.array([constant]), one, decide=decide)
    value, leaf = float(found.values[0]), found.leaves[0]
    return value, _single(view, radius, label, rival, leaf if value > 0 else None, perf_counter() - started)


def _single(view: View, radius: float, label: int, rival: int, leaf: Leaf | None, seconds: float) -> Exclusion:
    done = leaf is not None
    reason = "proved" if done else "no branching"
    return Exclusion(radius, label, rival, leaf, int(done), int(not done), reason, seconds, lowering=view.lowering)


def _largest(view: View, label: int, rival: int, tolerance: float, limit: float) -> Exclusion:
    """Bracket and shrink: `low` is proved, `high` is not."""
    low, high = 0.0, math.inf
    at_low = float(view.boundary(label, rival, view.point))
    at_high = -math.inf
    best = _single(view, 0.0, label, rival, None, 0.0)
    trial = min(_first_order(view, label, rival), limit)
    side = 0
    for _ in range(EVALUATIONS):
        value, exclusion = _attempt(view, label, rival, trial, decide=False)
        if value > 0:
            low, at_low, best = trial, value, exclusion
            at_high = at_high / 2 if side > 0 else at_high
            side = 1
        else:
            high, at_high = trial, value
            at_low = at_low / 2 if side < 0 else at_low
            side = -1
        if low >= limit or (math.isfinite(high) and high - low <= tolerance * high):
            break
        if math.isinf(high):
            trial = min(2 * low, limit)
        elif math.isfinite(at_high):
            room = tolerance * high / 3
            trial = min(max((low * at_high - high * at_low) / (at_high - at_low), low + room), high - room)
        else:
            trial = (low + high) / 2
    return best
