"""Nearest points of a boundary where pieces of a piecewise linear functional meet, in a round ball.

Around a point of the boundary the linearisations at points close by are the pieces that meet there. The nearest point may be
that of one piece, or of two or more at once (their corner): each is a least distance problem, min |δ| with G δ ≤ h, which becomes
one of nonnegative least squares (Lawson and Hanson). The shortest solution at which the functional is not positive comes next.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from polymargin.relaxation.balls import TINY
from polymargin.relaxation.gradients import Functionals

Array = NDArray[np.float64]

ROUNDS = 12
# How far around a point others are looked at, in units of its length, and how many at each distance.
DISTANCES, EACH = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2), 6
# Pieces that are told apart by this share of their size, and how many of them are combined.
DIFFERENT, MOST_PIECES = 1e-9, 7


def nearest_at_kinks(leads: Functionals, row: int, place: Array, zero: float, draw: np.random.Generator) -> Array:
    """Return a point of the boundary at most as far as a place of it; values up to `zero` of slope and length count as zero."""
    for _ in range(ROUNDS):
        length = float(np.linalg.norm(place))
        slopes, heights = _pieces(leads, row, place, length, draw)
        found = _candidates(slopes, heights)
        if not len(found):
            break
        values, gradients = leads.gradients(found, np.full(len(found), row))
        lengths = np.linalg.norm(found, axis=1)
        beyond = values <= zero * np.linalg.norm(gradients, axis=1) * lengths
        lengths = np.where(beyond, lengths, np.inf)
        best = int(lengths.argmin())
        if not lengths[best] < (1 - 1e-12) * length:
            break
        place = found[best]
    return place


def _pieces(
    leads: Functionals, row: int, place: Array, length: float, draw: np.random.Generator
) -> tuple[Array, Array]:
    """Return different linearisations g·δ ≤ h around a place, the nearest first."""
    ways = draw.normal(size=(len(DISTANCES) * EACH, len(place)))
    ways *= (length * np.repeat(DISTANCES, EACH) / np.linalg.norm(ways, axis=1))[:, None]
    points = np.concatenate([place[None], place + ways])
    values, slopes = leads.gradients(points, np.full(len(points), row))
    chosen: list[int] = []
    for i, slope in enumerate(slopes):
        size = DIFFERENT * float(np.linalg.norm(slope))
        if len(chosen) < MOST_PIECES and size > 0 and all(np.linalg.norm(slope - slopes[k]) > size for k in chosen):
            chosen.append(i)
    return slopes[chosen], ((slopes * points).sum(axis=1) - values)[chosen]


def _candidates(slopes: Array, heights: Array) -> Array:
    """Return the points of least length on one piece, on two and on all of them."""
    every = range(len(slopes))
    groups = [*combinations(every, 1), *combinations(every, 2), tuple(every)]
    found = [_least(slopes[list(group)], heights[list(group)]) for group in groups if group]
    return np.array([point for point in found if point is not None and np.isfinite(point).all()])


def _least(slopes: Array, heights: Array) -> Array | None:
    """Return the least δ with slopes @ δ ≤ heights; None if there is none."""
    sizes = np.maximum(np.linalg.norm(slopes, axis=1), TINY)
    scale = max(float(np.abs(heights / sizes).max()), TINY)
    system = np.vstack([-(slopes / sizes[:, None]).T, -heights / sizes / scale])
    goal = np.append(np.zeros(slopes.shape[1]), 1.0)
    try:
        multipliers, _ = nnls(system, goal)
    except RuntimeError:  # too many iterations
        return None
    remainder = system @ multipliers - goal
    return None if abs(remainder[-1]) <= 1e-14 else np.asarray(-scale * remainder[:-1] / remainder[-1])
