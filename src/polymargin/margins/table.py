"""The answers of all boundaries of a network for a block of points, and the margins they make.

One column per boundary; for every point and class, which column has the answer and where. The nearest rival is found on whole
arrays, and records of the others are left for later.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from polymargin.margins.columns import LazyPairs, Mask, PairColumn, Places
from polymargin.margins.result import Margin, PairMargin, made
from polymargin.standing import Standing


class PairTable:
    """Points (p,) with their labels against classes (k,): `upper` and `lower` (p, k) are infinite for the label itself.

    known             (p,): the points all of whose pairs are known
    beyond_rounding   (p, k): where arithmetic decided that logits close to each other do not trouble
    """

    def __init__(self, labels: Places, classes: int) -> None:
        self._labels, shape = labels, (len(labels), classes)
        self._columns: list[PairColumn] = []
        self._column, self._place = np.zeros(shape, dtype=np.intp), np.zeros(shape, dtype=np.intp)
        self._missing = np.full(len(labels), classes - 1)
        self.lower, self.upper = np.full(shape, np.inf), np.full(shape, np.inf)
        self.proved, self.beyond_rounding = np.ones(shape, dtype=bool), np.ones(shape, dtype=bool)

    def add(self, rows: Places, rivals: Places, column: PairColumn) -> None:
        """A boundary: one answer for each of the rows, against a rival of its own."""
        where = rows * self.upper.shape[1] + rivals  # in the arrays laid out flat
        for array, values in (
            (self._column, len(self._columns)),
            (self._place, np.arange(len(rows))),
            (self.lower, column.lower),
            (self.upper, column.upper),
            (self.proved, column.proved),
            (self.beyond_rounding, column.beyond_rounding),
        ):
            array.reshape(-1)[where] = values
        self._columns.append(column)
        self._missing[rows] -= column.known

    @property
    def known(self) -> Mask:
        return np.asarray(self._missing == 0)

    def margins(self, rows: Places, seconds: float) -> list[Margin]:
        """Of known points: the nearest of the rivals, the first of equally near ones."""
        labels = self._labels[rows]
        rivals = self.upper[rows].argmin(axis=1)
        rivals[rivals == labels] = 1  # nobody ties: the first rival of class 0
        nearest = self._records(rows, rivals)
        lower, proved = self.lower[rows].min(axis=1), np.asarray(self.proved[rows].all(axis=1))
        others = self.upper.shape[1] - 1
        return [
            made(
                Margin,
                radius=one.upper,
                lower=low,
                upper=one.upper,
                point=one.point,
                label=label,
                rival=one.rival,
                standing=Standing.CERTIFIED if sure else Standing.NUMERICAL,
                method=one.method,
                seconds=seconds,
                complex_count=one.complex_count,
                real_count=one.real_count,
                pairs=LazyPairs(others, partial(self._pair, row, label, one)),
                notes=tuple([f"against class {one.rival}: {note}" for note in one.notes]) if one.notes else (),
            )
            for row, label, one, low, sure in zip(
                rows.tolist(), labels.tolist(), nearest, lower.tolist(), proved.tolist(), strict=True
            )
        ]

    def _records(self, rows: Places, rivals: NDArray[np.intp]) -> list[PairMargin]:
        columns, places = self._column[rows, rivals], self._place[rows, rivals]
        if len(self._columns) == 1:
            return self._columns[0].records(places)
        found: dict[int, PairMargin] = {}
        for column in np.unique(columns).tolist():
            here = np.flatnonzero(columns == column)
            found.update(zip(here.tolist(), self._columns[column].records(places[here]), strict=True))
        return [found[place] for place in range(len(rows))]

    def _pair(self, row: int, label: int, nearest: PairMargin, place: int) -> PairMargin:
        """One of the pairs of a row; they come by rival."""
        rival = place + (place >= label)
        if rival == nearest.rival:
            return nearest
        return self._columns[int(self._column[row, rival])].records(self._place[row, rival : rival + 1])[0]
