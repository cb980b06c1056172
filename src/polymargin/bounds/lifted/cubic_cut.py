"""A cut for the products of the second layer's rests with δ.

In the Lagrangian they are 2 Σ_j x_j (a_j·δ) w_j, and a relaxation that knows a range of every w_j may choose each by the sign of
x_j (a_j·δ). But w_j = δᵀQ_jδ: the sum is a cubic form, and for every b > 0 (`cubic.py`)

    2 Σ_j x_j (a_j·δ) w_j + r b‖δ‖² + (r/b) δᵀRδ ≥ 0      on the ball,

which is quadratic in (δ, w). x is guessed: at the centre of all ranges first, then as the last solution had it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.cubic import cubic_parts
from polymargin.bounds.lifted.expansion import LiftedExpansion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CubicCut:
    """x (h₂,), b and R (m, m)."""

    weights: Array
    balance: float
    form: Array

    @classmethod
    def of(cls, expansion: LiftedExpansion, weights: Array, place: Array) -> CubicCut | None:
        """With the best b for δ = place; None where R says nothing there."""
        parts = cubic_parts(expansion.plain)
        form = np.asarray(parts.algebra.get(parts(weights[None])[0]))
        size = float(place @ form @ place)
        return cls(weights, float(np.sqrt(size / (place @ place))), form) if size > 0 else None

    def inner(self, radius: float) -> Array:
        """The form in δ."""
        result = (radius / self.balance) * self.form
        result[np.arange(len(result)), np.arange(len(result))] += radius * self.balance
        return result
