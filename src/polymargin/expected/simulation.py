"""Counting real critical points of random polynomials: the experiment beside the theorem.

Samples depend on the seed alone, so different test points and methods see the same polynomials. In one variable the critical
points are the zeros, counted with a proof (`real_zeros`); otherwise continuation finds all of them (`counting`).

With a GPU some batches are under way at a time, each in a thread: while one of them has its paths there, the points of another
one are gathered here, and double-doubles follow what a third one has lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from polymargin.arguments import checked
from polymargin.continuation import Tracker
from polymargin.errors import InputError
from polymargin.expected.counting import MemberCounter
from polymargin.expected.families import Family, ShallowFamily
from polymargin.expected.fields import Array
from polymargin.expected.integral import as_point
from polymargin.expected.kept_counts import Counts, KeptCounts
from polymargin.expected.real_zeros import count_real_zeros_of
from polymargin.expected.result import SimulatedCounts
from polymargin.work import Workers, completed

# Members (T, P), a point and a tracker to real critical points (T,) and missing ones (T,); any process can do it.
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
    keep: Path | None = None,
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
    keep       a file for the counts of the batches that are finished; a later call with the same arguments goes on from it
    """
    u = as_point(point, family.dimension)
    if not isinstance(samples, (int, np.integer)) or samples < 1:
        raise InputError(f"samples {samples!r}: expected an integer >= 1")
    parameters = family.sample(int(samples), np.random.default_rng(seed))
    if _univariate(family):
        count_batch, complex_count, method = _count_zeros, family.degree, "isolated zeros"
    elif family.degree == 1:
        count_batch, complex_count, method = _count_hyperplanes, 1, "hyperplane"
    else:
        counter = MemberCounter(family, int(seed))
        count_batch, complex_count, method = counter.count, counter.complex_count, "continuation"
    tracker = Tracker.of(None, threads if executor is None else 1, device).settled_for(int(samples) * complex_count)
    size = UNIVARIATE_BATCH if _univariate(family) else BATCH
    if tracker.device == "cuda":
        size = max(size, PATHS_PER_GPU_BATCH // complex_count)
    kept = KeptCounts(keep, f"{family}, {samples} samples, seed {seed}, point {u.tolist()}")
    counts, missing = ([known] for known in kept.load())
    batches = [parameters[start : start + size] for start in range(len(counts[0]), len(parameters), size)]
    for found, lost in _results(count_batch, batches, u, tracker, executor):
        counts.append(found)
        missing.append(lost)
        kept.save(counts, missing)
        if progress is not None:
            progress(len(found))
    return SimulatedCounts(np.concatenate(counts), np.concatenate(missing), complex_count, method, int(seed))


def _results(
    count_batch: CountBatch, batches: list[Array], u: Array, tracker: Tracker, executor: Workers | None
) -> Iterator[Counts]:
    count = partial(_counted, count_batch, u, tracker)
    if executor is not None or tracker.device != "cuda":
        yield from _in_order(completed(count, batches, executor))
        return
    threads = ThreadPoolExecutor(GPU_BATCHES_UNDER_WAY)
    try:
        yield from _in_order(completed(count, batches, threads))
    finally:  # on interruption, wait for the batches under way, not for all
        threads.shutdown(cancel_futures=True)


def _counted(count_batch: CountBatch, u: Array, tracker: Tracker, batch: Array) -> Counts:
    return count_batch(batch, u, tracker)


def _in_order(results: Iterator[tuple[int, Counts]]) -> Iterator[Counts]:
    """Yield batches as early as possible, in their order: counts belong to networks."""
    waiting: dict[int, Counts] = {}
    following = 0
    for index, found in results:
        waiting[index] = found
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _count_zeros(parameters: Array, u: Array, tracker: Tracker) -> Counts:
    counts = count_real_zeros_of(parameters, tracker.workers)
    return counts, np.zeros_like(counts)


def _count_hyperplanes(parameters: Array, u: Array, tracker: Tracker) -> Counts:
    """Return 1 for each sample: every hyperplane has one nearest point."""
    return np.ones(len(parameters), dtype=np.int64), np.zeros(len(parameters), dtype=np.int64)


def _univariate(family: Family) -> bool:
    """Return whether the parameters are the coefficients of a polynomial in one variable, by rising powers."""
    return isinstance(family, ShallowFamily) and family.dimension == 1
