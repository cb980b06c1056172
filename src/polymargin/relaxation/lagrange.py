"""Newton's method for the nearest point of a smooth boundary in a round ball.

    η + λ∇B = 0,   B = 0        with matrix [[I + λ∇²B, ∇B], [∇Bᵀ, 0]],

which makes a distance accurate to rounding. In many dimensions it runs in the span of the point, the gradients there and the last
moves, which grows by a gradient a round: no step costs more than a few gradients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import Deadline
from polymargin.relaxation.balls import TINY
from polymargin.relaxation.gradients import Functionals

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

STEPS, STEPS_IN_SUBSPACES = 6, 3
# Up to this dimension the matrix is made in full.
FULL = 48
ROUNDS, WIDEST_SUBSPACE = 24, 10
# Of the part along the boundary; the distance is that much squared away from its least value.
CONVERGED = 1e-7


def refined(leads: Functionals, rows: Rows, places: Array, deadline: Deadline) -> Array:
    """Return stationary points near places (S, d): where Newton's method leads from each of them."""
    if places.shape[1] <= FULL:
        return _newton(leads, rows, places, np.eye(places.shape[1]), STEPS)
    return np.stack([_in_subspaces(leads, rows[[i]], place, deadline) for i, place in enumerate(places)])


def _newton(leads: Functionals, rows: Rows, places: Array, basis: Array, steps: int) -> Array:
    """Run Newton's method from places in the span of the basis; return coordinates there."""
    inner = places @ basis
    count, size = inner.shape
    multipliers, each = np.zeros(count), np.arange(size)
    system = np.zeros((count, size + 1, size + 1))
    for step in range(steps):
        values, slopes, hessians = leads.hessians(inner @ basis.T, rows, basis)
        if step == 0:
            multipliers = -(inner * slopes).sum(axis=1) / np.maximum((slopes * slopes).sum(axis=1), TINY)
        system[:, :-1, :-1] = multipliers[:, None, None] * hessians
        system[:, each, each] += 1.0
        system[:, :-1, -1] = system[:, -1, :-1] = slopes
        right = np.concatenate([-inner - multipliers[:, None] * slopes, -values[:, None]], axis=1)
        try:
            change = np.linalg.solve(system, right[..., None])[..., 0]
        except np.linalg.LinAlgError:
            break
        change[~np.isfinite(change).all(axis=-1)] = 0.0
        inner, multipliers = inner + change[:, :-1], multipliers + change[:, -1]
    return np.asarray(inner @ basis.T)


def _in_subspaces(leads: Functionals, row: Rows, place: Array, deadline: Deadline) -> Array:
    recent: list[Array] = []
    for _ in range(ROUNDS):
        if deadline.passed:
            break
        slope = leads.gradients(place[None], row)[1][0]
        multiplier = -(place @ slope) / max(float(slope @ slope), TINY)
        remainder = float(np.linalg.norm(place + multiplier * slope))
        recent = [place, slope, *recent][:WIDEST_SUBSPACE]
        units = [vector / max(float(np.linalg.norm(vector)), TINY) for vector in recent]
        basis, _ = np.linalg.qr(np.stack(units, axis=1))
        moved = _newton(leads, row, place[None], basis, STEPS_IN_SUBSPACES)[0]
        if not np.isfinite(moved).all() or np.linalg.norm(moved) > 2 * np.linalg.norm(place):
            break
        recent.insert(2, moved - place)
        place = moved
        if remainder <= CONVERGED * np.linalg.norm(place):
            break
    return place
