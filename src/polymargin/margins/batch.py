"""Many points: in blocks, at the core's speed where nothing is out of the ordinary, one at a time elsewhere.

A block of rows is one queue for the core, with as many rows as keep it busy for a fraction of a second. What the model
answers as `ordinary` is done; every other row is looked at alone, and a bad one fails alone. With several threads, blocks
are followed and checked side by side, each on a thread of its own, while this thread computes stage 1 for those to
come and looks at the rows left over. A row's answer depends on nothing but the row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker, available_threads
from polymargin.deadlines import TimeUpError
from polymargin.errors import PolymarginError
from polymargin.margins.models import ModelMargins
from polymargin.margins.result import Margin, Ordinary, failed
from polymargin.processes import startable_threads
from polymargin.work import Workers, completed_together, worker_count

Array = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.intp]

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


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of a batch, and what they are asked of."""

    session: ModelMargins
    points: Array
    tracker: Tracker


def answers(
    session: ModelMargins,
    points: Array,
    rows: Rows,
    tracker: Tracker,
    executor: Workers | None = None,
    single: bool = False,
) -> Iterator[Ordinary]:
    """Return the margins of rows of points (m, n), some rows at a time as they are done; of a `single` one, errors are raised."""
    if single and len(rows):
        block = Block(session, points, tracker)
        _, plain = ordinary_margins(block)
        yield rows, plain or [session.margin_at(points[0], tracker)]
        return
    threads = tracker.threads or available_threads()
    tracker = tracker.settled_for(len(rows) * session.paths_per_point)
    most, paths = MOST_ROWS, PATHS_PER_BLOCK
    if executor is not None:
        most, paths = max(1, len(rows) // (TASKS_PER_WORKER * worker_count(executor))), PATHS_PER_TASK
    if on_gpu := tracker.device == "cuda":
        threads = min(threads, GPU_BLOCKS)
        paths = PATHS_PER_GPU_BLOCK if session.paths_per_point <= MANY_PER_POINT else PATHS_PER_GPU_BLOCK // 4
    size = max(1, min(most, paths // max(1, session.paths_per_point), MOST_ENTRIES // session.dimension))
    blocks = _blocks(rows, size, threads, in_turns=executor is None and not on_gpu)
    if executor is not None:
        _prepare(session, points[rows])  # stage 1 is done once, here, and travels with the session
        shared = _Session(session, replace(tracker, threads=1))
        for place, found in completed_together(
            _margins_of_block, shared, [points[block] for block in blocks], executor
        ):
            yield blocks[place], found
    elif threads > 1 and len(blocks) >= threads and (given := startable_threads(threads)) > 1:
        yield from _side_by_side(session, points, blocks, tracker, given)
    else:
        for rows_of_block in blocks:
            block = Block(session, _shared_rows(points, rows_of_block), tracker)
            yield from _pieces(rows_of_block, block, ordinary_margins(block))


@dataclass(frozen=True, eq=False)
class _Session:
    """What a worker needs besides the rows: the model with its base solutions."""

    session: ModelMargins
    tracker: Tracker


def _margins_of_block(shared: _Session, points: Array) -> list[Margin]:
    """All rows of a block, whatever becomes of each."""
    block = Block(shared.session, points, shared.tracker)
    places, found = ordinary_margins(block)
    known = dict(zip(places.tolist(), found, strict=True))
    return [
        known[place] if place in known else margin_or_failure(block.session, u, block.tracker)
        for place, u in enumerate(points)
    ]


def ordinary_margins(block: Block) -> Ordinary:
    """The rows that nothing is wrong with, all at once."""
    points = block.points
    finite = finite_rows(points)
    if points.shape[1] != block.session.dimension or not len(finite):
        return finite[:0], []
    own = points[finite]  # rows that are made later start from these, whatever becomes of the array that was given
    try:
        places, found = block.session.ordinary(own, block.tracker)
    except (PolymarginError, ArithmeticError, TimeUpError, np.linalg.LinAlgError):
        return finite[:0], []  # one of them broke it; alone, each tells
    return finite[places], found


def finite_rows(points: Array) -> Rows:
    finite = np.isfinite(points)
    return np.arange(len(points)) if finite.all() else np.flatnonzero(finite.all(axis=1))


def margin_or_failure(session: ModelMargins, u: Array, tracker: Tracker) -> Margin:
    """One row by itself."""
    started = perf_counter()
    try:
        return session.margin_at(u, tracker)
    except PolymarginError as error:
        return failed(str(error), perf_counter() - started)
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        return failed(f"the arithmetic broke down ({error}); rescale the weights or inputs", perf_counter() - started)


def _shared_rows(points: Array, rows: Rows) -> Array:
    """Some rows, rising; not copied where they lie side by side."""
    first, end = int(rows[0]), int(rows[-1]) + 1
    return points[first:end] if end - first == len(rows) else points[rows]


def _pieces(rows: Rows, block: Block, ordinary: Ordinary) -> Iterator[Ordinary]:
    """The ordinary rows of a block together, then each of the others, which may take long, as soon as it is done."""
    places, margins = ordinary
    if margins:
        yield rows[places], margins
    others = np.ones(len(rows), dtype=bool)
    others[places] = False
    for place in np.flatnonzero(others).tolist():
        yield rows[place : place + 1], [margin_or_failure(block.session, block.points[place], block.tracker)]


def _blocks(rows: Rows, size: int, threads: int, in_turns: bool) -> list[Rows]:
    """As much for each thread: none is left alone with the last piece.

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
    session: ModelMargins, points: Array, blocks: list[Rows], tracker: Tracker, threads: int
) -> Iterator[Ordinary]:
    alone = replace(tracker, threads=1)
    waiting: deque[tuple[Rows, Future[Ordinary]]] = deque()
    left = iter(blocks)
    pool = ThreadPoolExecutor(threads)
    try:
        while True:
            while len(waiting) < 2 * threads and (rows := next(left, None)) is not None:
                _prepare(session, points[rows])
                waiting.append((rows, pool.submit(ordinary_margins, Block(session, points[rows], alone))))
            if not waiting:
                return
            rows, future = waiting.popleft()
            yield from _pieces(rows, Block(session, points[rows], tracker), future.result())
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare(session: ModelMargins, points: Array) -> None:
    """Stage 1 belongs to this thread, so that it is done once; a row that cannot have it says so when its turn comes."""
    finite = points[finite_rows(points)]
    if len(finite) and points.shape[1] == session.dimension:
        try:
            session.prepare(finite)
        except (PolymarginError, ArithmeticError, TimeUpError, np.linalg.LinAlgError):
            return
