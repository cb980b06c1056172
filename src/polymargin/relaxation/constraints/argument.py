"""argument:  (t − l)(h − t) ≥ 0 with the interval [l, h] of the arguments t of some forms of a group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.relaxation.constraints.constraint import Array, Squares, Unknowns
from polymargin.relaxation.constraints.encoding import scattered
from polymargin.relaxation.space import SMALLEST, THINNEST, Space


@dataclass(frozen=True, eq=False)
class Argument:
    """Of the forms `chosen`, numbered among all forms, rising."""

    space: Space
    chosen: NDArray[np.int64]
    name = "argument"

    def unknowns(self) -> Unknowns:
        parts = []
        for number, group in enumerate(self.space.groups):
            own = self.chosen[(self.chosen >= group.start) & (self.chosen < group.start + len(group))] - group.start
            if len(own):
                parts.append(self.space.arguments(number)[own])
        rows = np.concatenate(parts)
        middle, half = self._ends
        rows = rows / half[:, None]
        rows[:, 0] -= middle / half
        return Unknowns(
            len(rows), squares=[Squares(("argument", 0), rows, np.ones(len(rows)))], corner=-np.ones(len(rows))
        )

    def entry(self, y: Array) -> str:
        length = sum(map(len, self.space.groups))
        return scattered(y / self.squares, self.chosen, length)

    @property
    def squares(self) -> Array:
        """Squares of half the intervals, the units of the multipliers."""
        return self._ends[1] ** 2

    @property
    def _ends(self) -> tuple[Array, Array]:
        low, high = (ends[self.chosen] for ends in self.space.enclosures.arguments)
        least = THINNEST * np.maximum(SMALLEST, np.maximum(np.abs(low), np.abs(high)))
        return (low + high) / 2, np.maximum((high - low) / 2, least)
