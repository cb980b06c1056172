"""Round coordinates z for L2 balls that are ellipsoids or lie in a subspace: δ = E T z, and ‖z‖ is at most the length of δ.

E has the columns of the subspace, or those of the identity that may change. With R such that |Rδ| is the length, R E = Q U gives
T = U⁻¹, for which both lengths are equal. T is made a little longer than that, so that rounding cannot make ‖z‖ the longer
one: a checker proves TᵀEᵀMET − 1 positive definite (docs/theorems.md, section 10).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.errors import InputError

if TYPE_CHECKING:
    from polymargin.regions.region import Region

Floats = NDArray[np.float64]

# How much longer T is at least, and at most: beyond that a proof in doubles would lose what it is for.
SHORTEST, LONGEST = 1e-12, 1e-3
# Units of roundoff that a checker may need per term of its sums.
ROUNDING = 8 * 2.0**-53


@dataclass(frozen=True, eq=False)
class SkewFrame:
    """E (n, k) and T (k, k)."""

    columns: Floats
    turn: Floats

    @property
    def dimension(self) -> int:
        """Return how many z there are."""
        return len(self.turn)

    @cached_property
    def directions(self) -> Floats:
        """Return E T (n, k)."""
        return np.asarray(self.columns @ self.turn)

    def moved(self, point: Floats, steps: Floats) -> list[Fraction]:
        """Return u + E y, exactly."""
        y = [Fraction(step) for step in steps.tolist()]
        return [
            Fraction(value) + sum((Fraction(entry) * step for entry, step in zip(row, y, strict=True)), Fraction(0))
            for value, row in zip(point.tolist(), self.columns.tolist(), strict=True)
        ]


def frame_of(region: Region) -> SkewFrame:
    """Return the coordinates of a region in its subspace, or along the inputs that move."""
    columns = np.eye(region.dimension)[:, list(region.moving)] if region.subspace is None else region.subspace
    turn, longer = round_coordinates(region, columns)
    return SkewFrame(columns, turn * (1 + longer))


def round_coordinates(region: Region, columns: Floats, most: float = LONGEST) -> tuple[Floats, float]:
    """Return T with ‖z‖ the length of E T z, up to a share that is returned; refuse where that is more than `most`."""
    triangle = np.linalg.qr(region.root @ columns, mode="r")
    try:
        turn = np.asarray(linalg.solve_triangular(triangle, np.eye(len(triangle)), check_finite=False))
        longer = SHORTEST + _rounding(region.metric, columns, turn)
    except np.linalg.LinAlgError:
        longer = np.inf
    if not longer <= most:
        raise InputError(
            "ellipsoid or subspace: the lengths of some directions differ too much for doubles; "
            "scale the matrix, or choose columns that are more independent"
        )
    return turn, longer


def _rounding(metric: Floats, columns: Floats, turn: Floats) -> float:
    """Return a bound of the errors in TᵀEᵀMET − 1, its own and those of a checker in doubles."""
    along = columns @ turn
    off = np.abs(along.T @ (metric @ along) - np.eye(len(turn))).sum(axis=1).max()
    sizes = np.abs(columns) @ np.abs(turn)
    terms = (sizes.T @ (np.abs(metric) @ sizes)).sum(axis=1).max()
    return float(off + ROUNDING * (len(columns) + 8) * terms)
