"""ball:  r² − ‖ωδ‖² ≥ 0, for L2, and for L1, whose ball lies inside that of L2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polymargin.relaxation.constraints.constraint import Array, Unknowns
from polymargin.relaxation.constraints.encoding import number
from polymargin.relaxation.space import Space


@dataclass(frozen=True, eq=False)
class BallConstraint:
    """The constraint r² − ‖ωδ‖² ≥ 0."""

    space: Space
    name = "ball"

    def unknowns(self) -> Unknowns:
        """Return the multipliers of the constraint as unknowns of a program."""
        return norm_unknowns(self.space, self.space.region.squared_weights / self.space.region.square)

    def entry(self, y: Array) -> str:
        """Return the multipliers as certificates have them."""
        return number(y[0] / self.space.region.square)


def norm_unknowns(space: Space, squares: Array) -> Unknowns:
    """Return the unknown that adds Σ squares δ² − 1."""
    coordinates = space.coordinates
    diagonal, linear = np.zeros((1, space.size)), np.zeros((1, space.size))
    middle, spread = coordinates.middle, coordinates.spread
    # The columns of a spread are orthogonal in the norm.
    diagonal[0, 1 : space.first] = squares * spread**2 if coordinates.is_diagonal else squares @ spread**2
    moved = squares * middle
    linear[0, 1 : space.first] = 2 * (moved * spread if coordinates.is_diagonal else moved @ spread)
    return Unknowns(1, diagonal=diagonal, linear=linear, corner=np.array([float(squares @ middle**2) - 1.0]))
