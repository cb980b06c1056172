"""Coordinates z of what a region allows, in which the length of a perturbation is a plain norm: x = u + D z."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.networks.forms import Operator

Array = NDArray[np.float64]


def directions(
    dimension: int, moving: NDArray[np.int64] | None, columns: Array | None, weights: Array
) -> Operator | None:
    """Return D (n, d): columns of the identity over the weights, or columns of a frame; None for the identity."""
    if columns is not None or moving is None:
        return columns
    if len(moving) == dimension and (weights == 1).all():
        return None
    each = np.arange(len(moving))
    return sparse.csr_array((1 / weights, (moving, each)), shape=(dimension, len(moving)))
