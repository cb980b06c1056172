"""Surveys of lists of ends on whole arrays: the oracle for the kernel that the core and GPUs share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Paths, Survey
from polymargin.continuation.generic_directions import generic_directions
from polymargin.continuation.same_points import (
    CLEARLY_COMPLEX,
    REAL,
    SAME,
    SAME_CONJUGATE,
    duplicates,
    imaginary_shares,
    same,
    sizes,
)
from polymargin.continuation.survey import LARGEST_CONDITION, closest_conjugates, closest_reals

ComplexArray = NDArray[np.complex128]


def survey_in_numpy(paths: Paths, targets: ComplexArray) -> Survey:
    """What `survey_of` finds."""
    points = targets[:, : paths.points.shape[2] - 1].real
    regular = np.asarray((paths.converged & (paths.condition < LARGEST_CONDITION)).all(axis=1))
    rows = np.flatnonzero(regular)
    lists = paths.points[rows] if len(rows) < len(regular) else paths.points
    shares = imaginary_shares(lists)
    real = shares <= REAL
    good = _clearly_distinct(lists)
    for silent in np.flatnonzero(~good).tolist():
        good[silent] = not duplicates(lists[silent]).any()
    good &= _clearly_closed(lists, real)
    if not good.all():
        rows, lists, shares, real = rows[good], lists[good], shares[good], real[good]
    steps = lists[..., :-1].real - points[rows, None]
    distances = np.where(real, np.linalg.norm(steps, axis=2), np.inf)
    nearest = lists[np.arange(len(rows)), distances.argmin(axis=1), :-1].real
    return Survey(
        rows=rows,
        real_counts=real.sum(axis=1),
        unclear=(~real & (shares < CLEARLY_COMPLEX)).sum(axis=1),
        nearest=nearest,
        conjugates=closest_conjugates(lists, real),
        reals=closest_reals(lists, real),
    )


def _clearly_distinct(lists: ComplexArray, tolerance: float = SAME) -> NDArray[np.bool_]:
    """Which of the lists (T, N, n) have no duplicates, told by the projection alone: where it is silent, `duplicates` tells."""
    flat = np.ascontiguousarray(lists).view(np.float64)
    direction = generic_directions(1, flat.shape[2])[0]
    key, reach = flat @ direction, tolerance * sizes(lists) * np.abs(direction).sum()
    order = np.argsort(key, axis=1)
    gaps = np.diff(np.take_along_axis(key, order, axis=1), axis=1)
    return np.asarray((gaps > np.take_along_axis(reach, order, axis=1)[:, :-1]).all(axis=1))


def _clearly_closed(lists: ComplexArray, real: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the lists (T, N, n) are closed under conjugation, told by the order along a functional alone.

    Where it is silent, as where two points lie side by side along the functional, `without_conjugate` tells.
    """
    key = lists @ generic_directions(1, lists.shape[2])[0]
    upper, lower = ~real & (key.imag > 0), ~real & ~(key.imag > 0)
    closed = np.asarray(upper.sum(axis=1) == lower.sum(axis=1))
    rows, first = _sorted(lists, key, upper & closed[:, None])
    _, second = _sorted(lists, key, lower & closed[:, None])
    closed[rows[~same(first, second.conj(), SAME_CONJUGATE)]] = False
    return closed


def _sorted(lists: ComplexArray, key: ComplexArray, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.intp], ComplexArray]:
    """The chosen points of all lists, one list after the other, each by the real part of its key."""
    rows, places = np.nonzero(chosen)
    order = np.lexsort((key.real[chosen], rows))
    rows, places = rows[order], places[order]
    return rows, lists[rows, places]
