"""Counting real critical points of random polynomials: the experiment beside the theorem.

Samples depend on the seed alone, so different test points and methods see the same polynomials. In one variable the critical
points are the zeros, counted with a proof (`real_zeros`); otherwise continuation finds all of them (`counting`).

With a GPU some batches are under way at a time, each in a thread: while one of them has its paths there, the points of another
one are gathered here, and double-doubles follow what a third one has lost.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked
from polymargin.continuation import Tracker
from polymargin.errors import InputError
from polymargin.expected.counting import MemberCounter
from polymargin.expected.families import Family, ShallowFamily
from polymargin.expected.integral import as_point
from polymargin.expected.real_zeros import count_real_zeros_of
from polymargin.expected.result import SimulatedCounts
from polymargin.expected.tangent import Array
from polymargin.work import Workers, completed

# Members (T, P), a point and a tracker to real critical points (T,) and missing ones (T,); any process can do it.
Counts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
CountBatch: TypeAlias = Callable[[Array, Array, Tracker], Counts]

# Samples handed to the tracker, or to a worker process, at once; polynomials in one variable, which take a microsecond each;
# and for a GPU as many samples as have so many paths, and so many batches under way.
BATCH = 250
UNIVARIATE_BATCH = 1 << 14
PATHS_PER_GPU_BATCH = 1 << 23
GPU_BATCHES_UNDER_WAY = 3


@checked()
def simulate_real_counts(
    family: Family,
    samples: int,
    point: ArrayLike | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    executor: Workers | None = None,
    progress: Callable[[int], None] | None = None,
    device: str | None = None,
) -> SimulatedCounts:
    """Return the real critical points of the distance from `point` to random members of a family.

    Parameters
    ----------
    family     `ShallowFamily`, `DeepFamily`, `AttentionFamily`, or any other `Family`
    samples    number of random members
    point      the point u, the origin by default
    seed       of the members and of the generic member; nothing else is random
    threads    worker threads, all available cores by default; one per process with an executor
    executor   a pool of processes (any `concurrent.futures.Executor`) that shares the batches
    progress   called with the number of samples that were finished
    device     'cpu', 'cuda' or 'auto': a GPU if there is one and the paths are many; POLYMARGIN_DEVICE by default
    """
    u = as_point(point, family.dimension)
    if not isinstance(samples, (int, np.integer)) or samples < 1:
        raise InputError(f"samples {samples!r}: expected an integer >= 1")
    parameters = family.sample(int(samples), np.random.default_rng(seed))
    if family.degree == 1:  # every hyperplane has one nearest point
        ones = np.ones(len(parameters), dtype=np.int64)
        return SimulatedCounts(ones, 0 * ones, 1, "hyperplane", int(seed))
    univariate = isinstance(family, ShallowFamily) and family.dimension == 1
    count_batch: CountBatch
    count_batch, complex_count, size = _count_zeros, family.degree, UNIVARIATE_BATCH
    if not univariate:
        counter = MemberCounter(family, int(seed))
        count_batch, complex_count, size = counter.count, counter.complex_count, BATCH
    tracker = Tracker.of(None, threads if executor is None else 1, device).settled_for(int(samples) * complex_count)
    pool = executor
    if tracker.device == "cuda":
        size = max(size, PATHS_PER_GPU_BATCH // complex_count)
        pool = executor or ThreadPoolExecutor(GPU_BATCHES_UNDER_WAY)
    batches = [parameters[start : start + size] for start in range(0, len(parameters), size)]
    found: dict[int, Counts] = {}
    try:
        for index, counts in completed(partial(_counted, count_batch, u, tracker), batches, pool):
            found[index] = counts
            if progress is not None:
                progress(len(counts[0]))
    finally:  # on interruption, wait for the batches under way, not for all
        if isinstance(pool, ThreadPoolExecutor) and pool is not executor:
            pool.shutdown(cancel_futures=True)
    numbers, missing = (np.concatenate(part) for part in zip(*(found[i] for i in range(len(batches))), strict=True))
    return SimulatedCounts(
        numbers, missing, complex_count, "isolated zeros" if univariate else "continuation", int(seed)
    )


def _counted(count_batch: CountBatch, u: Array, tracker: Tracker, batch: Array) -> Counts:
    return count_batch(batch, u, tracker)


def _count_zeros(parameters: Array, u: Array, tracker: Tracker) -> Counts:
    """Return the numbers of zeros of polynomials in one variable, given by coefficients of rising powers."""
    counts = count_real_zeros_of(parameters, tracker.workers)
    return counts, np.zeros_like(counts)
