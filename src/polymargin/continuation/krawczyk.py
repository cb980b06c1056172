"""Krawczyk's test: a box around an approximate solution that provably contains exactly one solution, a regular one.

For a box X with midpoint z and any matrix Y, let K = z − Y F(z) + (1 − Y F'(X)) (X − z). If K lies in the interior of X, the
system F has exactly one zero in X, the zero lies in K, and F' is regular there (Krawczyk 1969; Rump 1983). Y is an
approximate inverse of F'(z). A point is first improved by Newton's method in balls, so that the box can be as small as the
numbers in a file allow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import flint

from polymargin.polynomials import Program
from polymargin.polynomials.balls import BallProgram, ball, precision
from polymargin.processes import in_processes

# A coordinate is written as one double, or as the sum of two where a box needs to be smaller than doubles are apart.
Parts: TypeAlias = tuple[float, ...]

PRECISION = 160
# Relative sizes of boxes, tried in turn; below the first two, midpoints are written with two doubles.
BOX_SIZES = (1e-12, 1e-14, 1e-20, 1e-26)
# Distances are read off the real ones, so their boxes are small from the start.
REAL_BOX_SIZES = BOX_SIZES[2:]
# Below this many solutions a pool of processes costs more than it gains.
SMALLEST_PARALLEL_JOB = 200


@dataclass(frozen=True)
class Box:
    """All coordinates within `radius` of the midpoint, real and imaginary parts separately."""

    midpoint: tuple[tuple[Parts, Parts], ...]
    radius: float

    def coordinates(self) -> list[Any]:
        """Return the box as complex balls."""
        return [flint.acb(_widened(re, self.radius), _widened(im, self.radius)) for re, im in self.midpoint]


def certify_solutions(
    program: Program,
    parameters: Sequence[float],
    solutions: Sequence[Sequence[complex]],
    real: Sequence[bool],
    processes: int,
) -> list[Box | None]:
    """Return a certified box for each approximate solution, None if the test fails; boxes of real ones are symmetric."""
    jobs = list(zip(solutions, real, strict=True))
    work = partial(_certify_chunk, replace(program), tuple(parameters))
    if processes < 2 or len(jobs) < SMALLEST_PARALLEL_JOB:
        return work(jobs)
    size = math.ceil(len(jobs) / (4 * processes))
    chunks = [jobs[first : first + size] for first in range(0, len(jobs), size)]
    return [box for part in in_processes(work, chunks, processes) for box in part]


def _certify_chunk(
    program: Program, parameters: tuple[float, ...], jobs: Sequence[tuple[Sequence[complex], bool]]
) -> list[Box | None]:
    with precision(PRECISION):
        system = BallProgram(program)
        exact = [ball(value) for value in parameters]
        return [_certify(system, exact, solution, real) for solution, real in jobs]


def _certify(system: BallProgram, parameters: list[Any], solution: Sequence[complex], real: bool) -> Box | None:
    point = flint.acb_mat([[flint.acb(value.real, 0.0 if real else value.imag)] for value in solution])
    for _ in range(3):
        value, jacobian = system(point.entries(), parameters)
        try:
            change = jacobian.solve(value, algorithm="approx")
        except ZeroDivisionError:
            return None
        point = (point - change).mid()
    if not all(entry.is_finite() for entry in point.entries()):
        return None
    scale = max(1.0, *(float(abs(entry).upper()) for entry in point.entries()))
    for size in REAL_BOX_SIZES if real else BOX_SIZES:
        parts = 1 if size > 1e-15 else 2
        midpoint = tuple(
            (_parts(entry.real, parts), _parts(entry.imag, parts) if not real else (0.0,)) for entry in point.entries()
        )
        box = Box(midpoint, size * scale)
        if passes(system, parameters, box.coordinates()):
            return box
    return None


def passes(system: BallProgram, parameters: list[Any], coordinates: list[Any]) -> bool:
    """Apply Krawczyk's test to a box given as complex balls."""
    whole = flint.acb_mat([[entry] for entry in coordinates])
    centre = whole.mid()
    value, jacobian_at_centre = system(centre.entries(), parameters)
    _, jacobian = system(coordinates, parameters)
    try:
        inverse = jacobian_at_centre.mid().inv().mid()
    except ZeroDivisionError:
        return False
    identity = flint.acb_mat(inverse.nrows(), inverse.nrows(), 1)
    image = centre - inverse * value + (identity - inverse * jacobian) * (whole - centre)
    return all(
        bool(outer.real.contains_interior(inner.real)) and bool(outer.imag.contains_interior(inner.imag))
        for inner, outer in zip(image.entries(), coordinates, strict=True)
    )


def _parts(value: Any, count: int) -> Parts:
    """Return a real ball's midpoint as a sum of doubles."""
    parts = []
    rest = value.mid()
    for _ in range(count):
        part = float(rest)
        parts.append(part)
        rest = (rest - flint.arb(part)).mid()
    return tuple(parts)


def _widened(parts: Parts, radius: float) -> Any:
    return sum((flint.arb(part) for part in parts), flint.arb(0, radius))
