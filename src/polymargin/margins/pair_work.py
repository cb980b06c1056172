"""Boundaries and the points that need them: all paths in one queue of the core, then the answers of each boundary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker, available_threads
from polymargin.margins.columns import Places, QuadricColumn
from polymargin.margins.pairs import Pair, QuadricPair
from polymargin.margins.table import PairTable
from polymargin.quadric import nearest_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairWork:
    """One boundary and the points that need it: some rows for each rival that the boundary is to."""

    pair: Pair
    pieces: list[tuple[Places, int]]


def answers(
    u: Array, labels: NDArray[np.intp], classes: int, work: list[PairWork], tracker: Tracker
) -> tuple[PairTable, NDArray[np.bool_]]:
    """Return the pairs of every point, and which points had paths; one call of the core for paths, one for quadrics."""
    table, enumerated = PairTable(labels, classes), np.zeros(len(u), dtype=bool)
    others = [(each.pair, *_together(each.pieces)) for each in work if not isinstance(each.pair, QuadricPair)]
    jobs = [pair.job(u, rows) for pair, rows, _ in others]
    told = tracker.survey([job for job in jobs if job is not None])
    for (pair, rows, rivals), job in zip(others, jobs, strict=True):
        enumerated[rows] |= job is not None
        table.add(rows, rivals, pair.ordinary(u, rows, None if job is None else next(told)))
    if quadrics := [(each.pair.solver, each.pieces) for each in work if isinstance(each.pair, QuadricPair)]:
        asked = [(solver, rows) for solver, pieces in quadrics for rows, _ in pieces]
        nearest = nearest_of(u, asked, tracker.threads or available_threads())
        rivals = np.repeat([rival for _, pieces in quadrics for _, rival in pieces], nearest.counts)
        table.add(nearest.rows, rivals, QuadricColumn(nearest))
    return table, enumerated


def _together(pieces: list[tuple[Places, int]]) -> tuple[Places, Places]:
    """Return all rows, and the rival of each."""
    rows = [rows for rows, _ in pieces]
    return np.concatenate(rows), np.repeat([rival for _, rival in pieces], [len(some) for some in rows])
