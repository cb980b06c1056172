"""Confirmation of ties that floating point found.

A candidate x near u is confirmed if B is zero or changes sign within a small distance τ of x: then a tie lies there, whatever
became of the path that led to it. At a smooth point the sign changes from x − τn to x + τn, n the direction from u to x. At a
crossing or a cusp it changes between some of the directions in which B bends least and most, the eigenvectors of its Hessian.
Signs are read off floats where a bound for their rounding errors allows it, and off rational arithmetic elsewhere.

Where the boundary only touches, B keeps its sign and there is nothing to see. Such a point is singular, and often it is
rational; rational arithmetic then says whether B is zero (`rational_points`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.margins.rational_points import MOST_INPUTS, rational_singular_point

Array = NDArray[np.float64]

# τ relative to the distance, tried in turn: along the ray, and around a singular point, where x is known less well.
REACHES = (1e-11, 1e-9)
WIDE_REACHES = (1e-9, 1e-8, 1e-7)
# A tie known less well than this, relative to its distance, is no answer yet: u and the tie are a few doubles apart.
LARGEST_REACH = 1e-7
# Units in the last place of the largest coordinate by which a point in doubles may miss.
UNITS = 4
EPSILON = float(np.finfo(np.float64).eps)
# Values below this may have lost digits to underflow.
SMALLEST_VALUE = 1e-280


@dataclass(frozen=True, eq=False)
class Tie:
    """A tie exists within `reach` of `point`, hence at most `upper` away from u."""

    point: Array
    upper: float
    reach: float


def plain_ties(boundary: Boundary, u: Array, points: Array) -> tuple[NDArray[np.bool_], Array]:
    """Return which points (p, n), each near its own u (p, n), floats alone confirm along the ray, and upper bounds (p,).

    The bounds are for the distance less the reach, as nearly everywhere the point itself is a tie up to rounding.
    """
    steps = points - u
    distances = np.linalg.norm(steps, axis=1)
    confirmed, uppers = np.zeros(len(u), dtype=bool), distances.copy()
    for relative in REACHES:
        left = np.flatnonzero(~confirmed)
        if not len(left):
            break
        with np.errstate(all="ignore"):
            reaches = np.maximum(relative * distances[left], UNITS * EPSILON * np.abs(points[left]).max(axis=1))
            directions = steps[left] / distances[left, None]
            ends = points[left] + np.array([-1.0, 1.0])[:, None, None] * (reaches[:, None] * directions)
            (before, beyond), sure = _signs(boundary, ends)
            found = (before * beyond < 0) & sure.all(axis=0) & (reaches <= LARGEST_REACH * distances[left])
        uppers[left[found]] = (_up(distances[left] + reaches) - reaches)[found]
        confirmed[left] = found
    return confirmed, uppers


def confirmed_tie(boundary: Boundary, u: Array, point: Array) -> Tie | None:
    """Return a proof that the boundary passes by `point`; None if there is none to be had."""
    step = point - u
    distance = float(np.linalg.norm(step[None], axis=1)[0])
    if distance == 0.0:
        return Tie(point, 0.0, 0.0) if boundary.exact_value(fractions(u)) == 0 else None
    smallest = UNITS * EPSILON * float(np.abs(point).max())
    for relative in REACHES:
        reach = max(relative * distance, smallest)
        if _sign_changes(boundary, point + np.array([[-1.0], [1.0]]) * (reach * (step / distance))):
            return Tie(point, float(_up(distance + reach)), reach)
    if len(u) <= MOST_INPUTS:
        axes = np.linalg.eigh(boundary.hessian(point))[1].T
        for relative in WIDE_REACHES:
            reach = max(relative * distance, smallest)
            if _sign_changes(boundary, point + reach * np.concatenate([axes, -axes])):
                return Tie(point, float(_up(distance + reach)), reach)
    rational = rational_singular_point(boundary, point)
    if rational is None:
        return None
    rounded = np.array([float(entry) for entry in rational])
    return Tie(rounded, float(_up(_distance(rational, u))), 0.0)


def _sign_changes(boundary: Boundary, points: Array) -> bool:
    """Return whether B is zero somewhere on the segments between the points."""
    signs = exact_signs(boundary, points)
    return min(signs) <= 0 <= max(signs)


def exact_signs(boundary: Boundary, points: Array) -> list[int]:
    """Return the signs of B at points (p, n), beyond doubt."""
    signs, certain = _signs(boundary, points)
    for place in np.flatnonzero(~certain):
        exact = boundary.exact_value(fractions(points[place]))
        signs[place] = (exact > 0) - (exact < 0)
    return [int(sign) for sign in signs]


def _signs(boundary: Boundary, points: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the signs of B at points (…, n) as floats see them, and where rounding cannot have made them."""
    with np.errstate(all="ignore"):
        values = np.asarray(boundary.source.values(points))
        certain = np.abs(values) > np.maximum(boundary.source.noise(points), SMALLEST_VALUE)
    return np.sign(values), certain


def fractions(point: Array) -> list[Fraction]:
    """Return the coordinates of a point as rational numbers."""
    return [Fraction(value) for value in point.tolist()]


def _distance(point: Sequence[Fraction], u: Array) -> float:
    return sqrt(sum(((x - Fraction(y)) ** 2 for x, y in zip(point, u.tolist(), strict=True)), Fraction(0)))


def _up(value: Any) -> Any:
    return np.nextafter(value * (1 + 4 * EPSILON), np.inf)
