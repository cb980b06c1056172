"""Both sides of a margin in a region: the nearest counterexample that a search finds, and the largest radius that is proved.

Radii are tried from small ones on, so that something is proved when the time is up; the last one is so close to the
counterexample that the two count as met. Whole regions are proved at once where that does, and cut where it does not.
"""

from __future__ import annotations

import math
from functools import partial

from polymargin.bounds.regions.network_at import NetworkAt
from polymargin.bounds.regions.search import RegionProof, prove_by_cutting, prove_whole
from polymargin.deadlines import Deadline
from polymargin.relaxation.confirmation import Counterexample

# Fractions of the distance of the nearest counterexample: halves of the first of them, then ever closer ones.
FIRST_FRACTION, FRACTIONS, CLOSEST = 0.95, (0.8, 0.9, 0.98, 0.995, 0.999, 0.99999), 1 - 5e-7
HALVINGS = 7
# Share of the time for the search from above.
ATTACK = 0.4


def trial_radii(limit: float) -> list[float]:
    """Below a limit, smaller ones first; powers of two where there is none."""
    if math.isinf(limit):
        return [2.0**k for k in range(-6, 4)]
    halves = [FIRST_FRACTION * limit * 0.5**k for k in range(HALVINGS)][::-1]
    return [*halves, *(fraction * limit for fraction in (*FRACTIONS, CLOSEST))]


def bracket_in(
    at: NetworkAt, label: int, rivals: list[int], deadline: Deadline, seed: int = 0
) -> tuple[float, dict[int, RegionProof], Counterexample | None]:
    """The largest radius proved against all rivals until the deadline, its proofs, and the nearest loss found."""
    best: dict[int, RegionProof] = {}
    nearest = at.nearest(label, rivals, seed, deadline.part(ATTACK))
    low, high = 0.0, math.inf if nearest is None else nearest.distance
    for radius in trial_radii(high):
        if low < radius < high and not deadline.passed:
            proved, lost = _proved_on(at, label, rivals, radius, deadline, seed)
            if len(proved) == len(rivals):
                low, best = radius, proved
            elif lost is None:
                high = radius
            elif nearest is None or lost.distance < nearest.distance:
                nearest, high = lost, min(high, lost.distance)
    return low, best, nearest


def _proved_on(
    at: NetworkAt, label: int, rivals: list[int], radius: float, deadline: Deadline, seed: int
) -> tuple[dict[int, RegionProof], Counterexample | None]:
    """Proofs that rivals neither win nor tie within the radius; none of the last ones if one does, and what was met then."""
    region = at.region(radius)
    lost, lowest = at.within(radius, label, rivals, seed)
    proved: dict[int, RegionProof] = {}
    if lost is not None:
        return proved, lost
    for steps, group in at.grouped(label, rivals):
        rows = lowest[[rivals.index(rival) for rival in group]]
        proved |= prove_whole(steps, region, label, group, rows, deadline)
    for row, rival in enumerate(rivals):
        if rival not in proved:
            loss = partial(at.lost_within, label=label, rival=rival, radius=radius)
            outcome = prove_by_cutting(at.steps(label, rival), region, label, rival, lowest[row], deadline, loss)
            if outcome.proof is None:
                return proved, outcome.loss
            proved[rival] = outcome.proof
    return proved, None
