"""One part of the ball: its ranges, the relaxation on it, and what solving it gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.lifted.expansion import Expansion
from polymargin.bounds.lifted.interior_point import Optimum, maximise
from polymargin.bounds.lifted.ranges import narrowed
from polymargin.bounds.lifted.relaxation import Relaxation, cut_weights
from polymargin.bounds.lifted.tree import LiftedLeaf

Array = NDArray[np.float64]

# A functional counts as positive if it is proved to exceed this fraction of its value at the point.
ENOUGH = 1e-5
# Times the number of variables: the least eigenvalue that a scaled matrix must exceed.
CLEARLY = 1e-12


@dataclass(frozen=True, eq=False)
class Question:
    """Is γ·a^L + constant positive on the ball of this radius?"""

    expansion: Expansion
    gamma: Array
    constant: float
    radius: float


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
    tolerance: float = 1e-4,
    decide: bool = True,
    deadline: float = math.inf,
) -> Outcome:
    """Bound the functional on a part; with `decide` only as far as its sign."""
    rests = part.rests
    if part.first:
        rests = narrowed(question.expansion, question.radius, rests, part.first)
    cuts = cut_weights(question.expansion, question.gamma, rests)
    relaxation = Relaxation(
        question.expansion, question.gamma, question.constant, question.radius, rests, cuts, part.first
    )
    scale = abs(relaxation.centre_value)
    enough = ENOUGH * scale
    y, value = relaxation.start()
    optimum = None
    if decide and value > 2 * enough:
        y[0] = value - enough
    elif perf_counter() < deadline and np.isfinite(value):
        limits = {"enough": enough, "hopeless": enough} if decide else {}
        size = relaxation.scale(value)
        optimum = maximise(relaxation.program, y, size, tolerance=tolerance, deadline=deadline, **limits)
        y = y if optimum is None else optimum.y
    leaf = None
    if y[0] > enough:
        roomy = relaxation.with_room(y)
        if _clearly_positive(relaxation.program.matrix(roomy)):
            leaf = LiftedLeaf(relaxation.natural(roomy), rests if part.first else None)
    return Outcome(float(y[0]), leaf, relaxation, optimum)


def _clearly_positive(matrix: Array) -> bool:
    """Positive definite by more than all rounding, here and in the checker, could change."""
    scale = 1 / np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    scaled = matrix * scale[:, None] * scale
    scaled[np.arange(len(scaled)), np.arange(len(scaled))] -= CLEARLY * len(scaled)
    return bool(linalg.lapack.dpotrf(scaled, lower=1)[1] == 0)
