"""What many lists of ends say at a glance, list by list: everything that whoever asks for many points reads off them.

A list is clear if every path ended at a regular point of its own and the list is closed under conjugation. Nothing is settled
here: a list that is not clear is for somebody who looks at one list at a time. On a GPU a kernel finds the same (`gpu.surveys`),
and only what it says comes back: a few points of each list instead of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin import gpu
from polymargin.continuation.generic_directions import generic_directions
from polymargin.continuation.paths import Paths
from polymargin.continuation.same_points import (
    CLEARLY_COMPLEX,
    REAL,
    SAME,
    SAME_CONJUGATE,
    clearly_closed,
    clearly_distinct,
    duplicates,
    imaginary_shares,
)

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

# Ratio of pivots beyond which Newton's method may have settled on a point of a family, or on a multiple one.
LARGEST_CONDITION = 1e11
# Paths looked at together: their arrays should fit a cache, or every check waits for memory.
PATHS_AT_ONCE = 1 << 14


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
    """What is known of lists of solutions of critical equations in n unknowns, q of them clear.

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
    """The survey of the ends of paths in n unknowns to targets (T, P), whose first n − 1 entries are the points."""
    size = max(1, PATHS_AT_ONCE // max(paths.ends.shape[1], 1))
    places, points = range(0, len(targets), size), targets[:, : paths.points.shape[2] - 1].real
    pieces = [_survey(paths.to_targets(p, p + size), points[p : p + size], p) for p in places]
    return _joined(pieces) if pieces else _survey(paths, points, 0)


def rules(unknowns: int) -> gpu.Rules:
    """What `survey_of` goes by, for a kernel."""
    return gpu.Rules(
        directions=np.concatenate([generic_directions(1, 2 * unknowns)[0], generic_directions(1, unknowns)[0]]),
        same=SAME,
        same_conjugate=SAME_CONJUGATE,
        real=REAL,
        clearly_complex=CLEARLY_COMPLEX,
        largest_condition=LARGEST_CONDITION,
    )


def survey_from(told: gpu.Told) -> Survey:
    """The survey that a kernel has made."""
    rows = np.flatnonzero(told["clear"])
    points, gaps = told["chosen"][rows], told["gaps"][rows]
    return Survey(
        rows=rows,
        real_counts=told["real_counts"][rows].astype(np.int64),
        unclear=told["unclear"][rows].astype(np.int64),
        nearest=points[:, 0, :-1].real,
        conjugates=Closest(gaps[:, 0], points[:, 1], points[:, 1].conj()),
        reals=Closest(gaps[:, 1], points[:, 2], points[:, 3]),
    )


def _joined(pieces: Sequence[Survey]) -> Survey:
    """The surveys of consecutive lists, whose rows are counted through already."""
    if len(pieces) == 1:
        return pieces[0]

    def closest(name: str) -> Closest:
        found = [getattr(piece, name) for piece in pieces]
        return Closest(
            *(np.concatenate([getattr(one, part) for one in found]) for part in Closest.__dataclass_fields__)
        )

    return Survey(
        rows=np.concatenate([piece.rows for piece in pieces]),
        real_counts=np.concatenate([piece.real_counts for piece in pieces]),
        unclear=np.concatenate([piece.unclear for piece in pieces]),
        nearest=np.concatenate([piece.nearest for piece in pieces]),
        conjugates=closest("conjugates"),
        reals=closest("reals"),
    )


def surveys_of(paths: Sequence[Paths], targets: Sequence[ComplexArray]) -> Iterator[Survey]:
    """One after the other, each when it is asked for."""
    return (survey_of(found, points) for found, points in zip(paths, targets, strict=True))


def closest_conjugates(lists: ComplexArray, real: NDArray[np.bool_]) -> Closest:
    """In each of the lists (T, N, n) the point nearest to its own conjugate, of those that are not real."""
    if not lists.shape[1]:
        return _no_pairs(lists)
    y = lists[..., :-1]
    gaps = np.where(real, np.inf, 2 * np.linalg.norm(y.imag, axis=2) / (1 + np.abs(y).max(axis=2, initial=0.0)))
    place, each = gaps.argmin(axis=1), np.arange(len(lists))
    first = lists[each, place]
    return Closest(gaps[each, place], first, first.conj())


def closest_reals(lists: ComplexArray, real: NDArray[np.bool_]) -> Closest:
    """In each of the lists (T, N, n) the two real points nearest to each other."""
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


def _survey(paths: Paths, points: Array, first: int) -> Survey:
    regular = np.asarray((paths.converged & (paths.condition < LARGEST_CONDITION)).all(axis=1))
    rows = np.flatnonzero(regular)
    lists = paths.points[rows] if len(rows) < len(regular) else paths.points
    shares = imaginary_shares(lists)
    real = shares <= REAL
    good = clearly_distinct(lists)
    for silent in np.flatnonzero(~good).tolist():
        good[silent] = not duplicates(lists[silent]).any()
    good &= clearly_closed(lists, real)
    if not good.all():
        rows, lists, shares, real = rows[good], lists[good], shares[good], real[good]
    steps = lists[..., :-1].real - points[rows, None]
    distances = np.where(real, np.linalg.norm(steps, axis=2), np.inf)
    nearest = lists[np.arange(len(rows)), distances.argmin(axis=1), :-1].real
    return Survey(
        rows=rows + first,
        real_counts=real.sum(axis=1),
        unclear=(~real & (shares < CLEARLY_COMPLEX)).sum(axis=1),
        nearest=nearest,
        conjugates=closest_conjugates(lists, real),
        reals=closest_reals(lists, real),
    )
