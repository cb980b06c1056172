"""Proofs against one rival: no tie with it at a distance below some radius.

In closed form for a flat boundary, or from all critical points, each of them certified. Each gives an entry for the list of
rivals in a certificate; engines for everything else are in `provers`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.continuation.krawczyk import PRECISION
from polymargin.deadlines import TimeUpError
from polymargin.enumeration.limit import estimated_seconds
from polymargin.errors import TooManyPathsError
from polymargin.margins.case import Case
from polymargin.margins.completeness import CompletenessProof, prove_completeness, structural_bound
from polymargin.margins.proofs import RivalProof
from polymargin.polynomials.balls import above, ball, below, precision

# Certifying this many critical points takes a few seconds; beyond it branch and bound goes first.
MOST_CERTIFIED = 3_000
# Critical points of quadrics in more inputs than this are not listed: there is no need to.
LARGEST_LISTED_QUADRIC = 12


def prove_flat(case: Case, rival: int) -> RivalProof | None:
    """Prove a bound from B(x) = B(u) + w·(x − u) for a network whose activations are all linear."""
    if case.network.degree > 1:
        return None
    logits = case.network.exact_logits(case.u)
    value = logits[case.label] - logits[rival]
    slope = []
    for axis in range(case.network.dimension):
        step = np.zeros(case.network.dimension)
        step[axis] = 1.0
        ahead, base = case.network.exact_logits(step), case.network.exact_logits(0 * step)
        slope.append((ahead[case.label] - ahead[rival]) - (base[case.label] - base[rival]))
    square = sum((entry * entry for entry in slope), value * 0)
    if square == 0:
        return RivalProof(rival, math.inf, {"kind": "hyperplane"})
    with precision(PRECISION):
        distance = ball(value).real / ball(square).real.sqrt()
        return RivalProof(rival, below(distance), {"kind": "hyperplane"}, above(distance))


def prove_by_enumeration(case: Case, rival: int) -> tuple[RivalProof | None, NDArray[np.float64] | None, str]:
    """Return all critical points, certified, the nearest real one, proved or not, and a reason if there is no proof."""
    if case.network.degree == 2 and case.network.dimension > LARGEST_LISTED_QUADRIC:
        return (
            None,
            nearest_on_quadric(case, rival),
            "",
        )  # the S-lemma is exact for quadrics and does not list anything
    most = structural_bound(case.network)
    if most > case.prepared.search.limit:
        return None, None, f"against class {rival}: up to {_count(most)} critical points are too many to list"
    if case.deadline.passed:
        return None, None, f"against class {rival}: no time for {_count(most)} critical points"
    boundary = case.boundary(rival)
    if boundary.degree < 2:
        return None, None, f"against class {rival}: the boundary has lower degree than the architecture"
    if estimated_seconds(boundary, case.prepared.search.tracker) > case.deadline.left:
        return None, None, f"against class {rival}: no time for {boundary.critical_bound:,} critical points"
    try:
        found = case.critical_points(rival)
    except TooManyPathsError as error:
        return None, None, str(error)
    except TimeUpError:
        return None, None, f"against class {rival}: no time for {boundary.critical_bound:,} critical points"
    nearest = found.points[0].real.copy() if len(found) and found.real[0] else None
    if len(found) != most:
        reason = (
            f"against class {rival}: {len(found)} critical points were found; to prove that a list is complete, it must have "
            f"{most}, the most that the architecture allows"
        )
        return None, nearest, reason
    if len(found) > MOST_CERTIFIED:
        return None, nearest, f"against class {rival}: {len(found)} critical points are too many to certify one by one"
    # Base solutions are shared by both orders of a pair; a certificate speaks of f_label − f_rival, which may turn the sign of λ.
    oriented = Boundary.from_network(case.network, case.label, rival)
    if case.label > rival:
        found = replace(found, multipliers=-found.multipliers)
    proof = prove_completeness(case.network, oriented, case.u, found, case.prepared.search.tracker.workers)
    if proof is None:
        return None, nearest, f"against class {rival}: a critical point could not be certified"
    return from_completeness(rival, proof), nearest, ""


def nearest_on_quadric(case: Case, rival: int) -> NDArray[np.float64] | None:
    """Return the nearest tie for a network of degree two, at any size; None for other degrees or an empty boundary."""
    if case.prepared.quadrics is None:
        return None
    return case.prepared.quadrics.pair(case.label, rival).nearest(case.u).point


def from_completeness(rival: int, proof: CompletenessProof) -> RivalProof:
    """Return the proof of a rival from a completeness proof."""
    return RivalProof(rival, proof.lower, proof.to_json(), proof.upper, proof.nearest)


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**12 else f"10^{len(str(value)) - 1}"
