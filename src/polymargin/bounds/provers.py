"""Proofs against one rival on whole balls, and the largest radius that they reach.

The best bound θ(r) falls with r from θ(0) = B(u). For shallow networks its root is bracketed and found by regula falsi
with Illinois' halving, for deep ones by Newton's method (`lifted/radius.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.exclusion import Exclusion
from polymargin.bounds.gradients import evaluate
from polymargin.bounds.leaves import bound_leaves
from polymargin.bounds.lifted.expansion import LiftedExpansion, can_lift, expansion_at
from polymargin.bounds.lifted.question import Question
from polymargin.bounds.lifted.radius import (
    HALVINGS,
    BallQuestion,
    largest_radius,
    prove_at,
    proved_at_once,
    proved_by_norms,
)
from polymargin.bounds.lifted.tree import LiftedProof
from polymargin.bounds.products.expansion import ProductExpansion, products_at
from polymargin.bounds.products.question import ProductProof, ProductQuestion
from polymargin.bounds.products.view import ProductView
from polymargin.bounds.tree import Leaf
from polymargin.bounds.view import View
from polymargin.bounds.views import AnyView
from polymargin.deadlines import Deadline

Array = NDArray[np.float64]

EVALUATIONS = 60
# A deep network's radius is not sought more accurately than this: every digit costs a semidefinite program.
DEEP_TOLERANCE = 2e-3
# Nor that of a shallow network in more dimensions than this.
LARGE = 48
LARGE_TOLERANCE = 1e-3
# Where the search for such a radius starts, relative to the nearest counterexample, and where programs are costly: there less
# of it is proved, and from far above the radius a search takes long.
FIRST_TRIAL = 0.975
FIRST_COSTLY_TRIAL = 0.7


class Prover(Protocol):
    """Proofs against one rival, on whole balls."""

    def quick(self, radius: float) -> Exclusion:
        """The radius, or a half, a quarter … of it."""
        ...

    def at(self, radius: float) -> Exclusion:
        """Try one radius; the answer is a sign."""
        ...

    def largest(self, tolerance: float, limit: float) -> Exclusion:
        """The largest radius up to the limit."""
        ...

    def largest_close_to(self, tolerance: float, limit: float) -> Exclusion:
        """The same where the limit itself is likely to be proved."""
        ...


def is_lifted(view: AnyView) -> bool:
    return isinstance(view, ProductView) or can_lift(view)


def provers(views: dict[int, AnyView], label: int, deadline: Deadline) -> dict[int, Prover]:
    """One for every rival; the network is expanded around the point once for all."""
    result: dict[int, Prover] = {}
    for rival, view in views.items():
        if isinstance(view, ProductView):
            result[rival] = LiftedProver(products_at(view), label, rival, deadline)
            continue
        if not can_lift(view):
            result[rival] = ParabolaProver(view, label, rival, None, deadline)
            continue
        deep = LiftedProver(expansion_at(view), label, rival, deadline)
        cheap = deep if view.factor.shape[1] > LARGE else None  # in few dimensions the best is as cheap
        result[rival] = deep if view.depth > 1 else ParabolaProver(view, label, rival, cheap, deadline)
    return result


@dataclass(frozen=True)
class LiftedProver:
    """By the lifted relaxation, of layers or of products."""

    expansion: LiftedExpansion | ProductExpansion
    label: int
    rival: int
    deadline: Deadline

    def at(self, radius: float) -> Exclusion:
        started = perf_counter()
        return self._exclusion(radius, prove_at(self._question(radius), self.deadline), started)

    def quick(self, radius: float) -> Exclusion:
        started, question = perf_counter(), self._question(radius)
        found, proof = proved_at_once(question, radius, deadline=self.deadline, cheaply=True)
        if proof is None:  # no time for more
            found, proof = proved_by_norms(question, radius)
        return self._exclusion(found, proof, started)

    def largest(self, tolerance: float, limit: float) -> Exclusion:
        share = FIRST_COSTLY_TRIAL if self._question(limit).costly else FIRST_TRIAL
        return self._largest(tolerance, limit, share * limit)

    def largest_close_to(self, tolerance: float, limit: float) -> Exclusion:
        question = self._question(limit)
        if question.costly and not question.by_guesses:  # what fails tells where to go on
            return self._largest(tolerance, limit, limit)
        found = self.at(limit)
        return found if found.proved else self._largest(tolerance, limit, FIRST_TRIAL * limit)

    def _largest(self, tolerance: float, limit: float, first: float) -> Exclusion:
        started = perf_counter()
        first = min(first, 2 * first_order(self.expansion.view, self.label, self.rival))
        tolerance = max(tolerance, DEEP_TOLERANCE)
        radius, proof = largest_radius(self._question(first), limit, tolerance, self.deadline)
        if proof is None:  # the gradient says little: norms tell where to begin
            radius, proof = proved_by_norms(self._question(first), first)
            if proof is not None and not self.deadline.passed:
                better = largest_radius(self._question(2 * radius), limit, tolerance, self.deadline)
                radius, proof = better if better[0] > radius else (radius, proof)
        return self._exclusion(radius, proof, started)

    def _question(self, radius: float) -> BallQuestion:
        if isinstance(self.expansion, ProductExpansion):
            return ProductQuestion(self.expansion, self.label, self.rival, radius)
        return Question(self.expansion, self.label, self.rival, radius)

    def _exclusion(self, radius: float, proof: LiftedProof | ProductProof | None, started: float) -> Exclusion:
        return _single(self.expansion.view, radius, self.label, self.rival, proof, perf_counter() - started)


@dataclass(frozen=True)
class ParabolaProver:
    """By the S-lemma with quadratics below every neuron, all chosen at once; `cheap` guesses them first."""

    view: View
    label: int
    rival: int
    cheap: LiftedProver | None
    deadline: Deadline

    def at(self, radius: float) -> Exclusion:
        if self.cheap is not None:
            guessed = self.cheap.at(radius)
            if guessed.proved or self.deadline.passed:
                return guessed
        return self._attempt(radius, decide=True)[1]

    def quick(self, radius: float) -> Exclusion:
        for k in range(HALVINGS + 1):
            found = self.at(radius / 2**k)
            if found.proved or self.deadline.passed:
                break
        if found.proved:
            return found
        if can_lift(self.view):
            return LiftedProver(expansion_at(self.view), self.label, self.rival, self.deadline).quick(radius)
        for k in range(HALVINGS + 1):  # when the time is up, lines and parabolas are not sought but flat
            found = self._attempt(radius / 4**k, decide=True)[1]
            if found.proved:
                return found
        return nothing(self.view, self.label, self.rival)

    def largest_close_to(self, tolerance: float, limit: float) -> Exclusion:
        found = self.at(limit)
        return found if found.proved else self.largest(tolerance, limit)

    def largest(self, tolerance: float, limit: float) -> Exclusion:
        """Bracket and shrink: `low` is proved, `high` is not."""
        view, label, rival = self.view, self.label, self.rival
        low, high = 0.0, math.inf
        at_low = float(view.boundary(label, rival, view.point))
        at_high = -math.inf
        best = self.quick(min(first_order(view, label, rival), limit) / 2) if self.deadline.exists else None
        best = best if best is not None and best.proved else nothing(view, label, rival)
        low = best.radius
        trial = min(first_order(view, label, rival), limit)
        if view.factor.shape[1] > LARGE:
            tolerance, trial = max(tolerance, LARGE_TOLERANCE), min(2 * trial, FIRST_TRIAL * limit)
        side = 0
        for _ in range(EVALUATIONS):
            value, exclusion = self._attempt(trial, decide=False, tolerance=tolerance)
            if value <= 0 and self.deadline.passed:
                break
            if value > 0:
                low, at_low, best = trial, value, exclusion
                at_high = at_high / 2 if side > 0 else at_high
                side = 1
            else:
                high, at_high = trial, value
                at_low = at_low / 2 if side < 0 else at_low
                side = -1
            closed = math.isfinite(high) and high - low <= tolerance * high
            if low >= limit or closed or self.deadline.passed:
                break
            if math.isinf(high):
                trial = min(2 * low, limit)
            elif math.isfinite(at_high):
                room = tolerance * high / 3
                trial = min(max((low * at_high - high * at_low) / (at_high - at_low), low + room), high - room)
            else:
                trial = (low + high) / 2
        return best

    def _attempt(self, radius: float, *, decide: bool, tolerance: float = 1e-6) -> tuple[float, Exclusion]:
        """The bound, a poor one where the time is up, and the proof if it is positive."""
        started, view = perf_counter(), self.view
        gamma, constant = view.difference(self.label, self.rival)
        one = np.array([radius])
        first, free = view.root_ranges(radius)[None], np.array([constant])
        options: dict[str, Any] = {"decide": decide, "tolerance": tolerance / 100, "deadline": self.deadline}
        found = bound_leaves(view, first, gamma[None], free, one, **options)
        value, leaf = float(found.values[0]), found.leaves[0]
        seconds = perf_counter() - started
        return value, _single(view, radius, self.label, self.rival, leaf if value > 0 else None, seconds)


def first_order(view: AnyView, label: int, rival: int) -> float:
    """B(u) / ‖∇B(u)‖."""
    values, slopes = evaluate(view, np.zeros((1, view.dimension)), label, np.array([rival]))
    return float(abs(values[0])) / max(float(np.linalg.norm(slopes[0])), 1e-300)


def nothing(view: AnyView, label: int, rival: int) -> Exclusion:
    return _single(view, 0.0, label, rival, None, 0.0)


def _single(
    view: AnyView,
    radius: float,
    label: int,
    rival: int,
    proof: Leaf | LiftedProof | ProductProof | None,
    seconds: float,
) -> Exclusion:
    done = proof is not None
    reason = "proved" if done else "no branching"
    return Exclusion(radius, label, rival, proof, int(done), int(not done), reason, seconds, lowering=view.lowering)
