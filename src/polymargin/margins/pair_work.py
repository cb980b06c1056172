"""Boundaries and the points that need them: all paths in one queue of the core, then the answers of each boundary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Job, Tracker, available_threads
from polymargin.margins.columns import PairColumn, Places, QuadricColumn
from polymargin.margins.pairs import Pair, QuadricPair
from polymargin.margins.table import PairTable
from polymargin.quadric import nearest_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairWork:
    """One boundary and the points that need it, each with the rival that the boundary is to."""

    pair: Pair
    rows: Places
    rivals: Places


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


def _columns(u: Array, work: list[PairWork], jobs: list[Job | None], tracker: Tracker) -> Iterator[PairColumn]:
    """The answers of every boundary: two calls of the core, for all paths and for all quadrics, and the rest one by one."""
    told = tracker.survey([job for job in jobs if job is not None])
    quadrics = [(each.pair.solver, each.rows) for each in work if isinstance(each.pair, QuadricPair)]
    nearest = iter(nearest_of(u, quadrics, tracker.threads or available_threads()))
    for each, job in zip(work, jobs, strict=True):
        if isinstance(each.pair, QuadricPair):
            yield QuadricColumn(next(nearest))
        else:
            yield each.pair.ordinary(u, each.rows, None if job is None else next(told))
