"""Summarise endpoints of many paths, list by list.

A list is clear if every path ended at a regular point of its own and the list is closed under conjugation. Lists that are not
clear are examined one at a time elsewhere. One kernel serves the CPU and GPUs (gpu/kernel/survey.cuh); a GPU transfers only the
survey, a few points of each list.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin import _core, gpu
from polymargin.continuation.generic_directions import generic_directions
from polymargin.continuation.paths import Paths
from polymargin.continuation.same_points import (
    CLEARLY_COMPLEX,
    REAL,
    SAME,
    SAME_CONJUGATE,
)

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

# Ratio of pivots beyond which Newton's method may have settled on a point of a family, or on a multiple one.
LARGEST_CONDITION = 1e11


@dataclass(frozen=True, eq=False)
class Closest:
    """Two points of each of q lists: gaps (q,) between them, relative to their size and without the last coordinate.

    Infinite where there are no two; the points (q, n) mean nothing there.
    """

    gaps: Array
    first: ComplexArray
    second: ComplexArray


@dataclass(frozen=True, eq=False)
class Survey:
    """A summary of lists of solutions of critical equations in n unknowns, q of them clear.

    rows         (q,) the clear ones; the other fields have an entry for each of these
    real_counts  (q,) number of real points
    unclear      (q,) number of points that are not real but nearly so
    nearest      (q, n − 1) the real point nearest to the target's, without its multiplier; meaningless where there is none
    conjugates   the point nearest to its own conjugate
    reals        the two real points nearest to each other
    """

    rows: NDArray[np.intp]
    real_counts: NDArray[np.int64]
    unclear: NDArray[np.int64]
    nearest: Array
    conjugates: Closest
    reals: Closest


def survey_of(paths: Paths, targets: ComplexArray) -> Survey:
    """Return the survey of the endpoints of paths in n unknowns to targets (T, P), whose first n − 1 entries are the points."""
    laws = vars(rules(paths.points.shape[2]))
    return survey_from(_core.survey(paths.points, paths.ends, paths.condition, targets, **laws))


def rules(unknowns: int) -> gpu.Rules:
    """Return the parameters of the kernel."""
    return gpu.Rules(
        directions=generic_directions(1, 3 * unknowns)[0],
        same=SAME,
        same_conjugate=SAME_CONJUGATE,
        real=REAL,
        clearly_complex=CLEARLY_COMPLEX,
        largest_condition=LARGEST_CONDITION,
    )


def survey_from(found: gpu.SurveyArrays) -> Survey:
    """Return the survey that a kernel has made."""
    rows = np.flatnonzero(found["clear"])
    points, gaps = found["chosen"][rows], found["gaps"][rows]
    return Survey(
        rows=rows,
        real_counts=found["real_counts"][rows].astype(np.int64),
        unclear=found["unclear"][rows].astype(np.int64),
        nearest=np.ascontiguousarray(points[:, 0, :-1].real),
        conjugates=Closest(gaps[:, 0], points[:, 1], points[:, 1].conj()),
        reals=Closest(gaps[:, 1], points[:, 2], points[:, 3]),
    )


def closest_conjugates(lists: ComplexArray, real: NDArray[np.bool_]) -> Closest:
    """Return in each of the lists (T, N, n) the point nearest to its own conjugate, of those that are not real."""
    if not lists.shape[1]:
        return _no_pairs(lists)
    y = lists[..., :-1]
    gaps = np.where(real, np.inf, 2 * np.linalg.norm(y.imag, axis=2) / (1 + np.abs(y).max(axis=2, initial=0.0)))
    place, each = gaps.argmin(axis=1), np.arange(len(lists))
    first = lists[each, place]
    return Closest(gaps[each, place], first, first.conj())


def closest_reals(lists: ComplexArray, real: NDArray[np.bool_]) -> Closest:
    """Return in each of the lists (T, N, n) the two real points nearest to each other."""
    if not lists.shape[1]:
        return _no_pairs(lists)
    most = max(int(real.sum(axis=1).max(initial=0)), 1)
    reals = np.argsort(~real, axis=1, kind="stable")[:, :most]  # those of each list, then others
    present = np.take_along_axis(real, reals, axis=1)
    y = np.take_along_axis(lists[..., :-1].real, reals[..., None], axis=1)
    gaps = np.linalg.norm(y[:, :, None] - y[:, None, :], axis=3)
    gaps /= (1 + np.abs(y).max(axis=2, initial=0.0))[:, None, :]
    gaps[~(present[:, :, None] & present[:, None, :]) | np.eye(most, dtype=bool)] = np.inf
    flat, each = gaps.reshape(len(lists), most * most), np.arange(len(lists))
    place = flat.argmin(axis=1)
    one, other = np.divmod(place, most)
    return Closest(flat[each, place], lists[each, reals[each, one]], lists[each, reals[each, other]])


def _no_pairs(lists: ComplexArray) -> Closest:
    count, _, unknowns = lists.shape
    points = np.zeros((count, unknowns), dtype=np.complex128)
    return Closest(np.full(count, np.inf), points, points)
