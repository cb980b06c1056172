"""Ties of a ReLU network near a point of a cell: walk across the boundary, then improve the tie region by region.

A step goes to the nearest point of the tie of the two affine functions that hold where the walk stands (DeepFool). From a tie,
the quadratic program of its region gives the nearest tie there, and the way to that may cross another one sooner.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.piecewise.incumbents import first_crossing
from polymargin.piecewise.projection import project_origin
from polymargin.piecewise.relu.view import ReLUView

Array = NDArray[np.float64]

OVERSHOOT = 1.02
POLISHES = 8


def walk(view: ReLUView, rival: int, y: Array, steps: int) -> Array | None:
    """Return a point with B ≤ 0, None if the walk meets none."""
    for _ in range(steps):
        slope, shift = view.affine(rival, view.signs(y))
        value = float(slope @ y) + shift
        if value <= 0:
            return y
        square = float(slope @ slope)
        if square == 0.0:
            return None
        y = y - OVERSHOOT * value / square * slope
    return None


def nearer_tie(view: ReLUView, rival: int, y: Array) -> Array:
    """Return a tie at most as far as y with B(y) ≤ 0, nearest in its region and first on its ray."""
    origin = np.zeros(view.size)
    best = first_crossing(lambda points: view.boundary(rival, points), origin, y)
    for _ in range(POLISHES):
        signs = view.signs(best)
        slope, shift = view.affine(rival, signs)
        rows, limits = view.region(signs)
        found = project_origin(np.vstack([rows, slope]), np.append(limits, -shift))
        if found.point is None or float(view.boundary(rival, found.point)) > 0:
            break
        nearer = first_crossing(lambda points: view.boundary(rival, points), origin, found.point)
        if np.linalg.norm(nearer) >= (1 - 1e-9) * np.linalg.norm(best):
            break
        best = nearer
    return best
