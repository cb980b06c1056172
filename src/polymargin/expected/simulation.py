"""Counting real critical points of random polynomials: the experiment beside the theorem.

Samples depend on the seed alone, so different test points and methods see the same polynomials. In one variable the critical
points are the zeros, counted with a proof (`real_zeros`); otherwise continuation finds all of them (`counting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked
from polymargin.continuation import Tracker
from polymargin.errors import InputError
from polymargin.expected.counting import MemberCounter
from polymargin.expected.families import Family, ShallowFamily
from polymargin.expected.fields import Array
from polymargin.expected.integral import as_point
from polymargin.expected.real_zeros import count_real_zeros_of
from polymargin.expected.result import SimulatedCounts
from polymargin.work import Workers, completed

Counts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
# Members (T, P), a point and a tracker to real critical points (T,) and missing ones (T,); any process can do it.
CountBatch: TypeAlias = Callable[[Array, Array, Tracker], Counts]

# Samples handed to the tracker, or to a worker process, at once; polynomials in one variable, which take a microsecond each;
# and for a GPU as many samples as have so many paths.
BATCH = 250
UNIVARIATE_BATCH = 1 << 14
PATHS_PER_GPU_BATCH = 1 << 24


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
    """Real critical points of the distance from `point` to random members of a family.

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
    batches = [parameters[start : start + size] for start in range(0, len(parameters), size)]
    counts, missing = [], []
    for found, lost in _results(count_batch, batches, u, tracker, executor):
        counts.append(found)
        missing.append(lost)
        if progress is not None:
            progress(len(found))
    return SimulatedCounts(np.concatenate(counts), np.concatenate(missing), complex_count, method, int(seed))


def _results(
    count_batch: CountBatch, batches: list[Array], u: Array, tracker: Tracker, executor: Workers | None
) -> Iterator[Counts]:
    if executor is None:
        return (count_batch(batch, u, tracker) for batch in batches)
    return _in_order(completed(partial(_counted, count_batch, u, tracker), batches, executor))


def _counted(count_batch: CountBatch, u: Array, tracker: Tracker, batch: Array) -> Counts:
    return count_batch(batch, u, tracker)


def _in_order(results: Iterator[tuple[int, Counts]]) -> Iterator[Counts]:
    """Batches as early as possible, but in their order: counts belong to networks."""
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
    """Every hyperplane has one foot."""
    return np.ones(len(parameters), dtype=np.int64), np.zeros(len(parameters), dtype=np.int64)


def _univariate(family: Family) -> bool:
    """Parameters are the coefficients of a polynomial in one variable, by rising powers."""
    return isinstance(family, ShallowFamily) and family.dimension == 1
