"""What is known of how the rests of a layer curve, and what that takes from the layers below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.expansion import LiftedExpansion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curved:
    """Of the rests of a layer on a ball.

    eigenvalues   λ (h, 2) with λ⁻‖δ‖² ≤ w ≤ λ⁺‖δ‖²
    errors        η (h,) with |e| ≤ η‖δ‖², e what is not of second order in w; nobody needs them of the last layer
    balances      b (h,) of the third layer, which a checker has to be told
    """

    eigenvalues: Array
    errors: Array | None = None
    balances: Array | None = None

    @classmethod
    def stacked(cls, blocks: Sequence[Curved]) -> Curved:
        """Of neurons block by block."""
        errors = [block.errors for block in blocks if block.errors is not None]
        balances = [block.balances for block in blocks if block.balances is not None]
        return cls(
            np.concatenate([block.eigenvalues for block in blocks]),
            np.concatenate(errors) if errors else None,
            np.concatenate(balances) if balances else None,
        )


def factors_below(expansion: LiftedExpansion, number: int, weights: Array) -> list[Array]:
    """For neurons (h, h_{number − 1}) of layer `number`: d^k (h, h_k) for the layers k = 1 … number − 1 below."""
    factor: Any = weights
    result: list[Array] = []
    for k in reversed(range(number - 1)):
        layer = expansion.layers[k]
        result.insert(0, layer.bend * factor)
        if k:
            factor = np.asarray((factor * layer.rise) @ layer.weights)
    return result
