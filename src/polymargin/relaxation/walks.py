"""Walks to the boundary of a functional: repeated steps to the shortest solution of its linearisation.

    δ ← argmin ‖δ‖  over the box and B(δ₀) + ∇B(δ₀)·(δ − δ₀) ≤ 0

This is DeepFool for any norm; Hasofer and Lind's method of reliability analysis for L2. The part along the boundary is damped:
full steps need not settle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import Deadline
from polymargin.relaxation.balls import TINY, NormBall
from polymargin.relaxation.gradients import Functionals

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

# Parts of a step along the boundary, for walks from afar and from the point itself; how many of those, and what is no step.
WALK = (1.0,) * 2 + (0.5,) * 5 + (0.25,) * 9
PARTS, SETTLING, SETTLED = (1.0, 0.5, 0.25), 60, 1e-6
# Where to look along a ray, in units of B / ‖∇B‖, or of what moves a form of the inputs by its own size if that is less.
REACHES = np.array([0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5, 7.0, 12.0, 25.0, 60.0])


def first_lengths(leads: Functionals, ball: NormBall) -> Array:
    """Return about how far each functional (R,) is from zero: to first order, as long as forms of the inputs stay alike."""
    count = len(leads)
    values, slopes = leads.gradients(np.zeros((count, ball.dimension)), np.arange(count))
    return np.minimum(np.abs(values) / np.maximum(ball.dual(slopes), TINY), 2 * _natural_length(leads, ball))


def _natural_length(leads: Functionals, ball: NormBall) -> float:
    lengths = []
    for group in leads.forms[:-1]:
        for form in group:
            for source, block in form.blocks:
                if source == 0:
                    rows = np.asarray(abs(block).sum(axis=1) if ball.norm == "linf" else _row_norms(block))
                    lengths.append((1 + np.abs(form.bias[rows > 0])) / rows[rows > 0])
    every = np.concatenate(lengths) if lengths else np.zeros(0)
    return float(np.median(every)) if every.size else np.inf


def _row_norms(block: Array) -> Array:
    return np.asarray(np.sqrt((block * block).sum(axis=1)))


def rays(
    leads: Functionals, ball: NormBall, rows: Rows, starts: int, lengths: Array, draw: np.random.Generator
) -> Array:
    """Return places where paths of lowest points seem to cross the boundary first: downhill, then in random directions.

    rows       (S,) every functional `starts` times
    lengths    (R,) of `first_lengths`
    """
    count = len(rows)
    _, slopes = leads.gradients(np.zeros((count, ball.dimension)), rows)
    ways = draw.normal(size=slopes.shape)
    ways *= np.where((ways * slopes).sum(axis=1) < 0, -1.0, 1.0)[:, None]
    ways[::starts] = slopes[::starts]
    radii = (lengths[rows] * REACHES[:, None]).ravel()
    points = ball.lowest(np.tile(ways, (len(REACHES), 1)), radii)
    beyond = leads.values(points, np.tile(rows, len(REACHES))).reshape(len(REACHES), count) <= 0
    crossing = np.where(beyond.any(axis=0), beyond.argmax(axis=0), np.arange(count) % len(REACHES))
    return points.reshape(len(REACHES), count, -1)[crossing, np.arange(count)]


def walked(leads: Functionals, ball: NormBall, rows: Rows, places: Array, deadline: Deadline) -> Array:
    """Return places moved onto the linearised boundary and partly towards its shortest point, never too far at once."""
    for part in WALK:
        if deadline.passed:
            break
        values, slopes = leads.gradients(places, rows)
        square = np.maximum((slopes * slopes).sum(axis=1), TINY)
        onto = ball.clipped(places - (values / square)[:, None] * slopes)
        moves = onto - places + part * (_foot(ball, values, slopes, places) - onto)
        longest = 0.5 * np.linalg.norm(places, axis=1) / np.maximum(np.linalg.norm(moves, axis=1), TINY)
        places = _finite(places + np.minimum(1.0, longest)[:, None] * moves, places)
    return places


def settled(leads: Functionals, ball: NormBall, deadline: Deadline) -> tuple[Rows, Array]:
    """Return rows and places of walks from the point itself in full steps, or parts of them, until they stand still."""
    rows, parts = np.repeat(np.arange(len(leads)), len(PARTS)), np.tile(PARTS, len(leads))
    places = np.zeros((len(rows), ball.dimension))
    for step in range(SETTLING):
        if step % 6 == 0 and deadline.passed:  # a step costs a gradient
            break
        moves = _foot(ball, *leads.gradients(places, rows), places) - places
        places = _finite(places + parts[:, None] * moves, places)
        if (np.linalg.norm(moves, axis=1) <= SETTLED * np.linalg.norm(places, axis=1)).all():
            break
    return rows, places


def _foot(ball: NormBall, values: Array, slopes: Array, places: Array) -> Array:
    """Return the shortest point of the linearised boundary."""
    drops = values - (slopes * places).sum(axis=1)
    return ball.shortest(np.where(drops < 0, -1.0, 1.0)[:, None] * slopes, np.abs(drops))


def _finite(moved: Array, places: Array) -> Array:
    finite = np.asarray(np.isfinite(moved).all(axis=1))
    return np.asarray(np.where(finite[:, None], moved, places))
