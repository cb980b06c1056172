"""Rows of a convolution: those that see the same inputs together, and all such groups of one shape at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Patches:
    """Groups of r rows that see c inputs each: their numbers (g, r), their entries there (g, r, c), and the places (g, c, c) of
    what they add to a matrix over all inputs, written row by row."""

    rows: Places
    blocks: Array
    places: Places

    @property
    def work(self) -> int:
        return int(self.blocks.size * self.blocks.shape[2])

    def weighted(self, weights: Array, side: int) -> Array:
        """Σ_j d_j a_j a_jᵀ over these rows, as side² numbers, the terms of each multiplied and added in some order."""
        products = self.blocks.transpose(0, 2, 1) @ (self.blocks * weights[self.rows][:, :, None])
        total: Array = np.bincount(self.places.ravel(), weights=products.ravel(), minlength=side * side)  # type: ignore[assignment]
        return total


MOST_PLACES = 1 << 23
"""Of all groups together: each is a number of 64 bits."""


def patches_of(middle: Array, most: int) -> list[Patches] | None:
    """Rows with the same zeros are a group, and groups of the same shape are stacked; None if that is more work than `most`."""
    side = middle.shape[1]
    pattern = middle != 0
    found: dict[bytes, list[int]] = {}
    for number, line in enumerate(np.packbits(pattern, axis=1)):
        found.setdefault(line.tobytes(), []).append(number)
    shapes: dict[tuple[int, int], list[tuple[list[int], Places]]] = {}
    for rows in found.values():
        columns = np.flatnonzero(pattern[rows[0]])
        if len(columns):
            shapes.setdefault((len(rows), len(columns)), []).append((rows, columns))
    work = sum(len(groups) * height * width**2 for (height, width), groups in shapes.items())
    if work > most or sum(len(groups) * width**2 for (_, width), groups in shapes.items()) > MOST_PLACES:
        return None
    result = []
    for groups in shapes.values():
        numbers, columns = np.array([rows for rows, _ in groups]), np.array([seen for _, seen in groups])
        blocks = middle[numbers[:, :, None], columns[:, None, :]]
        result.append(Patches(numbers, blocks, columns[:, :, None] * side + columns[:, None, :]))
    return result
