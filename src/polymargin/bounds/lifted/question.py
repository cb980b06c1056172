"""A question about one rival on one ball, and the single relaxation of the whole ball that may answer it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.gradients import evaluate
from polymargin.bounds.lifted.combinations import Combinations
from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.first_multipliers import multipliers_by_norms
from polymargin.bounds.lifted.parts import LiftedOutcome, Part, bound_part
from polymargin.bounds.lifted.ranges import interval_ranges, rest_ranges, spectra
from polymargin.bounds.lifted.relaxation import LiftedRelaxation
from polymargin.bounds.lifted.spectra import spectra_are_known
from polymargin.bounds.lifted.top import top_terms
from polymargin.bounds.lifted.tree import LiftedLeaf, LiftedProof
from polymargin.deadlines import NEVER, Deadline
from polymargin.relaxation.algebra import NUMPY

Array = NDArray[np.float64]

# A functional counts as positive if it is proved to exceed this fraction of its value at the point, per variable.
ENOUGH = 1e-8
# What norms have to leave of the value at the point: nobody looks at the matrix before the checker does.
CLEAR = 0.01
# Hidden layers from which combinations pay: with two LoLa and CryptoNets take twice as long and prove the same radii.
DEEP = 3
# Directions of combinations, for every lifted layer.
# Where multipliers are guessed there are many neurons, and a range takes long.
DIRECTIONS, FEWER_DIRECTIONS = 16, 4
WORST_STEPS = 20
# Variables up to which the program is solved, on a CPU and on a GPU.
LARGEST_PROGRAM = 1500
LARGEST_ON_GPU = 6000


@dataclass(frozen=True, eq=False)
class Question:
    """Is f_label − f_rival positive on the ball of this radius?"""

    expansion: LiftedExpansion
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
    ) -> tuple[LiftedOutcome, LiftedProof | None]:
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
        relaxation = LiftedRelaxation(expansion, top, self.size, radius, rests, none)
        value, y = multipliers_by_norms(relaxation)
        if not value > CLEAR * abs(self.size):
            return None
        y[0] = value
        leaf = LiftedLeaf(relaxation.natural(relaxation.with_room(y)), None, top.minorants)
        return LiftedProof(rests, leaf)

    def relaxed_on(self, relaxation: LiftedRelaxation, radius: float) -> LiftedRelaxation:
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
