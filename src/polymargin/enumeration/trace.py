"""The reciprocal trace test of whether all critical points were found.

Fix a generic point u and let the level ε of {B = ε} vary. The critical points are the branches of one irreducible curve
over the ε-line, and if S holds all of them, then

    T(ε) = Σ_S 1/λ_i(ε) − |∇B(u)|² / (B(u) − ε)

does not depend on ε. If S lacks any, T does depend on ε (docs/theorems, with proof). So the test is: follow S to a few other
levels and compare T. No further solutions are needed, as other trace tests do, and nothing is assumed about B.

A branch far out changes T little: of x² + y² + δxy + x − 1 the two at |x| ≈ 1/δ change it by δ³ε. So T is a sum of twice as many
digits as doubles have. Residuals are evaluated in double-doubles, one more step of Newton's method gives what doubles left out
of every solution, and the sum is taken in balls. What moves less than the noise that is left cannot be seen: `base_solutions`
follows paths without an endpoint until they are far beyond, and `completion` asks at several random places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin import _core
from polymargin.continuation import Tracker
from polymargin.polynomials import Program
from polymargin.polynomials.balls import BallProgram, precision

ComplexArray = NDArray[np.complex128]

# Sizes of the changes of the level, relative to the level: branches that barely move at one scale do at another.
SCALES = (30.0, 1e4)
# T is known to a few 1e-33 of Σ|1/λ| where the equations are well conditioned. Elsewhere its error is less than SAFETY times that
# of the last steps, which doubles have solved for.
NOISE, SAFETY, LARGEST_NOISE = 1e-29, 10.0, 1e-14
# A branch is visible to the test if its own 1/λ changes by more than so many times the noise.
VISIBLE = 10
# Bits of the sum.
PRECISION = 256
EPSILON = float(np.finfo(np.float64).eps)
# Share of the branches that must be visible for the test to mean something.
ENOUGH = 0.95


@dataclass(frozen=True)
class TraceTest:
    """The result of a trace test.

    defect    largest change of T between levels, relative to Σ|1/λ|
    visible   share of the found solutions whose absence would have changed T noticeably
    """

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
    """Test whether the solutions (y, λ) of critical equations with parameters (u, ε, …) are all of them."""
    place = program.input_count - 1  # of ε among the parameters, and of λ among the unknowns
    level = parameters[place]
    shifts = np.array(SCALES) * (1 + abs(level)) * np.exp(2j * np.pi * generator.random(len(SCALES)))
    levels = level + np.array([0.0, *shifts])
    targets = np.tile(parameters, (len(levels), 1))
    targets[:, place] = levels
    ends = _sharp_ends(program, parameters, solutions, targets, tracker)
    if ends is None:
        return TraceTest(False, float("inf"), 0.0)
    with (
        precision(PRECISION),
        np.errstate(all="ignore"),
    ):  # what leaves the range of doubles is no number, and no number passes
        sums = [_reciprocals(program, points, target) for points, target in zip(ends, targets, strict=True)]
        poles = _poles(program, parameters, levels)
        traces = [sum(each.values, -pole) for each, pole in zip(sums, poles, strict=True)]
        scales = np.array([each.size + sums[0].size for each in sums])
        noise = max(NOISE, SAFETY * float((np.array([each.error + sums[0].error for each in sums]) / scales).max()))
        defect = float((np.array([_size(trace - traces[0]) for trace in traces]) / scales).max())
        moves = np.array([[_size(a - b) for a, b in zip(each.values, sums[0].values, strict=True)] for each in sums])
        visible = float(((moves / scales[:, None]).max(axis=0) > VISIBLE * noise).mean())
    return TraceTest(defect <= noise <= LARGEST_NOISE and visible >= ENOUGH, defect, visible)


@dataclass(frozen=True, eq=False)
class _Reciprocals:
    """1/λ of all solutions at one level, the sum of their sizes, and about how far their sum may be off."""

    values: list[Any]
    size: float
    error: float


def _reciprocals(program: Program, points: ComplexArray, target: ComplexArray) -> _Reciprocals:
    """Improve solutions in doubles by one step of Newton's method, and return 1/λ with as many digits again.

    Columns of the Jacobian are scaled by the coordinates and rows to one, so that units do not count.
    """
    values, jacobians = _core.evaluate(program.compiled, points, target, double_double=True)
    columns = np.maximum(np.abs(points), np.finfo(np.float64).tiny)
    scaled = jacobians * columns[:, None, :]
    rows = np.abs(scaled).max(axis=2)
    inverses = np.linalg.inv(scaled / rows[:, :, None])
    steps = columns * np.einsum("pij,pj->pi", inverses, values / rows)
    conditions = np.abs(inverses).sum(axis=2).max(axis=1) * points.shape[1]
    multipliers, changes = points[:, -1], steps[:, -1]
    sizes = np.abs(1 / multipliers)
    shares = np.abs(steps / columns).max(axis=1)
    errors = sizes * shares * (EPSILON + shares) * conditions
    reciprocals = [
        1 / (flint.acb(a) - flint.acb(b)) for a, b in zip(multipliers.tolist(), changes.tolist(), strict=True)
    ]
    return _Reciprocals(reciprocals, float(sizes.sum()), float(errors.sum()))


def _size(value: Any) -> float:
    return float(abs(value).upper())


def _sharp_ends(
    program: Program,
    parameters: ComplexArray,
    solutions: ComplexArray,
    targets: ComplexArray,
    tracker: Tracker,
) -> ComplexArray | None:
    """Return the solutions at every target, refined in double-doubles; None if one of them fails."""
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


def _poles(program: Program, parameters: ComplexArray, levels: ComplexArray) -> list[Any]:
    """Return |∇B(u)|² / (B(u) − ε) from the critical equations at (u, 0)."""
    place = program.input_count - 1
    exact = [flint.acb(parameter) for parameter in parameters.tolist()]
    values, jacobian = BallProgram(program)([*exact[:place], flint.acb(0)], exact)
    value = values.entries()[place] + exact[place]
    slopes = jacobian.entries()[-program.input_count : -1]
    square = sum((slope * slope for slope in slopes), flint.acb(0))
    return [square / (value - flint.acb(level)) for level in levels.tolist()]
