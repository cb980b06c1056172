"""The faces on which the nearest tie of another norm, or inside a box, can lie.

At the nearest point every coordinate is in one of a few states. Fixing the states leaves an affine space of points

    x = origin + step·t + free @ y,

on which the length is t up to sign (L∞, L1), or measured by the L2 norm of what is left (`step` is None). On that space the point
is critical: ∂_yB = 0 and B = 0. That holds at smooth and at singular points alike, and needs no multiplier.

    L∞    δ_i = ±t, between, or at an end of the domain; some coordinate at ±t
    L1    δ_i = 0, free with a sign, or at an end of the domain; t = Σ|δ_i| over the free ones
    L2    δ_i free, or at an end of the domain

If B depends on m directions only, a basic solution of a linear program has at most m − 1 coordinates between (L∞), at most m free
ones (L1): faces with more need no look. Reversing all signs reverses t, so that one of the two is enough. Every real solution
on any face is a tie of the length it has: the least one inside the domain is the answer, and none of them has to be proved to
lie on its own face.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from polymargin.regions import Norm, Region
from polymargin.regions.frame import round_coordinates

Array = NDArray[np.float64]

# Of lengths on a face that is an ellipsoid's, as a share.
MOST_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Face:
    """x = origin + step·t + free @ y; `floor`: no point of it is nearer to u."""

    origin: Array
    step: Array | None
    free: Array
    floor: float

    @property
    def columns(self) -> Array:
        """Return the directions of the face, y before t."""
        return self.free if self.step is None else np.column_stack([self.free, self.step])


def faces(near: Region, u: Array, active: int) -> Iterator[Face]:
    """Yield faces with few coordinates at an end of the domain first; `active` is the number m of directions of B."""
    moving = near.moving
    for count in range(len(moving) + 1 if near.low is not None else 1):
        for fixed in combinations(moving, count):
            rest = [i for i in moving if i not in fixed]
            for origin in _at_the_ends(near, u, fixed):
                floor = near.length(origin - u)
                if near.norm is Norm.L2:
                    if rest:
                        yield _measured_face(near, u, origin, np.eye(near.dimension)[:, rest])
                elif near.norm is Norm.LINF:
                    yield from _cube_faces(near, origin, rest, floor, active)
                else:
                    yield from _cross_faces(near, origin, rest, floor, active)


def subspace_face(near: Region, u: Array) -> Face:
    """Return the one face of L2 without a domain: all of the coordinates, some, or a subspace."""
    columns = np.eye(near.dimension)[:, list(near.moving)] if near.subspace is None else near.subspace
    return _measured_face(near, u, u, columns)


def _measured_face(near: Region, u: Array, origin: Array, columns: Array) -> Face:
    """Return origin + columns @ c in coordinates y with |R(x − u)|² = |y|² + floor²."""
    if near.weights is None and near.ellipsoid is None and columns is not near.subspace:
        foot = origin - columns @ (columns.T @ (origin - u))
        return Face(foot, None, columns, near.length(foot - u))
    turn, _ = round_coordinates(near, columns, MOST_ROUNDING)
    free = columns @ turn
    Q = near.root @ free
    foot = origin - free @ (Q.T @ (near.root @ (origin - u)))
    return Face(foot, None, free, near.length(foot - u))


def face_count(near: Region, active: int) -> int:
    """Return how many faces that is."""
    k, ends = len(near.moving), 0 if near.low is None else 2
    total = 0
    for fixed in range(k + 1 if ends else 1):
        rest = k - fixed
        if near.norm is Norm.L2:
            inner = 1 if rest else 0
        elif near.norm is Norm.LINF:
            inner = sum(math.comb(rest, f) * 2 ** (rest - f - 1) for f in range(min(active, rest)))
        else:
            inner = sum(math.comb(rest, s) * 2 ** (s - 1) for s in range(1, min(active, rest) + 1))
        total += math.comb(k, fixed) * ends**fixed * inner
    return total


def path_count(near: Region, active: int, degree: int) -> int:
    """Return the solutions of all systems together for a generic boundary of a degree: D(D − 1)^f with f unknowns beside t.

    For L∞ without a domain that is D/2 · ((D + 1)ⁿ − (D − 1)ⁿ).

    >>> from polymargin.regions import Linf
    >>> [path_count(Linf().in_dimension(n), n, 3) for n in (2, 4, 6, 8)]
    [18, 360, 6048, 97920]
    """
    k, ends = len(near.moving), 0 if near.low is None else 2
    total = 0
    for fixed in range(k + 1 if ends else 1):
        rest = k - fixed
        if near.norm is Norm.L2:
            size = min(rest, active)
            inner = sum(degree * (degree - 1) ** j for j in range(size))
        elif near.norm is Norm.LINF:
            inner = sum(
                math.comb(rest, f) * 2 ** (rest - f - 1) * degree * (degree - 1) ** f for f in range(min(active, rest))
            )
        else:
            inner = sum(
                math.comb(rest, s) * 2 ** (s - 1) * degree * (degree - 1) ** (s - 1)
                for s in range(1, min(active, rest) + 1)
            )
        total += math.comb(k, fixed) * ends**fixed * inner
    return total


def _at_the_ends(near: Region, u: Array, fixed: Sequence[int]) -> Iterator[Array]:
    """Yield u with these coordinates moved to the ends of the domain, in all ways."""
    if near.low is None or near.high is None:
        yield u
        return
    for ends in product((near.low, near.high), repeat=len(fixed)):
        values = np.array([end[i] for end, i in zip(ends, fixed, strict=True)])
        if np.isfinite(values).all():
            origin = u.copy()
            origin[list(fixed)] = values
            yield origin


def _signs(count: int) -> Iterator[Array]:
    """Yield all sign patterns, one of each pair of opposite ones."""
    for rest in product((1.0, -1.0), repeat=count - 1):
        yield np.array([1.0, *rest])


def _cube_faces(near: Region, origin: Array, rest: list[int], floor: float, active: int) -> Iterator[Face]:
    weights = np.ones(near.dimension) if near.weights is None else near.weights
    for between in range(min(active, len(rest))):
        for chosen in combinations(rest, between):
            edge = [i for i in rest if i not in chosen]
            for signs in _signs(len(edge)):
                step = np.zeros(near.dimension)
                step[edge] = signs / weights[edge]
                yield Face(origin, step, np.eye(near.dimension)[:, list(chosen)], floor)


def _cross_faces(near: Region, origin: Array, rest: list[int], floor: float, active: int) -> Iterator[Face]:
    """Yield faces with w_i|δ_i| = s_i w_i δ_i on the support and t = Σ s_i w_i δ_i, which determines the first coordinate."""
    weights = np.ones(near.dimension) if near.weights is None else near.weights
    for size in range(1, min(active, len(rest)) + 1):
        for support in combinations(rest, size):
            for signs in _signs(size):
                first, *others = support
                step = np.zeros(near.dimension)
                step[first] = signs[0] / weights[first]
                free = np.zeros((near.dimension, size - 1))
                for column, (index, sign) in enumerate(zip(others, signs[1:], strict=True)):
                    free[index, column] = 1.0
                    free[first, column] = -signs[0] * sign * weights[index] / weights[first]
                yield Face(origin, step, free, floor)
