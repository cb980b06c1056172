"""The homotopy of the base solutions, from a sum of powers with known critical points to the generic point and level.

B = s₀B₀ + s₁(B₁ − ε) goes from (s₀, s₁) = (γ, 0) to (0, 1), and u from 0 to u*. A path takes the fewer steps the more B₀ is like
B₁ − ε: so B₀ = Σ a_j z_j^D − c is set up on the axes on which B₁ is most like a sum of powers, with nearly its coefficients and
its constant term, and γ is not far from 1. All of them are random in an open set, which is all that genericity asks for.

Where axes differ in scale by much, rotated ones would have parts of all scales. There B₀ is set up on the axes of the reduction,
and so it is where a first try failed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary, CriticalSystem, LeadingAxes, blend_along, leading_axes
from polymargin.continuation import CriticalStart, critical_start_of, near_unit_circle, random_phase
from polymargin.continuation.parts import for_each, slices
from polymargin.polynomials import Program

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

# Paths from which axes of their own save more than they take.
WORTH_A_ROTATION = 500
# Coefficients of the start system are kept within this factor of one, far beyond what the tracker has been seen to need.
LARGEST_START = 1e60
# Pure powers smaller than this share of the largest one say nothing about the size of B along their axis.
SMALLEST_POWER = 1e-3
# How far coefficients are from those of the target, relatively, and γ from one, as an angle.
SPREAD = 0.2
LARGEST_ANGLE = 1.0
# Rows that are rotated at a time, so that no second copy of all is made.
AT_A_TIME = 1 << 14


@dataclass(frozen=True, eq=False)
class Blend:
    """Start points (N, m + 1) and parameters of a program in the coordinates z = rows · y, or y itself."""

    program: Program
    starts: ComplexArray
    begin: ComplexArray
    end: ComplexArray
    rows: Array | None = None

    def rotate_back(self, points: ComplexArray, threads: int = 1) -> ComplexArray:
        """Replace points (N, m + 1) by their coordinates in the reduction."""
        rows = self.rows
        if rows is not None:

            def rotate(here: slice) -> None:
                points[here, :-1] = points[here, :-1] @ rows

            for_each(slices(len(points), AT_A_TIME), rotate, threads)
        return points


def axis_sizes(boundary: Boundary) -> Array:
    """Return magnitudes of the target's pure powers on the axes of the reduction, within limits."""
    sizes = boundary.reduction.axis_sizes
    return np.where(sizes > 0, np.clip(sizes, 1 / LARGEST_START, LARGEST_START), 1.0)


def blend_to(
    generic: ComplexArray,
    boundary: Boundary,
    system: CriticalSystem,
    generator: np.random.Generator,
    *,
    own_axes: bool,
    threads: int,
) -> Blend:
    """Return a blend to the generic point and level (m + 1,), with axes of its own if that is allowed and worthwhile."""
    if own_axes and boundary.critical_bound >= WORTH_A_ROTATION:
        axes = leading_axes(boundary.reduction.source, boundary.degree)
        if axes.powers.any():
            return _rotated_blend(generic, boundary, axes, generator, threads)
    slopes = axis_sizes(boundary) * near_unit_circle(len(generic) - 1, generator)
    level = complex(near_unit_circle(1, generator)[0])
    start = critical_start_of(slopes, level, boundary.degree, threads)
    return _blend(system.blend, start, random_phase(generator), generic)


def _rotated_blend(
    generic: ComplexArray, boundary: Boundary, axes: LeadingAxes, generator: np.random.Generator, threads: int
) -> Blend:
    reduction, size = boundary.reduction, len(generic) - 1
    # The pure power alone underrates B along a weak axis; the mean of all has its say too.
    sizes = np.abs(axes.powers) / reduction.factor
    sizes = np.maximum(sizes, SMALLEST_POWER * sizes.max())
    sizes = np.sqrt(sizes * np.exp(np.log(sizes).mean()))
    constant = reduction.source.values(np.zeros(size)) / reduction.factor
    wanted = np.append(np.where(axes.powers < 0, -sizes, sizes), generic[-1] - constant)
    near = wanted * generator.uniform(1 - SPREAD, 1 + SPREAD, size + 1) * _turns(SPREAD, size + 1, generator)
    phase = complex(_turns(LARGEST_ANGLE, 1, generator)[0])
    start = critical_start_of(near[:-1], complex(near[-1]), boundary.degree, threads)
    seen = np.append(axes.rows @ generic[:-1], generic[-1])
    return _blend(blend_along(boundary, axes.rows), start, phase, seen, axes.rows)


def _blend(
    program: Program, start: CriticalStart, phase: complex, generic: ComplexArray, rows: Array | None = None
) -> Blend:
    start.points[:, -1] /= phase  # γB₀ instead of B₀ divides λ by γ
    fixed = [*start.slopes, start.level]
    begin = np.array([*np.zeros(len(start.slopes)), generic[-1], phase, 0, *fixed])
    return Blend(program, start.points, begin, np.array([*generic, 0, 1, *fixed]), rows)


def _turns(largest: float, count: int, generator: np.random.Generator) -> ComplexArray:
    """Return numbers on the unit circle, not farther from one than an angle."""
    return np.asarray(np.exp(1j * generator.uniform(-largest, largest, count)))
