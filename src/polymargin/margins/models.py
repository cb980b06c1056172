"""The margin of a model at a point; that of a boundary alone.

`ordinary` is for many points at once: all paths to all rivals in one queue of the core, and every check on whole arrays. It
answers what nothing speaks against. `margin_at` is for any point, and its answer is the same where both have one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import checked_point
from polymargin.boundary import Boundary
from polymargin.continuation import Tracker
from polymargin.deadlines import TimeUpError
from polymargin.margins.combined import combined
from polymargin.margins.pairs import Enumeration, Pair, out_of_time, pair_for
from polymargin.margins.result import Margin, Ordinary

Array = NDArray[np.float64]


class ModelMargins(ABC):
    """One model and what was computed for it so far. By default every point is answered alone."""

    @property
    def paths_per_point(self) -> int:
        """Return about how many paths lead to one point; 0 where linear algebra answers."""
        return 1

    def prepare(self, points: Array) -> None:
        """Compute what `ordinary` would have to compute first, once for all points like these."""
        return

    def ordinary(self, points: Array, tracker: Tracker) -> Ordinary:
        """Return the margins at points (p, n), finite ones, where there is no more to look at."""
        return np.zeros(0, dtype=np.intp), []

    @abstractmethod
    def margin_at(self, u: Array, tracker: Tracker) -> Margin:
        """Return the margin at one point (n,), until the deadline of the tracker."""


class BoundaryMargins(ModelMargins):
    """A boundary without a network."""

    def __init__(self, boundary: Boundary, search: Enumeration) -> None:
        self._boundary, self._search = boundary, search
        self._known: Pair | None = None

    def _pair(self, tracker: Tracker) -> Pair:
        """Return the pair, made on first access."""
        if self._known is None:
            self._known = pair_for(self._boundary, self._search, tracker)
        return self._known

    @property
    def paths_per_point(self) -> int:
        """Return about how many paths lead to one point; 0 where linear algebra answers."""
        return self._boundary.critical_bound if self._boundary.degree > 2 else 0

    def prepare(self, points: Array) -> None:
        """Find the base solutions that all points share."""
        tracker = self._search.tracker
        self._pair(tracker.until(self._search.deadline(tracker)))

    def ordinary(self, points: Array, tracker: Tracker) -> Ordinary:
        """Return the margins at points (p, n) without doubts, and their rows."""
        pair = self._pair(tracker)
        started = perf_counter()
        rows = np.arange(len(points))
        job = pair.job(points, rows)
        survey = None if job is None else next(tracker.survey([job]))
        column = pair.ordinary(points, rows, survey)
        seconds = (perf_counter() - started) / len(points)
        known = np.flatnonzero(column.known)
        return known, [combined(None, [column.record(row, None)], seconds) for row in known.tolist()]

    def margin_at(self, u: Array, tracker: Tracker) -> Margin:
        """Return the margin at one point (n,)."""
        checked_point(u, self._boundary.dimension)
        started = perf_counter()
        timed = tracker.until(self._search.deadline(tracker))
        try:
            return combined(None, [self._pair(timed).margin_at(u, None, timed)], perf_counter() - started)
        except TimeUpError:
            raise out_of_time(self._search.timeout) from None
