"""First multipliers of a relaxation, from the worst place that is known.

Where a relaxation is tight, its form vanishes at ξ* = (1, s*, w*, y*), the worst point of the region. So the multipliers of
definitions make the form stationary there in w, those of the box in the coordinates at their ends, and that of the ball along s*.
What is left is convexity: all coordinates and ranges get as much more as the least eigenvalue asks for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.relaxation.algebra import NUMPY
from polymargin.relaxation.lanczos import extremes
from polymargin.relaxation.relaxation import Relaxation

Array = NDArray[np.float64]

AT_END = 1e-3
"""Scaled coordinates within this of ±1 count as at their end."""
SMALL, STEPS, TRIES = 120, 40, 6
ROOM = 1e-4
"""The least eigenvalue aimed at, relative to the size of the functional."""


@dataclass(frozen=True, eq=False)
class Guess:
    """Multipliers y, and the γ = y_0 that they prove; −∞ if none."""

    y: Array

    @property
    def value(self) -> float:
        return float(self.y[0])


def guessed(relaxation: Relaxation, place: Array, scale: float, slack: float) -> Guess:
    """Return multipliers that are nearly stationary at the worst place (size,) with ξ_0 = 1.

    slack   how much more convex than needed the form is made in w, relative to its curvature there
    """
    program, unknowns = relaxation.program, relaxation.parts
    y = relaxation.first() * 1e-3 * scale
    base, first = relaxation.base, relaxation.space.first
    bend = np.einsum("ii->i", base)[first:]
    if "range" in unknowns:
        own = unknowns["range"]
        y[own] = (1.0 + slack) * np.maximum(0.0, -bend) + slack * np.maximum(0.0, bend) + 1e-3 * scale
    if "definition" in unknowns:
        _make_stationary(relaxation, y, place, unknowns["definition"])
    slope = program.matrix(y) @ place
    inner = place[1:first]
    coordinates, count = relaxation.space.coordinates, len(inner)
    if "box" in unknowns:
        own = slice(coordinates.boxed[0], count)
        ends = np.abs(inner[own]) > 1 - AT_END
        y[unknowns["box"]] += np.where(ends, np.maximum(-slope[1:first][own] * np.sign(inner[own]), 0.0), 0.0)
    if "box" not in unknowns or not coordinates.is_diagonal:
        of_ball = slice(0, count - len(coordinates.own))
        z, pull = inner[of_ball], slope[1:first][of_ball]
        for name in [name for name in ("ball", "ellipsoid") if name in unknowns][:1]:
            y[unknowns[name]] += max(-float(z @ pull) / max(float(z @ z), 1e-300), 0.0)
    return Guess(made_definite(relaxation, y, scale))


def _make_stationary(relaxation: Relaxation, y: Array, place: Array, own: slice) -> None:
    """Solve for the free multipliers of definitions: the form is stationary in the remainders at the place."""
    program, w = relaxation.program, relaxation.remainder_places
    slope = (program.matrix(y) @ place)[w]
    rows, squares, linear = relaxation.rows_of(own)
    at = rows @ place
    system = ((squares * at) @ rows[:, w]).T + linear[:, w].T / 2
    y[own] = np.linalg.lstsq(system, -slope)[0]


def made_definite(relaxation: Relaxation, y: Array, scale: float, room: float = ROOM) -> Array:
    """Raise multipliers of ball, box and ranges until the form is definite with room beyond ξ_0; y_0 is what they prove."""
    program, raised = relaxation.program, relaxation.convexifying
    y = y.copy()
    y[0] = 0.0
    matrix = np.asarray(program.matrix(y))
    more = room * scale - _least_eigenvalue(matrix[1:, 1:])
    for _ in range(TRIES):
        if more > 0 and len(raised):
            y[raised] += more
            matrix = np.asarray(program.matrix(y))
        factor, info = linalg.lapack.dpotrf(matrix[1:, 1:], lower=1)
        if not info:
            half = linalg.solve_triangular(factor, matrix[1:, 0], lower=True, check_finite=False)
            y[0] = matrix[0, 0] - half @ half
            return y
        more = max(2 * more, room * scale)
    y[0] = -np.inf
    return y


def _least_eigenvalue(matrix: Array) -> float:
    """Return an estimate from below in most cases; exact in few dimensions."""
    if len(matrix) <= SMALL:
        return float(np.linalg.eigvalsh(matrix).min(initial=np.inf))
    found = extremes(NUMPY, lambda v: v @ matrix, 1, len(matrix), STEPS)
    return float(found.least[0] - found.least_error[0])
