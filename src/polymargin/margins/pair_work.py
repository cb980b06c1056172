"""Boundaries and the points that need them: all paths in one queue of the core, then the answers of each boundary."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Job, Survey, Tracker, available_threads
from polymargin.margins.columns import PairColumn, Places
from polymargin.margins.pairs import Pair
from polymargin.margins.table import PairTable
from polymargin.processes import startable_threads

Array = NDArray[np.float64]

# A thread of its own pays for at least so many points.
ROWS_PER_THREAD = 128


@dataclass(frozen=True, eq=False)
class PairWork:
    """One boundary and the points that need it, each with the rival that the boundary is to."""

    pair: Pair
    rows: Places
    rivals: list[int]


def answers(
    u: Array, labels: NDArray[np.intp], classes: int, work: list[PairWork], tracker: Tracker
) -> tuple[PairTable, NDArray[np.bool_]]:
    """The pairs of every point, and which points had paths to follow."""
    jobs = [each.pair.job(u, each.rows) for each in work]
    table, enumerated = PairTable(labels, classes), np.zeros(len(u), dtype=bool)
    for each, job, column in zip(work, jobs, _columns(u, work, jobs, tracker), strict=True):
        enumerated[each.rows] |= job is not None
        table.add(each.rows, each.rivals, column)
    return table, enumerated


def _columns(u: Array, work: list[PairWork], jobs: list[Job | None], tracker: Tracker) -> list[PairColumn]:
    """The answers of every boundary; side by side where there are points enough for several threads."""
    told = tracker.survey([job for job in jobs if job is not None])
    surveys = (None if job is None else next(told) for job in jobs)

    def column(each: PairWork, survey: Survey | None) -> PairColumn:
        return each.pair.ordinary(u, each.rows, each.rivals, survey)

    threads = min(tracker.threads or available_threads(), len(work), len(u) // ROWS_PER_THREAD)
    if threads < 2 or (threads := startable_threads(threads)) < 2:
        return list(map(column, work, surveys))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(column, work, surveys))
