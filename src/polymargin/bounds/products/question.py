"""Is f_label − f_rival of a network of products positive on a ball? One relaxation of the whole ball, and its proof."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.bound import hexadecimal
from polymargin.bounds.lifted.parts import clearly_positive
from polymargin.bounds.lifted.question import CLEAR, ENOUGH, worst_place
from polymargin.bounds.products.expansion import ProductExpansion
from polymargin.bounds.products.norms import norm_curvatures, norm_multipliers, norm_ranges
from polymargin.bounds.products.ranges import RestRanges, curvatures, rest_ranges
from polymargin.bounds.products.relaxation import ProductMultipliers, ProductRelaxation
from polymargin.deadlines import NEVER, Deadline
from polymargin.relaxation.interior_point import Optimum, maximise

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProductProof:
    """Eigenvalues of the second-order forms of the rests, their ranges on the ball, and multipliers that prove B > 0 there."""

    curvatures: Array
    ranges: Array
    multipliers: ProductMultipliers

    def to_proof(self) -> dict[str, Any]:
        found = self.multipliers
        return {
            "curvatures": hexadecimal(self.curvatures),
            "ranges": hexadecimal(self.ranges),
            "ball": found.ball.hex(),
            "equalities": hexadecimal(found.equalities),
            "intervals": hexadecimal(found.intervals),
            "cuts": hexadecimal(found.cuts),
        }


@dataclass(frozen=True, eq=False)
class ProductOutcome:
    """value: a lower bound of the functional; optimum: None where nothing was solved."""

    value: float
    relaxation: ProductRelaxation
    optimum: Optimum | None


@dataclass(frozen=True, eq=False)
class ProductQuestion:
    """As `lifted.question.Question`."""

    expansion: ProductExpansion
    label: int
    rival: int
    radius: float

    # The relaxation is small enough to be solved.
    by_guesses = False
    costly = False

    def on(self, radius: float) -> ProductQuestion:
        """The same on another ball."""
        return replace(self, radius=radius)

    @cached_property
    def size(self) -> float:
        return self.expansion.functional(self.label, self.rival)[0]

    @property
    def enough(self) -> float:
        """A bound above this leaves room for rounding."""
        return ENOUGH * self.expansion.variables * abs(self.size)

    def relaxation(self, deadline: Deadline = NEVER) -> ProductRelaxation:
        functional = self.expansion.functional(self.label, self.rival)
        ranges = rest_ranges(self.expansion, self.radius, deadline)
        view, rivals = self.expansion.view, np.array([self.rival])
        worst = worst_place(lambda place: view.evaluate(place, self.label, rivals), view.dimension, self.radius)
        return ProductRelaxation(self.expansion, functional, self.radius, ranges, worst)

    def attempt(
        self,
        deadline: Deadline = NEVER,
        *,
        cheaply: bool = False,
        tolerance: float = 1e-7,
        decide: bool = True,
        solve: bool = True,
    ) -> tuple[ProductOutcome, ProductProof | None]:
        """A bound, and the proof if it is positive; ranges cost next to nothing here, so `cheaply` changes nothing."""
        deadline.check()
        relaxation, enough = self.relaxation(deadline), self.enough
        deadline.check()
        y, value = relaxation.start(2 * enough if decide else math.inf, deadline)
        optimum = None
        if not solve or (decide and value > 2 * enough):
            y[0] = value - enough
        elif not deadline.passed and np.isfinite(value):
            limits = {"enough": enough, "hopeless": enough} if decide else {}
            size = relaxation.scale(value)
            optimum = maximise(relaxation.program.placed, y, size, tolerance=tolerance, deadline=deadline, **limits)
            y = y if optimum is None else optimum.y
        outcome = ProductOutcome(float(y[0]), relaxation, optimum)
        if not y[0] > enough:
            return outcome, None
        roomy = relaxation.with_room(y)
        if not clearly_positive(relaxation.program.matrix(roomy)):
            return outcome, None
        ranges: RestRanges = relaxation.ranges
        return outcome, ProductProof(curvatures(self.expansion), ranges.limits, relaxation.natural(roomy))

    def by_norms(self) -> ProductProof | None:
        """A proof from norms alone, in milliseconds."""
        expansion = self.expansion
        found = norm_curvatures(expansion)
        ranges = norm_ranges(expansion, found, self.radius)
        functional = expansion.functional(self.label, self.rival)
        value, multipliers = norm_multipliers(expansion, functional, self.radius, ranges)
        return ProductProof(found, ranges.limits, multipliers) if value > CLEAR * abs(self.size) else None

    def relaxed_on(self, relaxation: ProductRelaxation, radius: float) -> ProductRelaxation:
        """The same relaxation on another ball."""
        return replace(relaxation, radius=radius, ranges=rest_ranges(self.expansion, radius))

    def minimiser(self, outcome: ProductOutcome) -> Array | None:
        """η at which the relaxation attains its least value, if the dual matrix has rank one; a mean otherwise."""
        if outcome.optimum is None:
            return None
        X, m = outcome.optimum.X, self.expansion.dimension
        return np.asarray(np.nan_to_num(self.radius * X[1 : 1 + m, 0] / X[0, 0]))
