"""The numbers of a tape in the order in which generated code reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polymargin.gpu.tape import Tape

# A place that no coefficient fills: the other half of a pair, the rest of a row of lanes.
EMPTY = -1


@dataclass
class Stream:
    """Places among the coefficients of a tape, then among its constants, in order of use."""

    coefficient_count: int
    order: list[int] = field(default_factory=list)

    def take(self, places: Sequence[int]) -> int:
        """Append coefficients; the place of the first one."""
        first = len(self.order)
        self.order.extend(places)
        return first

    def take_constant(self, constant: int) -> int:
        """Append a constant."""
        return self.take([self.coefficient_count + constant])

    def take_dealt(self, places: Sequence[int], group: int) -> int:
        """Append coefficients that are dealt to the lanes of a group in turn, each lane's of two turns side by side."""
        self._align()
        whole = len(places) // (2 * group) * (2 * group)
        for first in range(0, whole, 2 * group):
            self.order.extend(places[first + turn * group + lane] for lane in range(group) for turn in (0, 1))
        self.order.extend(places[whole:])
        return len(self.order) - len(places)

    def _align(self) -> None:
        """Start two numbers that are read together at an even place."""
        self.order.extend([EMPTY] * (len(self.order) % 2))

    def take_pairs(self, places: Sequence[int]) -> tuple[list[tuple[str, int]], list[str]]:
        """Append coefficients as pairs: (name, number) of each pair, and an expression for each coefficient."""
        self._align()
        first = self.take([*places, *[EMPTY] * (len(places) % 2)]) // 2
        pairs = [(f"c{first + k}", first + k) for k in range((len(places) + 1) // 2)]
        return pairs, [f"c{first + k // 2}.{('first', 'second')[k % 2]}" for k in range(len(places))]

    def numbers(self, tape: Tape) -> NDArray[np.float64]:
        """Return the stream for the numbers of one tape of this structure."""
        known = np.concatenate([tape.coefficients, tape.constants, [0.0]])
        return np.ascontiguousarray(known[np.array(self.order, dtype=np.int64)])  # EMPTY is the last one
