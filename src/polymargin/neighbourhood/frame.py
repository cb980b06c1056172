"""Round coordinates z for L2 balls that are ellipsoids or lie in a subspace: δ = E T z, and ‖z‖ is at most the length of δ.

E has the columns of the subspace, or those of the identity that may change. With R such that |Rδ| is the length, R E = Q U gives
T = U⁻¹, for which both lengths are equal. T is made a little longer than that, so that rounding cannot make ‖z‖ the longer
one: a checker proves TᵀEᵀMET − 1 positive definite (docs/theorems.md, section 10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray
from scipy import linalg

from polymargin.errors import InputError
from polymargin.neighbourhood.lengths import length_above, root_above
from polymargin.neighbourhood.neighbourhood import Neighbourhood

Array = NDArray[np.float64]

# How much longer T is at least, and at most: beyond that a proof in doubles would lose what it is for.
SHORTEST, LONGEST = 1e-12, 1e-3
# Units of roundoff that a checker may need per term of its sums.
ROUNDING = 8 * 2.0**-53


@dataclass(frozen=True, eq=False)
class Frame:
    """E (n, k) and T (k, k) for a neighbourhood."""

    near: Neighbourhood
    columns: Array
    turn: Array

    @classmethod
    def of(cls, near: Neighbourhood) -> Frame | None:
        """None where the coordinates of the input do."""
        near.check_bounded()
        if near.subspace is None and (near.weights is None or near.weights.ndim == 1):
            return None
        columns = np.eye(near.dimension)[:, list(near.moving)] if near.subspace is None else near.subspace
        turn, longer = round_coordinates(near, columns)
        return cls(near, columns, turn * (1 + longer))

    @property
    def directions(self) -> Array:
        """E T (n, k)."""
        return np.asarray(self.columns @ self.turn)

    def length(self, delta: Sequence[Fraction]) -> float:
        """√(δᵀMδ), rounded up."""
        if self.near.weights is None or self.near.weights.ndim == 1:
            return length_above(self.near, delta)
        column = fmpq_mat(len(delta), 1, [fmpq(d.numerator, d.denominator) for d in delta])
        square = (column.transpose() * (self._metric * column))[0, 0]
        return root_above(Fraction(int(square.p), int(square.q)))

    @cached_property
    def _metric(self) -> fmpq_mat:
        """M without rounding."""
        weights, side = self.near.weights, self.near.dimension
        assert weights is not None
        return fmpq_mat(side, side, [fmpq(*value.as_integer_ratio()) for value in weights.ravel().tolist()])

    def moved(self, point: Array, steps: Array) -> list[Fraction]:
        """u + E y, exactly."""
        y = [Fraction(step) for step in steps.tolist()]
        return [
            Fraction(value) + sum((Fraction(entry) * step for entry, step in zip(row, y, strict=True)), Fraction(0))
            for value, row in zip(point.tolist(), self.columns.tolist(), strict=True)
        ]


def round_coordinates(near: Neighbourhood, columns: Array, most: float = LONGEST) -> tuple[Array, float]:
    """T with ‖z‖ the length of E T z, up to a share that is returned; refused where that is more than `most`."""
    triangle = np.linalg.qr(near.root @ columns, mode="r")
    try:
        turn = np.asarray(linalg.solve_triangular(triangle, np.eye(len(triangle)), check_finite=False))
        longer = SHORTEST + _rounding(near, columns, turn)
    except np.linalg.LinAlgError:
        longer = np.inf
    if not longer <= most:
        raise InputError(
            "weights or movable: the lengths of some directions differ too much for doubles; "
            "scale the matrix, or choose columns that are more independent"
        )
    return turn, longer


def _rounding(near: Neighbourhood, columns: Array, turn: Array) -> float:
    """A bound of the errors in TᵀEᵀMET − 1, its own and those of a checker in doubles."""
    along, weights = columns @ turn, near.weights
    metric = np.eye(near.dimension) if weights is None else np.diag(weights**2) if weights.ndim == 1 else weights
    off = np.abs(along.T @ (metric @ along) - np.eye(len(turn))).sum(axis=1).max()
    sizes = np.abs(columns) @ np.abs(turn)
    terms = (sizes.T @ (np.abs(metric) @ sizes)).sum(axis=1).max()
    return float(off + ROUNDING * (near.dimension + 8) * terms)
