"""Sums of squares of forms that each see a few inputs: Σ_j d_j a_j a_jᵀ, without the zeros.

The neurons of a convolution at one place look at the same patch. Rows with the same support are one dense block, and a weighted
sum of squares is a few small products, added where they belong. Rows without zeros are a single block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.relaxation.algebra import NUMPY, Algebra, Matrix
from polymargin.zero_patterns import rows_alike

Array = NDArray[np.float64]

# Blocks are worth their while if they save at least this factor.
WORTHWHILE = 4.0


class LocalRows:
    """The rows a_j of a matrix (h, m), grouped by where they are not zero."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        self.width = rows.shape[1]

    @cached_property
    def groups(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], Array]]:
        """Row numbers, column numbers, and the block."""
        result = [(rows, columns, self.rows[np.ix_(rows, columns)]) for rows, columns in rows_alike(self.rows)]
        work = sum(len(numbers) * len(columns) ** 2 for numbers, columns, _ in result)
        if WORTHWHILE * work > self.rows.size * self.width:
            return [(np.arange(len(self.rows)), np.arange(self.width), self.rows)]
        return result

    def weighted(self, weights: Array) -> Array:
        """Σ_j d_j a_j a_jᵀ (m, m)."""
        result = np.zeros((self.width, self.width))
        for numbers, columns, block in self.groups:
            term = block.T @ (weights[numbers, None] * block)
            if len(columns) == self.width:
                result += term
            else:
                result[columns[:, None], columns] += term
        return result


def weighted_squares(algebra: Algebra, local: LocalRows) -> Callable[[Array], Matrix]:
    """From weights d (B, h) to the sums Σ_j d_j a_j a_jᵀ (B, m, m), as matrices of the algebra.

    Elsewhere than on a CPU zeros are as good as other numbers.
    """
    if algebra is NUMPY:
        return lambda weights: np.stack([local.weighted(row) for row in weights])
    rows = algebra.put(local.rows)
    return lambda weights: rows.T @ (algebra.put(weights)[:, :, None] * rows)


def as_array(operator: Any) -> Array:
    """An operator as an array."""
    return np.asarray(operator.toarray() if hasattr(operator, "toarray") else operator)
