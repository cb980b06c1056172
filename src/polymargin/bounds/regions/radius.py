"""The largest radius at which the whole region is proved at once, against all rivals.

Bounds fall as a region grows, so the radius is bracketed between one that is proved and one that is not, and the bracket is
halved. Above it lies at most the nearest counterexample that an attack finds.
"""

from __future__ import annotations

from time import perf_counter

from polymargin.bounds.exclusion import Exclusion
from polymargin.bounds.regions.network_at import NetworkAt
from polymargin.bounds.regions.search import RegionProof, prove_whole
from polymargin.deadlines import Deadline

# Of the time that is left, for the search for a counterexample.
ATTACK = 0.4
# What a radius is sought to at best: every digit costs an expansion and a factorisation per rival.
TOLERANCE = 2e-3
LARGEST = 1e6
EVALUATIONS = 40


def largest_proved(
    at: NetworkAt,
    label: int,
    rivals: list[int],
    tolerance: float,
    limit: float | None,
    deadline: Deadline,
) -> tuple[float, int, tuple[Exclusion, ...]]:
    """The radius, the rival that limits it, and one proof per rival; no proofs at radius 0."""
    started = perf_counter()
    nearest = at.nearest(label, rivals, 0, deadline.part(ATTACK)) if limit is None else None
    high = limit if limit is not None else LARGEST if nearest is None else nearest.distance
    low, limiting = 0.0, rivals[0] if nearest is None else nearest.rival
    best: dict[int, RegionProof] = {}
    trial = 0.98 * high if high < LARGEST else 1.0
    for _ in range(EVALUATIONS):
        region = at.region(trial)
        lost, lowest = at.within(trial, label, rivals, 0, starts=1)
        proofs: dict[int, RegionProof] = {}
        if lost is None:
            for steps, group in at.grouped(label, rivals):
                rows = lowest[[rivals.index(rival) for rival in group]]
                proofs |= prove_whole(steps, region, label, group, rows, deadline)
        if len(proofs) == len(rivals):
            low, best = trial, proofs
        else:
            high = trial
            limiting = lost.rival if lost is not None else next(r for r in rivals if r not in proofs)
        if high - low <= max(tolerance, TOLERANCE) * high or low >= LARGEST or deadline.passed:
            break
        trial = min(4 * low, high) if high >= LARGEST and low > 0 else (low + high) / 2 if low > 0 else high / 2
    seconds = perf_counter() - started
    exclusions = tuple(
        Exclusion(
            low, label, rival, best.get(rival), int(rival in best), int(rival not in best), _reason(best), seconds
        )
        for rival in rivals
    )
    return low, limiting, exclusions


def _reason(best: dict[int, RegionProof]) -> str:
    return "proved" if best else "no branching"
