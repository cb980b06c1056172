"""W¹ᵀ (K ∘ Kᵀ) W¹ with K = W¹Zᵀ in doubles, where neurons see few inputs.

K is not zero wherever z_m reaches what W_l sees, which is nearly everywhere, so it is made in blocks of rows: of a block with all
rows from its first on, and of these with the block. What is summed up is half of the matrix, and is added to its transpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.int64]]

_ROWS = 128
"""Of a block, or those of a single place if they are more: two blocks of K stay near the processor."""


@dataclass(frozen=True, eq=False)
class Place:
    """First-layer rows that see the same inputs, and W¹ there transposed."""

    rows: slice
    inputs: Places
    weights: Array


def crossed_squares(places: Sequence[Place], Z: Array) -> Array:
    """For places one after the other that have all rows."""
    across, half = Z.T.copy(), np.zeros(Z.T.shape)
    for block in _blocks(places):
        first, last = block[0].rows.start, block[-1].rows.stop
        core = np.empty((last - first, len(Z) - first))
        for place in places:
            if place.rows.start >= first:
                there = slice(place.rows.start - first, place.rows.stop - first)
                core[:, there] = Z[first:last, place.inputs] @ place.weights
        for place in block:
            own = core[place.rows.start - first : place.rows.stop - first]
            own *= place.weights.T @ across[place.inputs, first:]
            own[:, : last - first] /= 2
            half[place.inputs, first:] += place.weights @ own
    result = np.zeros((len(across), len(across)))
    for place in places:
        result[:, place.inputs] += half[:, place.rows] @ place.weights.T
    total: Array = result + result.T
    return total


def crossed_work(places: Sequence[Place]) -> tuple[int, int, int]:
    """Products in products of matrices, entries that are looked at, and how often a place meets a block."""
    rows = places[-1].rows.stop if places else 0
    weights, steps = sum(place.weights.size for place in places), len(places) * sum(1 for _ in _blocks(places))
    return 2 * weights * rows, 4 * rows * rows + 2 * rows * sum(len(place.inputs) for place in places), steps


def _blocks(places: Sequence[Place]) -> Iterator[list[Place]]:
    block: list[Place] = []
    for place in places:
        if block and place.rows.stop - block[0].rows.start > _ROWS:
            yield block
            block = []
        block.append(place)
    if block:
        yield block
