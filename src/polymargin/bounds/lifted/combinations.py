"""Combinations of the last layer's rests as rests of their own.

In B the rests of the last layer meet δ in 2 Σ_i d_i (a_i·δ) w_i. A relaxation that knows a range of every w_i and nothing of how
they go together may choose each by the sign of a_i·δ, although w is nearly even in δ. For directions v_k the combinations

    s_k = Σ_i C_ki w_i,      C_ki = d_i (a_i·v_k),

are rests of neurons with the weights C W. Their ranges, found like those of others, are many times narrower than what the ranges
of their parts add up to, and

    Σ_i d_i (a_i·δ) w_i = Σ_i (d_i a_i − Σ_k C_ki v_k)·δ w_i + Σ_k (v_k·δ) s_k

has the s_k in the place of what the w_i cost most. It holds for any C and v, so each v_k may have a factor of its own, its share,
which is as free as a multiplier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Lengths of directions, relative to the longest, that are worth nothing.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class Combinations:
    """weights C (k, h); directions (k, h): v_k as combinations of the slopes a_i."""

    weights: Array
    directions: Array

    @classmethod
    def of(cls, slopes: Array, square: Array, halves: Array, most: int) -> Combinations | None:
        """The directions in which |d_i| (a_i·δ), times half the range of w_i, is longest; None if there is none."""
        sizes = np.abs(square) * halves
        left, lengths, right = np.linalg.svd(sizes[:, None] * slopes, full_matrices=False)
        count = min(most, int((lengths > NEGLIGIBLE * lengths[0]).sum()))
        if not count or not lengths[0] > 0:
            return None
        directions = sizes * (left[:, :count] / lengths[:count]).T
        return cls((right[:count] @ slopes.T) * square, directions)

    @property
    def differences(self) -> Array:
        """s − C w as rows over (w, s)."""
        return np.hstack([-self.weights, np.eye(len(self.weights))])

    def along(self, slopes: Array) -> Array:
        """v (k, m), from the slopes of the layer."""
        return np.asarray(self.directions @ slopes[: self.weights.shape[1]])

    def exchanged(self, products: Array, slopes: Array, shares: Array) -> Array:
        """What w and s meet δ with, (h + k, m), from d_i a_i and zeros; `shares` says how much of each v is exchanged."""
        return np.asarray(products + self.differences.T @ (shares[:, None] * self.along(slopes)))
