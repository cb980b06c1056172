"""How many critical points are real, at many points of one boundary.

All regular critical points at one generic complex point are followed to every point asked for, and a survey counts the real ones
of most points. That these are all is confirmed by algebra where it counts (`exact_check`), elsewhere by the trace test and by the
endpoint of every path. The others are looked at closely, and at last one by one, with proofs (`regular_ends`). The number of real
ones has the parity of their total. Where it has not, or where a path or an imaginary part stays undecided, the sample is marked:
it lies on the ED discriminant or next to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import DEFAULT_LIMIT
from polymargin.boundary import Boundary
from polymargin.continuation import Job, Paths, Tracker
from polymargin.continuation.same_points import CLEARLY_COMPLEX, REAL, imaginary_shares
from polymargin.enumeration import BaseSolutions, base_solutions, check_limit
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.regular_ends import Endpoints, regular_ends
from polymargin.errors import InputError, PolymarginError
from polymargin.geometry.ed_degrees.boundary_count import ends_at_level_zero, level_zero
from polymargin.geometry.ed_degrees.exact_check import exact_check
from polymargin.work import Workers, completed

Array = NDArray[np.float64]

# Doubtful samples of a batch that are looked at one by one, some hundredths of a second each.
MOST_PROVED = 200
# Generic points tried until all critical points of the boundary are found.
ATTEMPTS = 4
# Samples that are followed together; bounds the memory and is what one worker gets at a time.
BATCH = 2_000
# On a GPU as many samples as have so many paths.
PATHS_PER_GPU_BATCH = 1 << 22


@dataclass(frozen=True, eq=False)
class RealCounter:
    """All regular critical points of one boundary at a generic complex point, ready to be moved."""

    base: BaseSolutions

    @classmethod
    def of(
        cls,
        boundary: Boundary,
        tracker: Tracker,
        *,
        seed: int = 0,
        limit: int = DEFAULT_LIMIT,
        cache: bool | str | Path = True,
    ) -> RealCounter:
        """Return the counter of a boundary with its base solutions."""
        if boundary.degree < 2:
            kind = "a hyperplane" if boundary.degree == 1 else "constant"
            raise InputError(
                f"the boundary ({boundary.name}) is {kind}: the number of its critical points never changes"
            )
        check_limit(boundary, limit, tracker)
        key = (cls, seed, tracker.settings)
        if key in boundary.cache:
            known: RealCounter = boundary.cache[key]
            return known
        expected = exact_check(boundary, seed=seed)[0]
        for attempt in range(ATTEMPTS):
            base = base_solutions(boundary, tracker, seed=seed + attempt, cache=Cache.from_option(cache))
            ends, parameters = ends_at_level_zero(base, tracker), level_zero(base)
            solutions, undecided = ends.solutions, base.unjudged + ends.undecided
            if len(solutions) == expected or (expected is None and not undecided):
                break
        else:
            raise PolymarginError(
                f"{len(solutions)} of {expected or len(solutions) + undecided} critical points of the boundary ({boundary.name}) "
                "were found: numbers of real ones would be too small; try another seed="
            )
        found = cls(BaseSolutions(boundary, base.program, parameters, solutions, 0))
        boundary.cache[key] = found
        return found

    @property
    def total(self) -> int:
        """Return the number of complex critical points: the ED degree of the boundary, as algebra counts it where it does."""
        return len(self.base.solutions)

    def at(
        self, points: Array, tracker: Tracker, executor: Workers | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the number of real critical points at every point (m, n), and which of them are doubtful."""
        tracker = tracker.settled_for(len(points) * self.total)
        size = max(BATCH, PATHS_PER_GPU_BATCH // self.total) if tracker.device == "cuda" else BATCH
        if executor is not None:
            tracker = replace(tracker, threads=1)
        batches: Sequence[_Batch] = [_Batch(self, points[i : i + size], tracker) for i in range(0, len(points), size)]
        found = dict(completed(_count, batches, executor))
        if not batches:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        counts, doubtful = zip(*(found[i] for i in range(len(batches))), strict=True)
        return np.concatenate(counts), np.concatenate(doubtful)


@dataclass(frozen=True, eq=False)
class _Batch:
    counter: RealCounter
    points: Array
    tracker: Tracker


def _count(batch: _Batch) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    base, tracker = batch.counter.base, batch.tracker
    targets = np.zeros((len(batch.points), len(base.parameters)), dtype=np.complex128)
    targets[:, :-1] = base.boundary.reduction.coordinates(batch.points)
    survey = next(tracker.survey([Job(base.program, base.solutions, base.parameters, targets)]))
    sure = survey.unclear == 0
    counts, doubtful = np.zeros(len(targets), dtype=np.int64), np.ones(len(targets), dtype=bool)
    counts[survey.rows[sure]], doubtful[survey.rows[sure]] = survey.real_counts[sure], False
    if doubtful.any():
        counts[doubtful], doubtful[doubtful] = _judge(base.move_to(targets[doubtful], tracker))
    for row in np.flatnonzero(doubtful)[:MOST_PROVED]:
        counts[row], doubtful[row] = _judge_closely(regular_ends(base, targets[row], tracker))
    return counts, doubtful


def _judge(paths: Paths) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    imaginary = imaginary_shares(paths.points)
    real = (imaginary <= REAL) & paths.converged
    counts = real.sum(axis=1)
    wrong_parity = (counts - paths.points.shape[1]) % 2 != 0
    return counts, (~paths.converged | _unclear(imaginary)).any(axis=1) | wrong_parity


def _judge_closely(ends: Endpoints) -> tuple[int, bool]:
    unclear = _unclear(imaginary_shares(ends.paths.points[0]))
    unclear[list(ends.proofs)] = False
    count = int(ends.real.sum())
    return count, not ends.regular.all() or bool(unclear.any()) or (count - len(unclear)) % 2 != 0


def _unclear(imaginary: Array) -> NDArray[np.bool_]:
    return (imaginary > REAL) & (imaginary < CLEARLY_COMPLEX)
