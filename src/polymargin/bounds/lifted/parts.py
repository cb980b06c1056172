"""One part of the ball: its ranges, the relaxation on it, and what solving it gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.gradients import evaluate
from polymargin.bounds.lifted.algebra import NUMPY
from polymargin.bounds.lifted.best_ball import FEW
from polymargin.bounds.lifted.combinations import Combinations
from polymargin.bounds.lifted.cubic_cut import CubicCut
from polymargin.bounds.lifted.cuts import cubic_cut, cut_weights, violated_cut
from polymargin.bounds.lifted.expansion import Expansion
from polymargin.bounds.lifted.first_multipliers import first_multipliers, multipliers_by_norms
from polymargin.bounds.lifted.interior_point import Optimum, maximise
from polymargin.bounds.lifted.ranges import interval_ranges, narrowed, rest_ranges, spectra
from polymargin.bounds.lifted.relaxation import Relaxation
from polymargin.bounds.lifted.spectra import spectra_are_known
from polymargin.bounds.lifted.top import top_terms
from polymargin.bounds.lifted.tree import LiftedLeaf, LiftedProof
from polymargin.deadlines import NEVER, Deadline

Array = NDArray[np.float64]

# A functional counts as positive if it is proved to exceed this fraction of its value at the point, per variable.
ENOUGH = 1e-8
# Times the number of variables: the least eigenvalue that a scaled matrix must exceed.
CLEARLY = 1e-12
# Cuts that are added one by one, for programs up to so many variables and bounds that miss so little of the value at the point.
CUTS, LARGEST_WITH_CUTS, NEARLY = 4, 400, 0.05
# What norms have to leave of the value at the point: nobody looks at the matrix before the checker does.
CLEAR = 0.01
# Hidden layers from which combinations pay: with two LoLa and CryptoNets take twice as long and prove the same radii.
DEEP = 3
# Directions of combinations, for every lifted layer.
# Where multipliers are guessed there are many neurons, and a range takes long.
DIRECTIONS, FEWER_DIRECTIONS = 16, 4
WORST_STEPS = 20
ROUNDS = 10
# Variables up to which the program is solved, on a CPU and on a GPU.
LARGEST_PROGRAM = 1500
LARGEST_ON_GPU = 6000


@dataclass(frozen=True, eq=False)
class Question:
    """Is f_label − f_rival positive on the ball of this radius?"""

    expansion: Expansion
    label: int
    rival: int
    radius: float

    @cached_property
    def output(self) -> tuple[Array, float]:
        """γ and the constant with f_label − f_rival = γ·a^L + constant."""
        return self.expansion.view.difference(self.label, self.rival)

    @cached_property
    def size(self) -> float:
        """The functional at the point itself."""
        return float(self.expansion.view.boundary(self.label, self.rival, self.expansion.view.point))

    @property
    def enough(self) -> float:
        """A bound above this leaves room for rounding."""
        return ENOUGH * self.expansion.variables * abs(self.size)

    @property
    def costly(self) -> bool:
        """Whether a solution costs as much as dozens of guesses."""
        return self.expansion.variables > LARGEST_PROGRAM

    @property
    def by_guesses(self) -> bool:
        """Whether the first guesses of the multipliers have to do: few are missing, or too many to solve for."""
        largest = LARGEST_PROGRAM if self.expansion.algebra is NUMPY else LARGEST_ON_GPU
        return len(self.expansion.layers) == 1 or self.expansion.variables > largest

    def on(self, radius: float) -> Question:
        """The same on another ball."""
        return replace(self, radius=radius)

    def attempt(
        self,
        deadline: Deadline = NEVER,
        *,
        cheaply: bool = False,
        tolerance: float = 1e-7,
        decide: bool = True,
        solve: bool = True,
    ) -> tuple[Outcome, LiftedProof | None]:
        """The whole ball in one part, and the proof if it is one; `cheaply` by intervals if no better ranges are known."""
        deadline.check()
        plain = cheaply and not spectra_are_known(self.expansion)
        asked = self if cheaply else self.combined(deadline)
        expansion, radius = asked.expansion, asked.radius
        part = Part(tuple(interval_ranges(expansion, radius) if plain else rest_ranges(expansion, radius, deadline)))
        outcome = bound_part(asked, part, tolerance=tolerance, decide=decide, solve=solve, deadline=deadline)
        if outcome.leaf is None:
            return outcome, None
        known = None if plain else spectra(expansion, radius, deadline)
        return outcome, LiftedProof(part.rests, outcome.leaf, known, expansion.combinations)

    def combined(self, deadline: Deadline) -> Question:
        """The same with combinations of the last layer's rests where they pay, chosen once for all radii."""
        expansion, name = self.expansion, (Combinations, self.label, self.rival)
        depth = len(expansion.layers)
        if depth < DEEP or len(expansion.view.activation(depth)) > 3:
            return self
        if name not in expansion.known:
            last, layer = rest_ranges(expansion, self.radius, deadline)[-1], expansion.layers[-1]
            halves = (last[:, 1] - last[:, 0]) / 2
            most = (FEWER_DIRECTIONS if self.by_guesses else DIRECTIONS) * (depth - 1)
            found = Combinations.of(layer.slopes, layer.bend * self.output[0], halves, most)
            expansion.known[name] = expansion if found is None else expansion.combined(found)
        return replace(self, expansion=expansion.known[name])

    def by_norms(self) -> LiftedProof | None:
        """A proof from interval ranges and norms alone, in milliseconds; no matrix over δ is made."""
        expansion, radius = self.expansion, self.radius
        rests = tuple(interval_ranges(expansion, radius))
        width = len(expansion.layers[-1].value)
        last = rests[-1] if rests else np.zeros((width, 2))
        top = top_terms(expansion, *self.output, radius, last, np.zeros(width))
        none = np.zeros((0, len(rests[0]) if rests else 0))
        relaxation = Relaxation(expansion, top, self.size, radius, rests, none)
        value, y = multipliers_by_norms(relaxation)
        if not value > CLEAR * abs(self.size):
            return None
        y[0] = value
        leaf = LiftedLeaf(relaxation.natural(relaxation.with_room(y)), None, top.minorants)
        return LiftedProof(rests, leaf)

    def relaxed_on(self, relaxation: Relaxation, radius: float) -> Relaxation:
        """The same relaxation on another ball."""
        return replace(relaxation, radius=radius, ranges=tuple(rest_ranges(relaxation.expansion, radius)))

    @cached_property
    def worst(self) -> Array:
        """δ where the functional is small."""
        view, rivals = self.expansion.view, np.array([self.rival])
        return worst_place(
            lambda place: evaluate(view, place, self.label, rivals), self.expansion.dimension, self.radius
        )

    @cached_property
    def worst_last(self) -> Array:
        """t of the last layer there."""
        return self.expansion.rests(self.worst)[-1][0]


