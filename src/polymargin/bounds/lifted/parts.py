"""One part of the ball: its ranges, the relaxation on it, and what solving it gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.lifted.best_ball import FEW
from polymargin.bounds.lifted.cubic_cut import CubicCut
from polymargin.bounds.lifted.cuts import cubic_cut, cut_weights, violated_cut
from polymargin.bounds.lifted.first_multipliers import first_multipliers
from polymargin.bounds.lifted.ranges import narrowed
from polymargin.bounds.lifted.relaxation import LiftedRelaxation
from polymargin.bounds.lifted.top import top_terms
from polymargin.bounds.lifted.tree import LiftedLeaf
from polymargin.deadlines import NEVER, Deadline
from polymargin.relaxation.interior_point import Optimum, maximise

if TYPE_CHECKING:
    from polymargin.bounds.lifted.question import Question

Array = NDArray[np.float64]

# Times the number of variables: the least eigenvalue that a scaled matrix must exceed.
CLEARLY = 1e-12
# Cuts that are added one by one, for programs up to so many variables and bounds that miss so little of the value at the point.
CUTS, LARGEST_WITH_CUTS, NEARLY = 4, 400, 0.05
ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Part:
    """Ranges of the rests per lifted layer, and of the first-layer neurons that were cut."""

    rests: tuple[Array, ...]
    first: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def cut(self, layer: int, neuron: int, value: float) -> tuple[Part, Part]:
        """The parts below and above the value."""
        if layer == 1:
            low, high = self.first[neuron]
            below, above = ({**self.first, neuron: ends} for ends in ((low, value), (value, high)))
            return replace(self, first=below), replace(self, first=above)
        lower, upper = self.rests[layer - 2].copy(), self.rests[layer - 2].copy()
        lower[neuron, 1] = upper[neuron, 0] = value
        place = layer - 2
        return (
            replace(self, rests=(*self.rests[:place], lower, *self.rests[place + 1 :])),
            replace(self, rests=(*self.rests[:place], upper, *self.rests[place + 1 :])),
        )


@dataclass(frozen=True, eq=False)
class LiftedOutcome:
    """value: a lower bound of the functional; leaf: the proof where it is positive; optimum: None where nothing was solved."""

    value: float
    leaf: LiftedLeaf | None
    relaxation: LiftedRelaxation
    optimum: Optimum | None


def bound_part(
    question: Question,
    part: Part,
    *,
    tolerance: float = 1e-7,
    decide: bool = True,
    solve: bool = True,
    whole: bool = True,
    deadline: Deadline = NEVER,
) -> LiftedOutcome:
    """Bound the functional on a part; with `decide` only as far as its sign, without `solve` by guessed multipliers alone.

    Cuts are added for a `whole` ball; where it is split already, the next split costs less and gives more.
    """
    expansion, rests = question.expansion, part.rests
    if part.first:
        rests = narrowed(expansion, question.radius, rests, part.first)
    enough = question.enough
    large = question.by_guesses
    relaxation, y, value = _best_start(question, rests, part.first, 2 * enough if decide else math.inf, deadline)
    optimum = None
    if large or not solve or (decide and value > 2 * enough):
        y[0] = value - enough
    elif not deadline.passed and np.isfinite(value):
        limits: dict[str, Any] = {"enough": enough, "hopeless": enough} if decide else {}
        limits |= {"tolerance": tolerance, "deadline": deadline}
        optimum = _solved(relaxation, y, value, limits)
        if whole and optimum is not None and expansion.variables <= LARGEST_WITH_CUTS:
            relaxation, optimum = _with_cuts(relaxation, optimum, question, limits)
        y = y if optimum is None else optimum.y
    if optimum is not None and relaxation.cubic is not None:
        expansion.known[CubicCut] = relaxation.second_squares(optimum.y)
    leaf = None
    if y[0] > enough:
        roomy = relaxation.with_room(y)
        if clearly_positive(relaxation.reduced(roomy)):
            leaf = LiftedLeaf(relaxation.natural(roomy), rests if part.first else None, relaxation.top.minorants)
    return LiftedOutcome(float(y[0]), leaf, relaxation, optimum)


def _solved(relaxation: LiftedRelaxation, y: Array, value: float, limits: dict[str, Any]) -> Optimum | None:
    """From a start and the bound it proves."""
    return maximise(relaxation.program.placed, y, relaxation.scale(value), **limits)


def _with_cuts(
    relaxation: LiftedRelaxation,
    optimum: Optimum,
    question: Question,
    limits: dict[str, Any],
) -> tuple[LiftedRelaxation, Optimum]:
    """Where a bound is not positive, but nearly so: again with the cuts that the moments of the worst inputs break."""
    for _ in range(CUTS):
        hopeful = optimum.y[0] + optimum.gap > -NEARLY * abs(question.size)
        if optimum.y[0] > question.enough or not hopeful or limits["deadline"].passed:
            break
        extra = violated_cut(relaxation, optimum.X)
        if extra is None:
            break
        more = replace(relaxation, cuts=np.vstack([relaxation.cuts, extra]))
        found = _solved(more, *first_multipliers(more, math.inf, limits["deadline"]), limits)
        if found is None or found.y[0] <= optimum.y[0]:
            break
        relaxation, optimum = more, found
    return relaxation, optimum


def _best_start(
    question: Question,
    rests: tuple[Array, ...],
    first: Mapping[int, tuple[float, float]],
    enough: float,
    deadline: Deadline,
) -> tuple[LiftedRelaxation, Array, float]:
    """The relaxation with the best parabolas below the last layer, and its start.

    Parabolas touch at the worst input first. Then the relaxation's own minimiser answers, and they touch at the average of all
    answers: both sides of a game that has a value, and ten rounds come within a hundredth of it.
    """
    expansion = question.expansion
    last = rests[-1] if rests else np.zeros((len(expansion.layers[0].value), 2))
    touch = question.worst_last
    best: tuple[LiftedRelaxation, Array, float] | None = None
    for number in range(ROUNDS):
        top = top_terms(expansion, *question.output, question.radius, last, touch)
        cuts = cut_weights(expansion, top, rests)
        cubic = None
        if expansion.combinations is not None and not question.by_guesses:
            cubic = cubic_cut(expansion, top, rests, question.worst)
        relaxation = LiftedRelaxation(
            expansion, top, question.size, question.radius, rests, cuts, first, question.worst, cubic
        )
        y, value = first_multipliers(relaxation, enough, deadline)
        if best is None or value > best[2]:
            best = (relaxation, y, value)
        if (
            top.minorants is None
            or value > enough
            or expansion.dimension > FEW
            or not np.isfinite(value)
            or deadline.passed
        ):
            break
        answer = expansion.rests(relaxation.minimiser(y))[-1][0]
        touch = touch + (answer - touch) / (number + 2)
    assert best is not None
    return best


def clearly_positive(matrix: Array) -> bool:
    """Positive definite by more than all rounding, here and in the checker, could change."""
    diagonal = np.diagonal(matrix)
    if not diagonal.min(initial=np.inf) > 0:
        return False
    scale = 1 / np.sqrt(diagonal)
    scaled = matrix * scale[:, None] * scale
    scaled[np.arange(len(scaled)), np.arange(len(scaled))] -= CLEARLY * len(scaled)
    return bool(linalg.lapack.dpotrf(scaled, lower=1)[1] == 0)
