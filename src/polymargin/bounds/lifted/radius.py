"""The largest radius at which one lifted relaxation proves the functional positive.

The best bound γ(r) falls with r, and its slope comes with the solution: γ'(r) = ⟨X, ∂Z/∂r⟩ at the optimal multipliers and the
optimal dual matrix. So Newton's method finds its root in two or three solves; for a concave γ the root of a tangent is
never below that of γ, which tells when to stop.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, Self

import numpy as np

from polymargin.deadlines import NEVER, Deadline, TimeUpError

SOLVES = 12
EVALUATIONS = 60
HALVINGS = 12
TRIALS = 40
# Where solutions are costly: how well the radius is found, and the relative accuracy of the first bound.
COSTLY = 0.01
ROUGH = 0.1
# And of what a solution that is not taken to its end leaves open, the share by which its bound is likely to rise.
LAG = 0.25
# How far to stay below the root of a tangent, as a part of the way to it. A costly attempt should not be in vain: on the way out
# tangents lead too far by a tenth to a fifth, and by nothing on the short way back from a radius that was too large.
CAUTION = 0.1
COSTLY_CAUTION, ON_THE_WAY_BACK = 0.2, 0.05
# Relative accuracy of the first bound, from which the radius is guessed; later ones only have to be positive.
ACCURACY = 1e-3


class BallQuestion(Protocol):
    """Is a functional positive on the ball of this radius? One relaxation answers, or several guesses of its multipliers."""

    @property
    def radius(self) -> float: ...
    @property
    def size(self) -> float: ...
    @property
    def enough(self) -> float: ...
    @property
    def by_guesses(self) -> bool: ...
    @property
    def costly(self) -> bool: ...
    def on(self, radius: float) -> Self: ...
    def attempt(
        self,
        deadline: Deadline = NEVER,
        *,
        cheaply: bool = False,
        tolerance: float = 1e-7,
        decide: bool = True,
        solve: bool = True,
    ) -> tuple[Any, Any]: ...
    def by_norms(self) -> Any: ...
    def relaxed_on(self, relaxation: Any, radius: float) -> Any: ...


def prove_at(question: BallQuestion, deadline: Deadline = NEVER) -> Any:
    """A proof on the whole ball, without cutting it."""
    try:
        return question.attempt(deadline)[1]
    except TimeUpError:
        return None


def proved_at_once(
    question: BallQuestion,
    radius: float,
    halvings: int = HALVINGS,
    deadline: Deadline = NEVER,
    *,
    cheaply: bool = False,
) -> tuple[float, Any]:
    """The radius or a half, a quarter … of it, whichever the first guess of all multipliers proves; no program is solved.

    `cheaply` with ranges from intervals, unless better ones are known already. A guess that would end too late, judged by the
    longest one so far, is not begun.
    """
    started, longest = deadline.clock(), 0.0
    for k in range(halvings + 1):
        if longest > deadline.left:
            break
        here = question.on(radius / 2**k)
        try:
            _, proof = here.attempt(deadline, cheaply=cheaply, solve=False)
        except TimeUpError:
            break
        if proof is not None:
            return here.radius, proof
        ended = deadline.clock()
        started, longest = ended, max(longest, ended - started)
    return 0.0, None


def proved_by_norms(question: BallQuestion, radius: float) -> tuple[float, Any]:
    """At the radius or less, within an eighth of what norms prove, in milliseconds; zero where they prove nothing."""
    low, high, proof = 0.0, math.inf, None
    for _ in range(TRIALS):
        found = question.on(radius).by_norms()
        low, high, proof = (low, radius, proof) if found is None else (radius, high, found)
        if math.isinf(high) or (proof is not None and high - low <= high / 8):
            break
        radius = high / 4 if proof is None else (low + high) / 2
    return low, proof


def largest_radius(
    question: BallQuestion, limit: float, tolerance: float, deadline: Deadline = NEVER
) -> tuple[float, Any]:
    """From the radius of the question on, up to `limit`; in time, or the best until then. At the limit a sign is enough."""
    costly = question.costly and not question.by_guesses
    low, proof = 0.0, None
    if math.isfinite(limit) and not costly:
        low, proof = proved_at_once(question, limit, 0, deadline)
    if proof is not None:
        return low, proof
    trial = min(question.radius, limit)
    if deadline.exists:  # something to return should the first program not end in time
        low, proof = proved_at_once(question, trial / 2, deadline=deadline, cheaply=True)
    if question.by_guesses:
        low, proof = _by_values(question, limit, tolerance, deadline, low, proof)
    else:
        low, proof = _by_tangents(question, limit, max(tolerance, COSTLY * costly), deadline, low, proof)
    return (low, proof) if proof is not None else proved_at_once(question, trial / 2, deadline=deadline)


def _by_tangents(
    question: BallQuestion, limit: float, tolerance: float, deadline: Deadline, low: float, proof: Any
) -> tuple[float, Any]:
    """Newton's method on γ(r) = 0: `low` is proved, `high` is not."""
    high, trial = limit, min(question.radius, limit)
    for attempt in range(SOLVES):
        here = question.on(trial)
        try:
            accuracy = ROUGH if question.costly and attempt == 0 else max(ACCURACY, tolerance / 2)
            outcome, found = here.attempt(deadline, tolerance=accuracy, decide=attempt > 0 or trial == limit)
        except TimeUpError:
            break
        if found is not None:
            low, proof = trial, found
        else:
            high = trial
        if high - low <= tolerance * high or deadline.passed:
            break
        reach, caution = _tangent_root(here, outcome), CAUTION
        if found is not None:
            high = max(min(high, reach), low)
        if high - low <= tolerance * high:
            break
        if question.costly:
            caution = ON_THE_WAY_BACK if found is None else COSTLY_CAUTION
        aim = min(reach, high) - caution * abs(trial - reach) - tolerance * trial / 3
        trial = aim if low < aim < high * (1 - tolerance / 10) else (low + high) / 2
        if math.isinf(trial):
            trial = 2 * low
    return low, proof


