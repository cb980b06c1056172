"""Batches as one.

A batch knows its answers as arrays. Making records of them, a dozen fields each, would take a quarter of the time of quadrics,
under Python's lock, and most callers read the radii. So rows are made on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.listing import RowsOnDemand
from polymargin.margins.result import Margins, Ordinary
from polymargin.margins.table import TableRows

Told: TypeAlias = Callable[[Any, int], Any]


def gathered(parts: Sequence[Ordinary], told: Told, listing: Any = Margins) -> Any:
    """Return the rows of each part at their places, as they are told there, which leaves the radii of margins as they are."""
    whole = _Gathered(parts, told)
    if listing is Margins:
        return Margins.on_demand(whole.count, whole.row, whole.radii)
    return listing(RowsOnDemand(whole.count, whole.row))


class _Gathered:
    def __init__(self, parts: Sequence[Ordinary], told: Told) -> None:
        self._parts, self._told = parts, told
        self.count = sum(len(places) for places, _ in parts)

    @cached_property
    def _where(self) -> tuple[list[int], list[int]]:
        """Return the part of every row, and its place there."""
        numbers, inside = np.empty((2, self.count), dtype=np.intp)
        for number, (places, _) in enumerate(self._parts):
            numbers[places], inside[places] = number, np.arange(len(places))
        return numbers.tolist(), inside.tolist()

    def row(self, place: int) -> Any:
        numbers, inside = self._where
        _, part = self._parts[numbers[place]]
        return self._told(part[inside[place]], place)

    def radii(self) -> NDArray[np.float64]:
        found = np.empty(self.count)
        for places, part in self._parts:
            found[places] = (part if isinstance(part, TableRows) else Margins(part)).radii
        return found
