"""box:  (δ_i − l_i)(h_i − δ_i) ≥ 0 for every coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polymargin.relaxation.constraints.constraint import Array, Unknowns
from polymargin.relaxation.constraints.encoding import packed
from polymargin.relaxation.space import Space


@dataclass(frozen=True, eq=False)
class BoxConstraint:
    """The constraints (δ − l)(h − δ) ≥ 0."""

    space: Space
    name = "box"

    def unknowns(self) -> Unknowns:
        count = self.space.coordinates.dimension
        return Unknowns(count, places=1 + np.arange(count), corner=-np.ones(count))

    def entry(self, y: Array) -> str:
        return packed(y / self.space.coordinates.spread**2)
