"""Decide which points are the same and which are real; the only place for these tolerances.

Points are rows of complex coordinates, and every difference is measured against 1 + their largest coordinate. None of these
tolerances settles an answer alone: callers track equal points again, compare counts with the bound, or confirm them in exact
arithmetic.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from polymargin.continuation.generic_directions import generic_directions
from polymargin.continuation.parts import for_each, slices

ComplexArray = NDArray[np.complex128]

# Points that fit the cache of a core.
AT_A_TIME = 4096
# Points that are sorted at a time, about, and those that say where to cut.
STRETCH = 1 << 21
SAMPLE = 1 << 16
EVERYWHERE = (-np.inf, np.inf)
# Two results of Newton's method at one regular solution differ by less.
SAME = 1e-8
# Limits from the endgame are known to about 1e-9, those of double roots in doubles to less; this tells them apart.
SAME_LIMIT = 1e-6
# An imaginary part that is rounding; below what separates two regular points. Beyond CLEARLY_COMPLEX it is one.
REAL = 1e-9
CLEARLY_COMPLEX = 1e-7
# How well a complex point and its conjugate agree, each at the end of a path of its own.
SAME_CONJUGATE = 1e-7


def sizes(points: ComplexArray) -> NDArray[np.float64]:
    """Return the scale of differences: 1 + the largest coordinate along the last axis."""
    return np.asarray(1 + np.abs(points).max(axis=-1, initial=0.0))


def same(first: ComplexArray, second: ComplexArray, tolerance: float = SAME) -> NDArray[np.bool_]:
    """Return row by row whether two points are the same."""
    return np.asarray(np.abs(first - second).max(axis=-1, initial=0.0) <= tolerance * sizes(first))


def duplicates(points: ComplexArray, tolerance: float = SAME, threads: int = 1) -> NDArray[np.bool_]:
    """Return which points (N, n) have another one within the tolerance.

    Sorted along a random real direction, equal points are neighbours up to others that happen to project to
    the same place; so each point is compared with the following ones until the projection has moved on. A second direction
    rules out nearly all that only the first one confuses. Long lists are cut along the direction first, and sorted in stretches.
    """
    count = len(points)
    found = np.zeros(count, dtype=bool)
    if count < 2:
        return found
    flat = np.ascontiguousarray(points).view(np.float64)
    directions = generic_directions(2, flat.shape[1])
    columns = np.ascontiguousarray(directions.T)
    key, other, size = np.empty(count), np.empty(count), np.empty(count)

    def project(here: slice) -> None:  # all sums while the points are in the cache
        part = flat[here]
        key[here], other[here] = (part @ columns).T
        # At least as large as what differences are measured against, and had without a root for every coordinate.
        size[here] = 1 + np.sqrt(np.einsum("ij,ij->i", part, part))

    for_each(slices(count, AT_A_TIME), project, threads)
    reach, other_reach = (tolerance * np.abs(direction).sum() for direction in directions)

    def compare(stretch: tuple[float, float]) -> None:
        """Compare points of a stretch with those that follow, including the first few beyond its end."""
        low, high = stretch
        if stretch == EVERYWHERE:
            order = np.argsort(key)
        else:
            mine = (key >= low) & (key < high)
            furthest = (key[mine] + reach * size[mine]).max(initial=low)
            order = np.flatnonzero(mine | ((key >= high) & (key <= furthest)))
            order = order[np.argsort(key[order])]
        sorted_key, limit = key[order], reach * size[order]
        # Places in the order whose followers may still be near; the projection only moves on.
        places = np.flatnonzero(np.diff(sorted_key) <= limit[:-1])
        for shift in range(1, len(order)):
            places = places[places < len(order) - shift]
            places = places[sorted_key[places + shift] - sorted_key[places] <= limit[places]]
            if not len(places):
                break
            first, second = order[places], order[places + shift]
            near = np.abs(other[second] - other[first]) <= other_reach * size[first]
            first, second = first[near], second[near]
            equal = same(points[first], points[second], tolerance)
            found[first[equal]] = found[second[equal]] = True

    for_each(_stretches(key), compare, threads)
    return found


def _stretches(key: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return intervals [low, high) that cover everything, with about equally many of the numbers."""
    number = -(-len(key) // STRETCH)
    if number == 1:
        return [EVERYWHERE]
    cuts = np.quantile(key[:: max(1, len(key) // SAMPLE)], np.arange(1, number) / number)
    return list(pairwise([-np.inf, *np.unique(cuts).tolist(), np.inf]))


def distinct(points: ComplexArray, tolerance: float = SAME) -> ComplexArray:
    """Return the first point of every group of equal points."""
    if len(points) < 2:
        return points
    again = np.zeros(len(points), dtype=bool)
    pairs = _tree(points).query_pairs(tolerance * float(sizes(points).max()), p=np.inf, output_type="ndarray")
    if len(pairs):
        pairs = pairs[same(points[pairs[:, 0]], points[pairs[:, 1]], tolerance)]
        again[pairs.max(axis=1, initial=0)] = True
    return points[~again]


def counted(points: ComplexArray, tolerance: float = SAME) -> tuple[ComplexArray, NDArray[np.int64]]:
    """Return one point of each group and the size of the group."""
    kept = distinct(points, tolerance)
    if not len(kept):
        return kept, np.zeros(0, dtype=np.int64)
    _, owners = _tree(kept).query(_flat(points), p=np.inf)
    return kept, np.bincount(owners, minlength=len(kept)).astype(np.int64)


def contains(known: ComplexArray, candidates: ComplexArray) -> NDArray[np.bool_]:
    """Return which candidates (M, n) are among the given points (N, n)."""
    distances, _ = _tree(known).query(_flat(candidates), p=np.inf)
    return np.asarray(distances <= SAME * sizes(candidates))


def imaginary_shares(points: ComplexArray) -> NDArray[np.float64]:
    """Return the largest imaginary part of each point, relative to its size."""
    return np.asarray(np.abs(points.imag).max(axis=-1, initial=0.0) / sizes(points))


def real_points(points: ComplexArray) -> NDArray[np.bool_]:
    """Return points (…, n) whose imaginary parts are rounding errors."""
    return np.asarray(imaginary_shares(points) <= REAL)


def without_conjugate(points: ComplexArray, tolerance: float = SAME_CONJUGATE) -> int:
    """Count the nonreal points without a conjugate.

    Along a random real functional, partners have the same real part and opposite imaginary parts, so the
    upper and the lower half, each sorted by real part, must match entry by entry.
    """
    if not len(points):
        return 0
    key = points @ generic_directions(1, points.shape[1])[0]
    upper, lower = points[key.imag > 0], points[key.imag <= 0]
    upper = upper[np.argsort(key[key.imag > 0].real)]
    lower = lower[np.argsort(key[key.imag <= 0].real)].conj()
    if len(upper) == len(lower) and same(upper, lower, tolerance).all():
        return 0
    partners = sum(bool(same(points, point.conj(), tolerance).any()) for point in points)
    return len(points) - partners


def _tree(points: ComplexArray) -> KDTree:
    return KDTree(_flat(points))


def _flat(points: ComplexArray) -> NDArray[np.float64]:
    return np.concatenate([points.real, points.imag], axis=1)
