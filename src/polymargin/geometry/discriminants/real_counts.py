"""How many critical points are real, at many points of one boundary.

All regular critical points at one generic complex point are followed to every point asked for, and a survey counts the real ones
of most points. The others are looked at closely. The number of real ones has the parity of their total; where it has not, where a
path got lost or an imaginary part is neither zero nor clearly nonzero, the sample is tried again on another way and marked if
doubt remains: it lies on the ED discriminant or next to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import DEFAULT_LIMIT
from polymargin.boundary import Boundary
from polymargin.continuation import Job, Paths, Tracker
from polymargin.continuation.same_points import CLEARLY_COMPLEX, REAL, imaginary_shares
from polymargin.enumeration import base_solutions, check_limit
from polymargin.enumeration.cache import Cache
from polymargin.errors import InputError
from polymargin.geometry.ed_degrees.boundary_count import ends_at_level_zero, level_zero
from polymargin.polynomials import Program
from polymargin.work import Workers, completed

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

# Samples that are followed together; bounds the memory and is what one worker gets at a time.
BATCH = 2_000
# On a GPU as many samples as have so many paths.
PATHS_PER_GPU_BATCH = 1 << 22


@dataclass(frozen=True, eq=False)
class RealCounter:
    """The regular critical points of one boundary at a generic complex point, ready to be moved.

    There may be so many others as are `undecided`; the counts are of those that are known.
    """

    boundary: Boundary
    program: Program
    solutions: ComplexArray
    parameters: ComplexArray
    undecided: int
    detour: ComplexArray = field(repr=False)

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
        if boundary.degree < 2:
            kind = "a hyperplane" if boundary.degree == 1 else "constant"
            raise InputError(
                f"the boundary ({boundary.name}) is {kind}: the number of its critical points never changes"
            )
        check_limit(boundary, limit, tracker)
        key = (cls, seed, tracker.settings)
        if key in boundary.remembered:
            known: RealCounter = boundary.remembered[key]
            return known
        base = base_solutions(boundary, tracker, seed=seed, cache=Cache.from_option(cache))
        ends, parameters = ends_at_level_zero(base, tracker), level_zero(base)
        generator = np.random.default_rng([seed, 8])
        detour = generator.normal(size=parameters.shape) + 1j * generator.normal(size=parameters.shape)
        detour[-1] = 0
        undecided = base.unjudged + ends.undecided
        found = cls(boundary, base.program, ends.solutions, parameters, undecided, detour)
        if not undecided:  # what was not judged complete is tried again by the next call
            boundary.remembered[key] = found
        return found

    @property
    def total(self) -> int:
        """The number of complex critical points: the ED degree of the boundary."""
        return len(self.solutions)

    def at(
        self, points: Array, tracker: Tracker, executor: Workers | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The number of real critical points at every point (m, n), and which of them are doubtful."""
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
    counter, tracker = batch.counter, batch.tracker
    targets = np.zeros((len(batch.points), len(counter.parameters)), dtype=np.complex128)
    targets[:, :-1] = counter.boundary.reduction.coordinates(batch.points)
    survey = next(tracker.survey([Job(counter.program, counter.solutions, counter.parameters, targets)]))
    sure = survey.unclear == 0
    counts, doubtful = np.zeros(len(targets), dtype=np.int64), np.ones(len(targets), dtype=bool)
    counts[survey.rows[sure]], doubtful[survey.rows[sure]] = survey.real_counts[sure], False
    if doubtful.any():
        again = tracker.follow(counter.program, counter.solutions, counter.parameters, targets[doubtful])
        counts[doubtful], doubtful[doubtful] = _judge(again)
    if doubtful.any():
        # On another way the paths pass other places; only a point on the discriminant stays doubtful.
        away = tracker.follow(counter.program, counter.solutions, counter.parameters, counter.detour)
        if away.converged.all():
            again = tracker.follow(counter.program, away.points[0], counter.detour, targets[doubtful])
            counts[doubtful], doubtful[doubtful] = _judge(again)
    return counts, doubtful


def _judge(paths: Paths) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    imaginary = imaginary_shares(paths.points)
    real = (imaginary <= REAL) & paths.converged
    unclear = (imaginary > REAL) & (imaginary < CLEARLY_COMPLEX)
    counts = real.sum(axis=1)
    wrong_parity = (counts - paths.points.shape[1]) % 2 != 0
    return counts, (~paths.converged | unclear).any(axis=1) | wrong_parity
