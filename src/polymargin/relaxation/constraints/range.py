"""range:  (v − l)(h − v) ≥ 0 with the interval [l, h] of every variable v after δ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polymargin.relaxation.constraints.constraint import Array, Unknowns
from polymargin.relaxation.constraints.encoding import packed
from polymargin.relaxation.space import Space


@dataclass(frozen=True, eq=False)
class Range:
    """The constraints (v − l)(h − v) ≥ 0 for every variable after δ."""

    space: Space
    name = "range"

    def unknowns(self) -> Unknowns:
        """Return the multipliers of the constraint as unknowns of a program."""
        count = self.space.variables
        return Unknowns(count, places=self.space.first + np.arange(count), corner=-np.ones(count))

    def entry(self, y: Array) -> str:
        """Return the multipliers as certificates have them."""
        return packed(y / self.space.half**2)
