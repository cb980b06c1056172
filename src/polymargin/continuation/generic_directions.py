"""Fixed vectors in general position, to sort points by or to look along.

Drawn from a seed of their own, so that every run uses the same ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def generic_directions(count: int, size: int) -> NDArray[np.float64]:
    """Return `count` normal vectors (count, size)."""
    return np.random.default_rng(20263).normal(size=(count, size))
