"""Boundaries and the points that need them: all paths in one queue of the core, then the answers of each boundary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Paths, Tracker, available_threads
from polymargin.continuation.survey import survey_of
from polymargin.margins.columns import Places, QuadricColumn
from polymargin.margins.pairs import EnumeratedPair, Pair, QuadricPair
from polymargin.margins.table import PairTable
from polymargin.quadric import NearestBatches, nearest_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairWork:
    """One boundary and the points that need it: some rows for each rival that the boundary is to."""

    pair: Pair
    pieces: list[tuple[Places, int]]


@dataclass(frozen=True, eq=False)
class Enumerated:
    """All paths of one boundary, of a row each against a rival of its own."""

    pair: EnumeratedPair
    rows: Places
    rivals: Places
    paths: Paths


@dataclass(frozen=True, eq=False)
class Found:
    """What was found of all pairs of some points, for their margins and for proofs.

    table        the pairs of every point
    followed     (p,) points with paths
    enumerated   the endpoints of all paths, if they were kept
    nearest      nearest points of quadrics, and their rivals; None without quadrics
    """

    table: PairTable
    followed: NDArray[np.bool_]
    enumerated: list[Enumerated]
    nearest: tuple[NearestBatches, Places] | None


def answers(
    u: Array, labels: NDArray[np.intp], classes: int, work: list[PairWork], tracker: Tracker, keep: bool = False
) -> Found:
    """Find the pairs of every point by two calls of the core, for paths and for quadrics; `keep` the endpoints of paths."""
    table, followed = PairTable(labels, classes), np.zeros(len(u), dtype=bool)
    others = [(each.pair, *_together(each.pieces)) for each in work if not isinstance(each.pair, QuadricPair)]
    jobs = [pair.job(u, rows) for pair, rows, _ in others]
    asked = [job for job in jobs if job is not None]
    kept = iter(tracker.run(asked) if keep else [])
    told = iter(()) if keep else tracker.survey(asked)
    enumerated: list[Enumerated] = []
    for (pair, rows, rivals), job in zip(others, jobs, strict=True):
        survey = None
        if job is not None and keep:
            paths = next(kept)
            survey = survey_of(paths, job.arrays()[2])
            assert isinstance(pair, EnumeratedPair)
            enumerated.append(Enumerated(pair, rows, rivals, paths))
        elif job is not None:
            survey = next(told)
        followed[rows] |= job is not None
        table.add(rows, rivals, pair.ordinary(u, rows, survey))
    nearest = None
    if quadrics := [(each.pair.solver, each.pieces) for each in work if isinstance(each.pair, QuadricPair)]:
        asked_of = [(solver, rows) for solver, pieces in quadrics for rows, _ in pieces]
        batches = nearest_of(u, asked_of, tracker.threads or available_threads())
        nearest = batches, np.repeat([rival for _, pieces in quadrics for _, rival in pieces], batches.counts)
        table.add(batches.rows, nearest[1], QuadricColumn(batches))
    return Found(table, followed, enumerated, nearest)


def _together(pieces: list[tuple[Places, int]]) -> tuple[Places, Places]:
    """Return all rows, and the rival of each."""
    rows = [rows for rows, _ in pieces]
    return np.concatenate(rows), np.repeat([rival for _, rival in pieces], [len(some) for some in rows])
