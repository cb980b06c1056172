"""Fixed vectors in general position, to sort points by or to look along.

Drawn from a seed of their own, so that every run uses the same ones; made once per size, because making a generator takes longer
than most of what the vectors are used for.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray


@cache
def generic_directions(count: int, size: int) -> NDArray[np.float64]:
    """Return `count` read-only normal vectors (count, size)."""
    vectors = np.random.default_rng([20263, count, size]).normal(size=(count, size))
    vectors.setflags(write=False)
    return vectors