def worst_place(evaluate: Callable[[Array], tuple[Array, Array]], dimension: int, radius: float) -> Array:
    """Where a functional is small on the sphere: damped steps to where its gradient points."""
    best, place = (np.inf, np.zeros(dimension)), np.zeros(dimension)
    for step in range(WORST_STEPS):
        values, slopes = evaluate(place[None])
        if step and values[0] < best[0]:
            best = (float(values[0]), place)
        aim = -radius * slopes[0] / max(float(np.linalg.norm(slopes[0])), 1e-300)
        place = aim if step < WORST_STEPS // 3 else (place + aim) / 2
        place = radius * place / max(float(np.linalg.norm(place)), 1e-300)
    return best[1]


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
class Outcome:
    """value: a lower bound of the functional; leaf: the proof where it is positive; optimum: None where nothing was solved."""

    value: float
    leaf: LiftedLeaf | None
    relaxation: Relaxation
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
) -> Outcome:
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
    return Outcome(float(y[0]), leaf, relaxation, optimum)


def _solved(relaxation: Relaxation, y: Array, value: float, limits: dict[str, Any]) -> Optimum | None:
    """From a start and the bound it proves."""
    return maximise(relaxation.program.placed, y, relaxation.scale(value), **limits)


def _with_cuts(
    relaxation: Relaxation,
    optimum: Optimum,
    question: Question,
    limits: dict[str, Any],
) -> tuple[Relaxation, Optimum]:
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
) -> tuple[Relaxation, Array, float]:
    """The relaxation with the best parabolas below the last layer, and its start.

    Parabolas touch at the worst input first. Then the relaxation's own minimiser answers, and they touch at the average of all
    answers: both sides of a game that has a value, and ten rounds come within a hundredth of it.
    """
    expansion = question.expansion
    last = rests[-1] if rests else np.zeros((len(expansion.layers[0].value), 2))
    touch = question.worst_last
    best: tuple[Relaxation, Array, float] | None = None
    for number in range(ROUNDS):
        top = top_terms(expansion, *question.output, question.radius, last, touch)
        cuts = cut_weights(expansion, top, rests)
        cubic = None
        if expansion.combinations is not None and not question.by_guesses:
            cubic = cubic_cut(expansion, top, rests, question.worst)
        relaxation = Relaxation(
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
