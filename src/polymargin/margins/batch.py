"""Many points: in blocks, at the core's speed where nothing is out of the ordinary, one at a time elsewhere.

A block of rows is one queue for the core, with as many rows as keep it busy for a fraction of a second. What is answered
together is done; every other row is answered alone, with more effort, and a bad one fails alone. With several threads, blocks
are followed and checked side by side, each on a thread of its own, while this thread prepares those to come and answers the rows
left over. A row's answer depends on nothing but the row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker, available_threads
from polymargin.deadlines import TimeUpError
from polymargin.errors import PolymarginError
from polymargin.processes import startable_threads
from polymargin.work import Workers, completed_together, worker_count

Array = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.intp]
# Of many rows those that are answered, by their places, and their answers.
Answered: TypeAlias = tuple[Rows, Sequence[Any]]

# Paths, rows and coordinates of a block: they bound the memory and the time until a block is written down.
PATHS_PER_BLOCK = 1 << 14
# Workers get more at a time: handing out a task and taking its answers costs the calling process some milliseconds.
PATHS_PER_TASK = 1 << 16
# A GPU follows a thousand times as many in that time. Where points have so many that their ends are not surveyed there, these
# take memory: then a quarter.
PATHS_PER_GPU_BLOCK = 1 << 24
MANY_PER_POINT = 1 << 17
GPU_BLOCKS = 4
MOST_ROWS = 4096
MOST_ENTRIES = 1 << 20
# Workers of an executor get the rows in about so many pieces each: few enough to cost little, enough to end together.
TASKS_PER_WORKER = 8


class PointQuestion(ABC):
    """What is asked about every point; it travels to workers with what was prepared. By default each row is answered alone."""

    @property
    def paths_per_point(self) -> int:
        """Return about how many paths lead to one point; 0 where linear algebra answers."""
        return 1

    def prepare(self, points: Array) -> None:
        """Compute what `together` would have to compute first, once for all points like these."""
        return

    def together(self, points: Array, tracker: Tracker) -> Answered:
        """Return the answers for those of the finite points (p, n) that arrays answer together."""
        return np.zeros(0, dtype=np.intp), []

    @abstractmethod
    def at(self, point: Array, tracker: Tracker) -> Any:
        """Return the answer for one point (n,)."""

    @abstractmethod
    def failed(self, error: str, seconds: float) -> Any:
        """Return what stands for a row without an answer."""


def answers(
    question: PointQuestion,
    points: Array,
    rows: Rows,
    tracker: Tracker,
    executor: Workers | None = None,
    single: bool = False,
) -> Iterator[Answered]:
    """Yield the answers for rows of points (m, n), some rows at a time as they are done; of a `single` one, errors are raised."""
    if single and len(rows):
        _, plain = _together(question, points, tracker)
        yield rows, plain or [question.at(points[0], tracker)]
        return
    threads, paths_per_point = tracker.threads or available_threads(), question.paths_per_point
    tracker = tracker.settled_for(len(rows) * paths_per_point)
    most, paths = MOST_ROWS, PATHS_PER_BLOCK
    if executor is not None:
        most, paths = max(1, len(rows) // (TASKS_PER_WORKER * worker_count(executor))), PATHS_PER_TASK
    if on_gpu := tracker.device == "cuda":
        threads = min(threads, GPU_BLOCKS)
        paths = PATHS_PER_GPU_BLOCK if paths_per_point <= MANY_PER_POINT else PATHS_PER_GPU_BLOCK // 4
    size = max(1, min(most, paths // max(1, paths_per_point), MOST_ENTRIES // points.shape[1]))
    blocks = _blocks(rows, size, threads, in_turns=executor is None and not on_gpu)
    if executor is not None:
        _prepare(question, points[rows])  # done once, here, and it travels with the question
        shared = question, replace(tracker, threads=1)
        for place, found in completed_together(_answered, shared, [points[block] for block in blocks], executor):
            yield blocks[place], found
    elif threads > 1 and len(blocks) >= threads and (given := startable_threads(threads)) > 1:
        yield from _side_by_side(question, points, blocks, tracker, given)
    else:
        for block in blocks:
            some = _shared_rows(points, block)
            yield from _pieces(question, some, block, _together(question, some, tracker), tracker)


def _answered(shared: tuple[PointQuestion, Tracker], points: Array) -> list[Any]:
    """Return the answers for all rows of a block, on a worker."""
    question, tracker = shared
    known = dict(zip(*_places(_together(question, points, tracker)), strict=True))
    return [
        known[place] if place in known else answer_or_failure(question, u, tracker) for place, u in enumerate(points)
    ]


def _places(answered: Answered) -> tuple[list[int], Sequence[Any]]:
    return answered[0].tolist(), answered[1]


def _together(question: PointQuestion, points: Array, tracker: Tracker) -> Answered:
    """Return the rows that nothing is wrong with, all at once."""
    finite = finite_rows(points)
    if not len(finite):
        return finite, []
    own = points[finite]  # rows that are made later start from these, whatever becomes of the array that was given
    try:
        places, found = question.together(own, tracker)
    except (PolymarginError, ArithmeticError, TimeUpError, np.linalg.LinAlgError):
        return finite[:0], []  # one of them broke it; alone, each tells
    return finite[places], found


def finite_rows(points: Array) -> Rows:
    """Return the rows without a number that is not finite."""
    finite = np.isfinite(points)
    return np.arange(len(points)) if finite.all() else np.flatnonzero(finite.all(axis=1))


def answer_or_failure(question: PointQuestion, u: Array, tracker: Tracker) -> Any:
    """Return the answer for one row by itself."""
    started = perf_counter()
    try:
        return question.at(u, tracker)
    except PolymarginError as error:
        return question.failed(str(error), perf_counter() - started)
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        sentence = f"the arithmetic broke down ({error}); rescale the weights or inputs"
        return question.failed(sentence, perf_counter() - started)


def _shared_rows(points: Array, rows: Rows) -> Array:
    """Return some rows, rising; neighbouring rows are not copied."""
    first, end = int(rows[0]), int(rows[-1]) + 1
    return points[first:end] if end - first == len(rows) else points[rows]


def _pieces(
    question: PointQuestion, points: Array, rows: Rows, answered: Answered, tracker: Tracker
) -> Iterator[Answered]:
    """Yield the rows that were answered together, then each of the others, which may take long, as soon as it is done."""
    places, found = answered
    if len(places):
        yield rows[places], found
    others = np.ones(len(rows), dtype=bool)
    others[places] = False
    for place in np.flatnonzero(others).tolist():
        yield rows[place : place + 1], [answer_or_failure(question, points[place], tracker)]


def _blocks(rows: Rows, size: int, threads: int, in_turns: bool) -> list[Rows]:
    """Return the blocks of equal work for each thread.

    Between two calls of the core a thread needs Python's lock; with equal pieces all of them would at the same time. `in_turns`
    the first pieces are 1/t, 2/t, …, t/t of the others, and the last ones make up for that.
    """
    if len(rows) <= size:  # the threads of the core share a single block
        return [rows] if len(rows) else []
    whole = threads * -(-len(rows) // (size * threads))
    shares = [threads] * whole
    if in_turns:
        rising = list(range(1, threads))
        shares = [*rising, *[threads] * (whole - threads + 1), *reversed(rising)]
    ends = np.cumsum(shares) * len(rows) // sum(shares)
    return [piece for piece in np.split(rows, ends[:-1]) if len(piece)]


def _side_by_side(
    question: PointQuestion, points: Array, blocks: list[Rows], tracker: Tracker, threads: int
) -> Iterator[Answered]:
    alone = replace(tracker, threads=1)
    waiting: deque[tuple[Rows, Future[Answered]]] = deque()
    left = iter(blocks)
    pool = ThreadPoolExecutor(threads)
    try:
        while True:
            while len(waiting) < 2 * threads and (rows := next(left, None)) is not None:
                _prepare(question, points[rows])
                waiting.append((rows, pool.submit(_together, question, points[rows], alone)))
            if not waiting:
                return
            rows, future = waiting.popleft()
            yield from _pieces(question, points[rows], rows, future.result(), tracker)
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare(question: PointQuestion, points: Array) -> None:
    """Prepare on this thread, so that it is done once; a row that cannot have it says so when its turn comes."""
    finite = points[finite_rows(points)]
    if len(finite):
        try:
            question.prepare(finite)
        except (PolymarginError, ArithmeticError, TimeUpError, np.linalg.LinAlgError):
            return
