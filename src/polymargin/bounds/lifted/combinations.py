"""Combinations of the last layer's rests as rests of their own.

In B the rests of the last layer meet δ in 2 Σ_i d_i (a_i·δ) w_i. A relaxation that knows a range of every w_i and nothing of how
they go together may choose each by the sign of a_i·δ, although w is nearly even in δ. For directions v_k the combinations

    s_k = Σ_i C_ki w_i,      C_ki = d_i (a_i·v_k),

are rests of neurons with the weights C W. Their ranges, found like those of others, are many times narrower than what the ranges
of their parts add up to, and

    Σ_i d_i (a_i·δ) w_i = Σ_i (d_i a_i − Σ_k C_ki v_k)·δ w_i + Σ_k (v_k·δ) s_k

says the same with the s_k in the place of what the w_i cost most. It holds for any C and v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Directions: few are left where the ranges of the parts would cost much.
DIRECTIONS = 64


@dataclass(frozen=True, eq=False)
class Combinations:
    """weights C (k, h); directions (k, h): v_k as combinations of the slopes a_i."""

    weights: Array
    directions: Array

    @classmethod
    def of(cls, slopes: Array, square: Array, halves: Array) -> Combinations:
        """The directions in which |d_i| (a_i·δ), times half the range of w_i, is longest."""
        sizes = np.maximum(np.abs(square) * halves, 1e-12 * float(np.max(np.abs(square) * halves)))
        left, lengths, right = np.linalg.svd(sizes[:, None] * slopes, full_matrices=False)
        many = min(DIRECTIONS, int((lengths > 1e-6 * lengths[0]).sum()))
        directions = (left[:, :many] / lengths[:many]).T * sizes
        return cls((right[:many] @ slopes.T) * square, directions)

    def exchanged(self, products: Array, slopes: Array, shares: Array) -> Array:
        """Factors of w and s, from those of w alone with zeros below; `shares` says how much of each direction is exchanged."""
        count = self.weights.shape[1]
        directions = shares[:, None] * (self.directions @ slopes[:count])
        result = products.copy()
        result[:count] -= self.weights.T @ directions
        result[count:] += directions
        return result
