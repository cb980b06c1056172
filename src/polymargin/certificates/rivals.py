"""Proofs against one rival: no tie with it at a distance below some radius.

In order of cost: a flat boundary in closed form; the S-lemma on the whole ball; all critical points, certified; branch and
bound. Each gives an entry for the list of rivals in a certificate.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.bounds import exclude, pair_lower_bound, quick_lower_bound
from polymargin.certificates.completeness import CompletenessProof, prove_completeness, structural_bound
from polymargin.certificates.session import Session
from polymargin.continuation.krawczyk import PRECISION
from polymargin.deadlines import TimeUpError
from polymargin.enumeration.limit import estimated_seconds
from polymargin.errors import TooManyPathsError
from polymargin.margins.proofs import RivalProof
from polymargin.polynomials.balls import above, ball, below, precision

# Certifying this many critical points takes a few seconds; beyond it branch and bound goes first.
MOST_CERTIFIED = 3_000
# Critical points of quadrics in more inputs than this are not listed: there is no need to.
LARGEST_LISTED_QUADRIC = 12


def prove_flat(session: Session, rival: int) -> RivalProof | None:
    """B(x) = B(u) + w·(x − u) for a network whose activations are all linear."""
    if session.network.degree > 1:
        return None
    logits = session.network.exact_logits(session.u)
    value = logits[session.label] - logits[rival]
    slope = []
    for axis in range(session.network.dimension):
        step = np.zeros(session.network.dimension)
        step[axis] = 1.0
        ahead, base = session.network.exact_logits(step), session.network.exact_logits(0 * step)
        slope.append((ahead[session.label] - ahead[rival]) - (base[session.label] - base[rival]))
    square = sum((entry * entry for entry in slope), value * 0)
    if square == 0:
        return RivalProof(rival, math.inf, {"kind": "hyperplane"})
    with precision(PRECISION):
        distance = ball(value).real / ball(square).real.sqrt()
        return RivalProof(rival, below(distance), {"kind": "hyperplane"}, above(distance))


def prove_by_ball(session: Session, rival: int, radius: float) -> RivalProof | None:
    """One relaxation of the whole ball, no branching."""
    return prove_by_branching(session, rival, radius, timeout=session.time_left, most_leaves=1)


def prove_at_once(session: Session, rival: int, radius: float, timeout: float = math.inf) -> RivalProof | None:
    """What costs next to nothing: the radius, or a half, a quarter … of it, and where there is no time for that by norms."""
    if not session.network.stages:
        return None
    limited = min(timeout, session.time_left)
    found = quick_lower_bound(session.network, session.u, session.label, rival, radius, timeout=limited)
    return RivalProof(rival, found.radius, found.to_proof()) if found.proved else None


def prove_smaller(session: Session, rival: int, radius: float, timeout: float) -> RivalProof | None:
    """The largest radius below this one that a relaxation of the whole ball proves."""
    found = pair_lower_bound(
        session.network, session.u, session.label, rival, tolerance=0.01, limit=radius, timeout=timeout
    )
    return RivalProof(rival, found.radius, found.to_proof()) if found.proved else None


def prove_by_branching(
    session: Session, rival: int, radius: float, *, timeout: float, most_leaves: int = 100_000
) -> RivalProof | None:
    """B > 0 on the closed ball by branch and bound over neuron ranges."""
    if not session.network.stages:
        return None
    limited = min(timeout, session.time_left)
    found = exclude(session.network, session.u, session.label, rival, radius, timeout=limited, most_leaves=most_leaves)
    return RivalProof(rival, radius, found.to_proof()) if found.proved else None


def prove_by_enumeration(session: Session, rival: int) -> tuple[RivalProof | None, NDArray[np.float64] | None, str]:
    """All critical points, certified. Also the nearest real one as found, proved or not, and a reason if there is no proof."""
    if session.network.degree == 2 and session.network.dimension > LARGEST_LISTED_QUADRIC:
        return (
            None,
            nearest_on_quadric(session, rival),
            "",
        )  # the S-lemma is exact for quadrics and does not list anything
    most = structural_bound(session.network)
    if most > session.options.limit:
        return None, None, f"against class {rival}: up to {_count(most)} critical points are too many to list"
    boundary = session.boundary(rival)
    if boundary.degree < 2:
        return None, None, f"against class {rival}: the boundary has lower degree than the architecture"
    if estimated_seconds(boundary, session.options.tracker) > session.time_left:
        return None, None, f"against class {rival}: no time for {boundary.critical_bound:,} critical points"
    try:
        found = session.critical_points(boundary)
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
    # Stage 1 is shared by both orders of a pair; a certificate speaks of f_label − f_rival, which may turn the sign of λ.
    oriented = Boundary.from_network(session.network, session.label, rival)
    if session.label > rival:
        found = replace(found, multipliers=-found.multipliers)
    proof = prove_completeness(session.network, oriented, session.u, found, session.options.processes)
    if proof is None:
        return None, nearest, f"against class {rival}: a critical point could not be certified"
    return from_completeness(rival, proof), nearest, ""


def nearest_on_quadric(session: Session, rival: int) -> NDArray[np.float64] | None:
    """The nearest tie for a network of degree two, at any size; None for other degrees or an empty boundary."""
    if session.quadrics is None:
        return None
    return session.quadrics.pair(session.label, rival).nearest(session.u).point


def from_completeness(rival: int, proof: CompletenessProof) -> RivalProof:
    return RivalProof(rival, proof.lower, proof.to_json(), proof.upper, proof.nearest)


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**12 else f"10^{len(str(value)) - 1}"
