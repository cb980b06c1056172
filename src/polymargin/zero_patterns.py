"""Rows of a matrix that have their zeros in the same places: what looks at one patch of an image, in a convolution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


def rows_alike(values: NDArray[np.float64]) -> list[tuple[Places, Places]]:
    """Return row numbers, and the columns in which these rows are not zero, in the order of their first rows."""
    pattern = values != 0
    found: dict[bytes, list[int]] = {}
    for number, line in enumerate(np.packbits(pattern, axis=1)):
        found.setdefault(line.tobytes(), []).append(number)
    return [(np.array(rows), np.flatnonzero(pattern[rows[0]])) for rows in found.values()]