def _by_values(
    question: BallQuestion, limit: float, tolerance: float, deadline: Deadline, low: float, proof: Any
) -> tuple[float, Any]:
    """Regula falsi with Illinois' halving, by guesses alone: `low` is proved, `high` is not."""
    high, at_low, at_high, side = math.inf, question.size, -math.inf, 0
    trial = min(question.radius, limit)
    for _ in range(EVALUATIONS):
        here = question.on(trial)
        try:
            outcome, found = here.attempt(deadline, decide=False, solve=False)
        except TimeUpError:
            break
        if found is not None:
            low, at_low, proof = trial, outcome.value, found
            at_high = at_high / 2 if side > 0 else at_high
            side = 1
        else:
            high, at_high = trial, min(outcome.value, 0.0)
            at_low = at_low / 2 if side < 0 else at_low
            side = -1
        closed = math.isfinite(high) and high - low <= tolerance * high
        if low >= limit or closed or deadline.passed:
            break
        if math.isinf(high):
            trial = min(2 * low, limit)
        elif math.isfinite(at_high) and at_low > at_high:
            room = tolerance * high / 3
            trial = min(max((low * at_high - high * at_low) / (at_high - at_low), low + room), high - room)
        else:
            trial = (low + high) / 2
    return low, proof


def _tangent_root(question: BallQuestion, outcome: Any) -> float:
    """Where the tangent of γ at this radius falls below zero; infinite if it does not.

    A costly solution ends as soon as it decides, far below γ as a rule: γ is taken to be where such solutions come to.
    """
    optimum = outcome.optimum
    if optimum is None or not np.isfinite(outcome.value):
        return math.inf
    rise = LAG * optimum.gap if question.costly and np.isfinite(optimum.gap) else 0.0
    step = 1e-6 * question.radius
    relaxation, X = outcome.relaxation, optimum.X
    ahead = question.relaxed_on(relaxation, question.radius + step)
    programs = ahead.program.placed, relaxation.program.placed
    after, before = (program.lagrangian(optimum.y, program.algebra.put(X)) for program in programs)
    slope = (after - before) / (step * float(X[0, 0]))
    value = outcome.value + rise - question.enough
    return question.radius - value / slope if slope < 0 else math.inf
