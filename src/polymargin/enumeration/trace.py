"""The reciprocal trace test: are these all the critical points?

Fix a generic point u and let the level ε of {B = ε} vary. The critical points are the branches of one irreducible curve
over the ε-line, and if S holds all of them, then

    T(ε) = Σ_S 1/λ_i(ε) − |∇B(u)|² / (B(u) − ε)

does not depend on ε. If S lacks any, T does depend on ε (docs/theorems, with proof). So the test is: follow S to a few other
levels and compare T. No further solutions are needed, as other trace tests do, and nothing is assumed about B.

In floating point a solution can be invisible to the test: one that happens to be very far out changes T by less than rounding
does. Elsewhere it is not far out, so `completion` asks at several random places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker
from polymargin.polynomials import Program, evaluate

ComplexArray = NDArray[np.complex128]

# Sizes of the changes of the level, relative to the level: branches that barely move at one scale do at another.
SCALES = (30.0, 1e4)
# T is known to a few 1e-17 of Σ|1/λ|, seldom 1e-15: paths are followed in double-doubles and rounded to doubles at their ends.
NOISE = 5e-15
# A branch is visible to the test if its own 1/λ changes by more than this, relative to the sum of all.
VISIBLE = 10 * NOISE
# Share of the branches that must be visible for the test to mean something.
ENOUGH = 0.95


@dataclass(frozen=True)
class TraceTest:
    """`defect`: largest change of T between levels, relative to Σ|1/λ|; `visible`: share of the found solutions whose
    absence would have changed T noticeably."""

    passed: bool
    defect: float
    visible: float

    def __str__(self) -> str:
        return f"{'passed' if self.passed else 'failed'} (defect {self.defect:.0e})"


def trace_test(
    program: Program,
    parameters: ComplexArray,
    solutions: ComplexArray,
    generator: np.random.Generator,
    tracker: Tracker,
) -> TraceTest:
    """Whether the solutions (y, λ) of critical equations with parameters (u, ε, …) are all of them."""
    place = program.input_count - 1  # of ε among the parameters, and of λ among the unknowns
    level = parameters[place]
    shifts = np.array(SCALES) * (1 + abs(level)) * np.exp(2j * np.pi * generator.random(len(SCALES)))
    levels = level + np.array([0.0, *shifts])
    targets = np.tile(parameters, (len(levels), 1))
    targets[:, place] = levels
    ends = _sharp_ends(program, parameters, solutions, targets, tracker)
    if ends is None:
        return TraceTest(False, float("inf"), 0.0)
    with np.errstate(all="ignore"):  # what leaves the range of doubles is no number, and no number passes
        reciprocals = 1 / ends[:, :, place]
        traces = reciprocals.sum(axis=1) - _poles(program, parameters, levels)
        size = np.abs(reciprocals).sum(axis=1)
        defect = float((np.abs(traces - traces[0]) / (size + size[0])).max())
        moved = np.abs(reciprocals - reciprocals[0]) / (size + size[0])[:, None]
        visible = float((moved.max(axis=0) > VISIBLE).mean())
    return TraceTest(defect <= NOISE and visible >= ENOUGH, defect, visible)


def _sharp_ends(
    program: Program,
    parameters: ComplexArray,
    solutions: ComplexArray,
    targets: ComplexArray,
    tracker: Tracker,
) -> ComplexArray | None:
    """The solutions at every target: doubles bring them there, double-doubles make them sharp. None if one of them is lost."""
    moved = tracker.carry(program, solutions, parameters, targets)
    if not moved.converged.all():
        return None
    far_sighted = tracker.far_sighted()
    ends = []
    for points, target in zip(moved.points, targets, strict=True):
        sharp = far_sighted.track(program, points, target, target, double_double=True)
        if not sharp.converged.all():
            return None
        ends.append(sharp.points[0])
    return np.array(ends)


def _poles(program: Program, parameters: ComplexArray, levels: ComplexArray) -> ComplexArray:
    """|∇B(u)|² / (B(u) − ε), read off the critical equations at (u, 0): their last value, and their last row of derivatives."""
    place = program.input_count - 1
    at_point = evaluate(program, [*parameters[:place], 0.0], list(parameters), lift=complex, derivatives=True)
    value = at_point[place] + parameters[place]
    slope = np.array(at_point[-program.input_count : -1], dtype=np.complex128)
    return np.asarray((slope @ slope) / (value - levels))
