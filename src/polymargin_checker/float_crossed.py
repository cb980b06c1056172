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

_ROWS = 1024
"""Of a block, or those of a single place if they are more."""


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
        later = [place for place in places if place.rows.start >= first]
        core = _inner_products(block, across[:, first:])
        core *= _inner_products(later, across[:, first:last]).T
        core[:, : last - first] /= 2
        for place in block:
            half[place.inputs, first:] += place.weights @ core[place.rows.start - first : place.rows.stop - first]
    result = np.zeros((len(across), len(across)))
    for place in places:
        result[:, place.inputs] += half[:, place.rows] @ place.weights.T
    total: Array = result + result.T
    return total


def crossed_work(places: Sequence[Place]) -> tuple[int, int]:
    """Products in products of matrices, and entries that are looked at."""
    rows = places[-1].rows.stop if places else 0
    weights = sum(place.weights.size for place in places)
    return 2 * weights * rows, 4 * rows * rows + 2 * rows * sum(len(place.inputs) for place in places)


def _blocks(places: Sequence[Place]) -> Iterator[list[Place]]:
    block: list[Place] = []
    for place in places:
        if block and place.rows.stop - block[0].rows.start > _ROWS:
            yield block
            block = []
        block.append(place)
    if block:
        yield block


def _inner_products(places: Sequence[Place], across: Array) -> Array:
    """Of W¹ in these places with columns of Zᵀ."""
    return np.concatenate([place.weights.T @ across[place.inputs] for place in places])
