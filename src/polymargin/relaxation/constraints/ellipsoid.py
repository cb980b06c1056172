"""ellipsoid:  1 − Σ D_i² δ_i² ≥ 0 for an ellipsoid that contains the region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.regions.perturbations import Perturbations
from polymargin.relaxation.constraints.ball import norm_unknowns
from polymargin.relaxation.constraints.constraint import Array, Unknowns
from polymargin.relaxation.constraints.encoding import number, packed
from polymargin.relaxation.space import Space

INWARD = 1 - 1e-12
"""Room for rounding: the sum of the parts stays below one."""

SHARE = 0.1
"""The part of the sum that narrow coordinates have beside a ball."""


@dataclass(frozen=True, eq=False)
class EllipsoidShape:
    """D_i² = norm · ω_i² / r² + box_i: the ball of the norm, or half axes √n times those of the box.

    Coordinates whose box is far narrower than the ball, as that of noise is, have half axes of their own.
    """

    norm: float
    box: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def around(cls, region: Perturbations) -> EllipsoidShape:
        """Return an ellipsoid around a region: the ball of its norm if it has one, else that around the box |δ| ≤ r/ω."""
        reach, ends = region.radius * region.inverse_weights, np.maximum(np.abs(region.low), np.abs(region.high))
        narrow = region.narrow
        if region.has_ball:
            share = SHARE if narrow.any() else 0.0
            norm, box = (1 - share) * INWARD, np.zeros(region.dimension)
            box[narrow] = share * INWARD / (narrow.sum() * ends[narrow] ** 2)
        else:
            norm, box = 0.0, INWARD / (region.dimension * np.where(narrow, ends, reach) ** 2)
        return cls(norm, box, norm * region.squared_weights / region.square + box)

    @property
    def of_ball(self) -> bool:
        """Return whether the ellipsoid comes from a ball."""
        return self.norm > 0

    def to_entry(self) -> dict[str, str | None]:
        """Return the ellipsoid as certificates have it."""
        return {"norm": number(self.norm), "box": packed(self.box) if self.box.any() else None}


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """The constraint 1 − Σ D²δ² ≥ 0."""

    space: Space
    shape: EllipsoidShape
    name = "ellipsoid"

    def unknowns(self) -> Unknowns:
        """Return the multipliers of the constraint as unknowns of a program."""
        return norm_unknowns(self.space, self.shape.squares)

    def entry(self, y: Array) -> str:
        """Return the multipliers as certificates have them."""
        return number(y[0])
