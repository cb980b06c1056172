"""Both sides of a margin without enumerating critical points: a counterexample above, a proof below.

For networks with too many critical points to list. The proof starts as one relaxation of the whole ball for every rival; where it
does not reach the counterexample, branch and bound tries to close the gap in the time that is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked_point
from polymargin.bounds.exclusion import Exclusion, exclude_by
from polymargin.bounds.lower_bound import lower_bound_at
from polymargin.class_names import AboutClasses, named
from polymargin.deadlines import Deadline
from polymargin.networks.network import Network
from polymargin.relaxation.counterexamples import nearest_attack

DEFAULT_TIMEOUT = 60.0
# Shares of the time that is left: for the attack, and for proofs in one piece; the rest is for branch and bound.
ATTACK = 0.3
ONE_PIECE = 0.6


@dataclass(frozen=True, eq=False)
class Bracket(AboutClasses):
    """The margin lies in [lower, upper].

    lower, exclusions   no class ties with or beats `label` nearer than `lower`: one proof per rival
    upper, point        `rival` ties or wins at `point`, at most this far, in exact arithmetic; inf and None if none was found
    closed              whether upper − lower ≤ rtol·upper
    """

    lower: float
    upper: float
    point: NDArray[np.float64] | None
    label: int
    rival: int
    exclusions: tuple[Exclusion, ...]
    closed: bool
    seconds: float
    class_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"Bracket({self.lower:.6g}..{self.upper:.6g}, class {self.label_name} against {self.rival_name})"


def bracket(network: Network, point: ArrayLike, *, rtol: float = 1e-6, timeout: float = DEFAULT_TIMEOUT) -> Bracket:
    """Proved bounds of the margin at one point, as close as the time allows.

    >>> from polymargin import PolynomialNetwork
    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[0.0, 0.0], [1.0, 4.0]], [4.0, 0.0])],
    ...                         degree=2)
    >>> bracket(net, [0.0, 0.25]).closed
    True
    """
    return named(bracket_by(Deadline.after(timeout), network, point, rtol=rtol), network)


def bracket_by(deadline: Deadline, network: Network, point: ArrayLike, *, rtol: float = 1e-6) -> Bracket:
    """The same until a deadline."""
    started = deadline.clock()
    u = checked_point(point, network.dimension)
    nearest = nearest_attack(network, u, deadline=deadline.part(ATTACK))
    upper = math.inf if nearest is None else nearest.distance
    limit = None if nearest is None else upper
    one_piece = deadline.part(ONE_PIECE)
    proved = lower_bound_at(network, u, limit=limit, deadline=one_piece)
    hurried = one_piece.passed
    lower, exclusions = proved.radius, proved.exclusions
    if nearest is not None and upper - lower > rtol * upper:
        goal = (1 - rtol / 2) * upper
        better = _close(network, u, proved.label, [e.rival for e in exclusions], goal, deadline)
        if better is not None:
            lower, exclusions = goal, better
        elif hurried and not deadline.passed:  # what cannot be cut was not tried for long
            proved = lower_bound_at(network, u, limit=limit, deadline=deadline)
            if proved.radius > lower:
                lower, exclusions = proved.radius, proved.exclusions
    closed = nearest is not None and upper - lower <= rtol * upper
    rival = proved.rival if nearest is None else nearest.rival
    place = None if nearest is None else nearest.point
    seconds = deadline.clock() - started
    return Bracket(lower, upper, place, proved.label, rival, exclusions, closed, seconds)


def _close(
    network: Network, u: NDArray[np.float64], label: int, rivals: list[int], radius: float, deadline: Deadline
) -> tuple[Exclusion, ...] | None:
    """Proofs against all rivals at this radius, or None as soon as one is not made in time."""
    found = []
    for rival in rivals:
        exclusion = exclude_by(deadline, network, u, label, rival, radius)
        if not exclusion.proved:
            return None
        found.append(exclusion)
    return tuple(found)
