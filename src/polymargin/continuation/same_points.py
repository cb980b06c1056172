"""Which points are the same, up to a tolerance relative to their size.

Sorted along a random real direction, equal points are neighbours up to others that happen to project to the same place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation.generic_directions import generic_directions

ComplexArray = NDArray[np.complex128]

SAME = 1e-8


def duplicates(points: ComplexArray, tolerance: float = SAME) -> NDArray[np.bool_]:
    """Which points (N, n) have another one within the relative tolerance.

    Each point is compared with the following ones along the direction until the projection has moved on.
    """
    count = len(points)
    found = np.zeros(count, dtype=bool)
    if count < 2:
        return found
    flat, key, reach, size = _projected(points, tolerance)
    order = np.argsort(key)
    reach = reach[order]
    for shift in range(1, count):
        close = key[order[shift:]] - key[order[:-shift]] <= reach[:-shift]
        if not close.any():
            break
        first, second = order[:-shift][close], order[shift:][close]
        same = np.abs(flat[first] - flat[second]).max(axis=1) <= tolerance * size[first]
        found[first[same]] = found[second[same]] = True
    return found


def clearly_distinct(lists: ComplexArray, tolerance: float = SAME) -> NDArray[np.bool_]:
    """Which of the lists (T, N, n) have no duplicates, told by the projection alone: where it is silent, `duplicates` tells."""
    _, key, reach, _ = _projected(lists, tolerance)
    order = np.argsort(key, axis=1)
    key, reach = (np.take_along_axis(values, order, axis=1) for values in (key, reach))
    return np.asarray((np.diff(key, axis=1) > reach[:, :-1]).all(axis=1))


def _projected(
    points: ComplexArray, tolerance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Points as real vectors, their projections, how far those of equal points can be apart, and sizes."""
    flat = points.view(np.float64) if points.flags.c_contiguous else np.ascontiguousarray(points).view(np.float64)
    direction = generic_directions(1, flat.shape[-1])[0]
    size = 1.0 + np.maximum(flat.max(axis=-1), -flat.min(axis=-1))
    return flat, flat @ direction, tolerance * size * np.abs(direction).sum(), size
