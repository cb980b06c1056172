"""The answers of all boundaries of a network for a block of points, and the margins they make.

One column per boundary; for every point and class, which column has the answer and where. The nearest rival is found on whole
arrays, and records of the others are left for later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from polymargin.margins.columns import Array, Details, Mask, PairColumn, Places
from polymargin.margins.result import Margin, PairMargin, margin_with
from polymargin.standing import Standing

CERTIFIED, NUMERICAL = Standing.CERTIFIED, Standing.NUMERICAL


class PairTable:
    """Points (p,) with their labels against classes (k,): `upper` and `lower` (p, k) are infinite for the label itself.

    known             (p,): the points all of whose pairs are known
    beyond_rounding   (p, k): where arithmetic decided that logits close to each other do not trouble

    Values that are rarely needed are computed on first access.
    """

    def __init__(self, labels: Places, classes: int) -> None:
        self.labels, self._shape = labels, (len(labels), classes)
        self._columns: list[PairColumn] = []
        self._where: list[Places] = []  # those of each column in arrays (p, k) laid out flat
        self._known = np.zeros(self._shape, dtype=bool)
        self._known[np.arange(len(labels)), labels] = True
        self.upper = np.full(self._shape, np.inf)

    def add(self, rows: Places, rivals: Places, column: PairColumn) -> None:
        """Add one answer for each of the rows, against a rival of its own."""
        where = rows * self._shape[1] + rivals
        self.upper.reshape(-1)[where] = column.upper
        self._known.reshape(-1)[where] = column.known
        self._columns.append(column)
        self._where.append(where)

    @cached_property
    def lower(self) -> Array:
        """Return the lower bounds of all rivals."""
        return self._laid_out(np.inf, [column.lower for column in self._columns])

    @cached_property
    def proved(self) -> Mask:
        """Return which answers are proved."""
        return self._laid_out(True, [column.proved for column in self._columns])

    @cached_property
    def beyond_rounding(self) -> Mask:
        """Return which pairs were decided beyond rounding."""
        return self._laid_out(True, [column.beyond_rounding for column in self._columns])

    @cached_property
    def _column(self) -> Places:
        return self._laid_out(0, range(len(self._columns)))

    @cached_property
    def _place(self) -> Places:
        return self._laid_out(0, [np.arange(len(where)) for where in self._where])

    def _laid_out(self, label: Any, columns: Sequence[Any]) -> NDArray[Any]:
        array = np.full(self._shape, label)
        for where, values in zip(self._where, columns, strict=True):
            array.reshape(-1)[where] = values
        return array

    @property
    def known(self) -> Mask:
        """Return which points have an answer for every rival."""
        return np.asarray(self._known.all(axis=1))

    def margins(self, rows: Places, seconds: float) -> TableRows:
        """Return the margins of known points: the nearest rival, the first of equally near ones."""
        rivals = self.upper[rows].argmin(axis=1)
        rivals[rivals == self.labels[rows]] = 1  # without a tie: the first rival of class 0
        return TableRows(self, rows, rivals, seconds)

    def details(self, rows: Places, rivals: Places) -> list[Details]:
        """Return the details of one rival for each of some known points."""
        if not len(rows):
            return []
        columns, places = self._column[rows, rivals], self._place[rows, rivals]
        order = np.argsort(columns, kind="stable")
        which, starts = np.unique(columns[order], return_index=True)
        groups = zip(which.tolist(), np.split(places[order], starts[1:]), strict=True)
        found = [details for column, here in groups for details in self._columns[column].details(here)]
        return [found[place] for place in np.argsort(order).tolist()]

    def pair(self, row: int, rival: int) -> PairMargin:
        """Return the answer for one rival of a known point."""
        return self._columns[int(self._column[row, rival])].record(int(self._place[row, rival]), rival)

    @property
    def rival_count(self) -> int:
        """Return the number of rivals."""
        return self._shape[1] - 1


class TableRows(Sequence[Margin]):
    """The margins of some rows of a table against their nearest rivals, as columns; a row is made whenever it is asked for."""

    def __init__(self, table: PairTable, rows: Places, rivals: Places, seconds: float) -> None:
        self._table, self._rows, self._rivals, self._seconds = table, rows, rivals, seconds

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def radii(self) -> Array:
        """Return the margins of the rows."""
        return self._table.upper[self._rows, self._rivals]

    @cached_property
    def _known(self) -> list[tuple[Any, ...]]:
        table, rows, rivals = self._table, self._rows, self._rivals
        lower, proved = table.lower[rows].min(axis=1), np.asarray(table.proved[rows].all(axis=1))
        arrays = (rows, table.labels[rows], rivals, self.radii, lower, proved)
        return list(zip(*[array.tolist() for array in arrays], table.details(rows, rivals), strict=True))

    @overload
    def __getitem__(self, place: int) -> Margin: ...
    @overload
    def __getitem__(self, place: slice) -> list[Margin]: ...
    def __getitem__(self, place: int | slice) -> Margin | list[Margin]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        row, label, rival, radius, lower, proved, details = self._known[place]
        point, method, complex_count, real_count, _, notes = details
        values = {
            "radius": radius,
            "lower": lower,
            "upper": radius,
            "point": point,
            "label": label,
            "rival": rival,
            "standing": CERTIFIED if proved else NUMERICAL,
            "method": method,
            "seconds": self._seconds,
            "complex_count": complex_count,
            "real_count": real_count,
            "pairs": TablePairs(self._table, row, label, rival, point),
            "notes": tuple([f"against class {rival}: {note}" for note in notes]) if notes else (),
        }
        return margin_with(values)


class TablePairs(Sequence[PairMargin]):
    """The pairs of one row by rival, made on first access; pickled as a tuple.

    The nearest rival's pair has the point that the margin has.
    """

    __slots__ = ("_label", "_made", "_point", "_rival", "_row", "_table")

    def __init__(self, table: PairTable, row: int, label: int, rival: int, point: Array | None) -> None:
        self._table, self._row, self._label, self._rival, self._point = table, row, label, rival, point
        self._made: tuple[PairMargin, ...] | None = None

    def __len__(self) -> int:
        return self._table.rival_count

    @overload
    def __getitem__(self, place: int) -> PairMargin: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[PairMargin, ...]: ...
    def __getitem__(self, place: int | slice) -> PairMargin | tuple[PairMargin, ...]:
        if self._made is None:
            self._made = tuple([self._pair(rival) for rival in range(len(self) + 1) if rival != self._label])
        return self._made[place]

    def _pair(self, rival: int) -> PairMargin:
        found = self._table.pair(self._row, rival)
        return found if rival != self._rival else replace(found, point=self._point)

    def __repr__(self) -> str:
        return repr(self[:])

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)
