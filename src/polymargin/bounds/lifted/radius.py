"""The largest radius at which one lifted relaxation proves the functional positive.

The best bound γ(r) falls with r, and its slope comes with the solution: γ'(r) = ⟨X, ∂Z/∂r⟩ at the optimal multipliers and the
optimal dual matrix. So Newton's method finds its root in two or three solves; for a concave γ the root of a tangent is
never below that of γ, which tells when to stop.
"""

from __future__ import annotations

import math
from dataclasses import replace
from time import perf_counter

import numpy as np

from polymargin.bounds.lifted.parts import Outcome, Part, Question, bound_part
from polymargin.bounds.lifted.ranges import rest_ranges
from polymargin.bounds.lifted.spectra import spectra
from polymargin.bounds.lifted.tree import LiftedProof

SOLVES = 12
EVALUATIONS = 60
HALVINGS = 12
# How far to stay below the root of a tangent, as a part of the way to it.
CAUTION = 0.1
# Relative accuracy of the first bound, from which the radius is guessed; later ones only have to be positive.
ACCURACY = 1e-3


def prove_at(question: Question, deadline: float = math.inf) -> LiftedProof | None:
    """A proof on the whole ball, without cutting it."""
    part = Part(tuple(rest_ranges(question.expansion, question.radius)))
    leaf = bound_part(question, part, deadline=deadline).leaf
    return None if leaf is None else LiftedProof(part.rests, leaf, spectra(question.expansion))


def proved_at_once(question: Question, radius: float, halvings: int = HALVINGS) -> tuple[float, LiftedProof | None]:
    """The radius or a half, a quarter … of it, whichever the first guess of all multipliers proves; no program is solved."""
    for k in range(halvings + 1):
        here = replace(question, radius=radius / 2**k)
        part = Part(tuple(rest_ranges(question.expansion, here.radius)))
        leaf = bound_part(here, part, deadline=-math.inf).leaf
        if leaf is not None:
            return here.radius, LiftedProof(part.rests, leaf, spectra(question.expansion))
    return 0.0, None


def largest_radius(
    question: Question, limit: float, tolerance: float, deadline: float = math.inf
) -> tuple[float, LiftedProof | None]:
    """From the radius of the question on, up to `limit`; in time, or at once."""
    if math.isfinite(limit):
        low, proof = proved_at_once(question, limit, 0)
        if proof is not None:
            return low, proof
    if question.by_guesses:
        return _by_values(question, limit, tolerance, deadline)
    low, high, proof, trial = 0.0, limit, None, min(question.radius, limit)
    for attempt in range(SOLVES):
        here = replace(question, radius=trial)
        part = Part(tuple(rest_ranges(question.expansion, trial)))
        outcome = bound_part(here, part, tolerance=ACCURACY, decide=attempt > 0, deadline=deadline)
        reach = _tangent_root(here, outcome)
        if outcome.leaf is not None:
            low, proof = trial, LiftedProof(part.rests, outcome.leaf, spectra(question.expansion))
            high = max(min(high, reach), low)
        else:
            high = trial
        if high - low <= tolerance * high or perf_counter() > deadline:
            break
        aim = min(reach, high) - CAUTION * abs(trial - reach) - tolerance * trial / 3
        trial = aim if low < aim < high * (1 - tolerance / 10) else (low + high) / 2
        if math.isinf(trial):
            trial = 2 * low
    return (low, proof) if proof is not None else proved_at_once(question, min(question.radius, limit) / 2)


def _by_values(question: Question, limit: float, tolerance: float, deadline: float) -> tuple[float, LiftedProof | None]:
    """Regula falsi with Illinois' halving: `low` is proved, `high` is not."""
    low, high, at_low, at_high, side = 0.0, math.inf, question.size, -math.inf, 0
    proof, trial = None, min(question.radius, limit)
    for _ in range(EVALUATIONS):
        here = replace(question, radius=trial)
        part = Part(tuple(rest_ranges(question.expansion, trial)))
        outcome = bound_part(here, part, decide=False)
        if outcome.leaf is not None:
            low, at_low, proof = trial, outcome.value, LiftedProof(part.rests, outcome.leaf, spectra(here.expansion))
            at_high = at_high / 2 if side > 0 else at_high
            side = 1
        else:
            high, at_high = trial, min(outcome.value, 0.0)
            at_low = at_low / 2 if side < 0 else at_low
            side = -1
        closed = math.isfinite(high) and high - low <= tolerance * high
        if low >= limit or closed or perf_counter() > deadline:
            break
        if math.isinf(high):
            trial = min(2 * low, limit)
        elif math.isfinite(at_high) and at_low > at_high:
            room = tolerance * high / 3
            trial = min(max((low * at_high - high * at_low) / (at_high - at_low), low + room), high - room)
        else:
            trial = (low + high) / 2
    return low, proof


def _tangent_root(question: Question, outcome: Outcome) -> float:
    """Where the tangent of γ at this radius falls below zero; infinite if it does not."""
    if outcome.optimum is None or not np.isfinite(outcome.value):
        return math.inf
    step = 1e-6 * question.radius
    relaxation, X = outcome.relaxation, outcome.optimum.X
    ahead = replace(
        relaxation,
        radius=question.radius + step,
        ranges=tuple(rest_ranges(question.expansion, question.radius + step)),
    )
    change = ahead.program.matrix(outcome.optimum.y) - relaxation.program.matrix(outcome.optimum.y)
    slope = float(np.vdot(X, change)) / (step * float(X[0, 0]))
    value = outcome.value - question.enough
    return question.radius - value / slope if slope < 0 else math.inf
