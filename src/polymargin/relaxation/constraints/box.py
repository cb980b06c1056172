"""box:  (δ_i − l_i)(h_i − δ_i) ≥ 0 for every coordinate that is an input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polymargin.relaxation.constraints.constraint import Array, Unknowns
from polymargin.relaxation.constraints.encoding import packed, scattered
from polymargin.relaxation.space import Space


@dataclass(frozen=True, eq=False)
class BoxConstraint:
    """The constraints (δ − l)(h − δ) ≥ 0."""

    space: Space
    name = "box"

    def unknowns(self) -> Unknowns:
        """Return the multipliers of the constraint as unknowns of a program."""
        first, count = self.space.coordinates.boxed
        return Unknowns(count, places=1 + first + np.arange(count), corner=-np.ones(count))

    def entry(self, y: Array) -> str:
        """Return the multipliers as certificates have them."""
        coordinates = self.space.coordinates
        if coordinates.is_diagonal:
            return packed(y / coordinates.spread**2)
        halves = coordinates.spread[coordinates.own, coordinates.boxed[0] + np.arange(len(coordinates.own))]
        return scattered(y / halves**2, coordinates.own, len(coordinates.middle))
