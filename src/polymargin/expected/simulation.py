"""Counting real critical points of random polynomials: the experiment beside the theorem.

Samples depend on the seed alone, so different test points and methods see the same polynomials. In one variable the critical
points are the zeros, counted with a proof (`real_zeros`); otherwise continuation finds all of them (`counting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.errors import InputError
from polymargin.expected.counting import count_members, generic_member
from polymargin.expected.families import Family, ShallowFamily
from polymargin.expected.fields import Array
from polymargin.expected.integral import as_point
from polymargin.expected.real_zeros import count_real_zeros
from polymargin.expected.result import SimulatedCounts

Counts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]

# Samples handed to the tracker, or to a worker process, at once.
BATCH = 250


def simulate_real_counts(
    family: Family,
    samples: int,
    point: ArrayLike | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int], None] | None = None,
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
    """
    u = as_point(point, family.dimension)
    if not isinstance(samples, (int, np.integer)) or samples < 1:
        raise InputError(f"samples {samples!r}: expected an integer >= 1")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed {seed!r}: expected an integer >= 0")
    parameters = family.sample(int(samples), np.random.default_rng(seed))
    batches = [parameters[start : start + BATCH] for start in range(0, len(parameters), BATCH)]
    counts, missing = [], []
    for found, lost in _results(family, batches, u, int(seed), threads, executor):
        counts.append(found)
        missing.append(lost)
        if progress is not None:
            progress(len(found))
    if _univariate(family):
        complex_count, method = family.degree, "isolated zeros"
    elif family.degree == 1:
        complex_count, method = 1, "hyperplane"
    else:
        complex_count, method = len(generic_member(family, int(seed)).solutions), "continuation"
    return SimulatedCounts(np.concatenate(counts), np.concatenate(missing), complex_count, method, int(seed))


def _results(
    family: Family, batches: list[Array], u: Array, seed: int, threads: int | None, executor: Executor | None
) -> Iterator[Counts]:
    if executor is None:
        return (_count_batch(family, batch, u, seed, threads) for batch in batches)
    futures = [executor.submit(_count_batch, family, batch, u, seed, 1) for batch in batches]
    return (future.result() for future in futures)


def _count_batch(family: Family, parameters: Array, u: Array, seed: int, threads: int | None) -> Counts:
    """Counts and missing ones of one batch; a function of its arguments alone, so that any process can do it."""
    if _univariate(family):
        counts = np.array([count_real_zeros(row) for row in parameters.tolist()], dtype=np.int64)
        return counts, np.zeros_like(counts)
    if family.degree == 1:  # every hyperplane has one foot
        return np.ones(len(parameters), dtype=np.int64), np.zeros(len(parameters), dtype=np.int64)
    return count_members(family, parameters, u, seed, threads)


def _univariate(family: Family) -> bool:
    """Parameters are the coefficients of a polynomial in one variable, by rising powers."""
    return isinstance(family, ShallowFamily) and family.dimension == 1
