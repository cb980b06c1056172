"""A second look at an answer that costs next to nothing: does anything inside the ball tie?

If the margin is r, then the label keeps ahead of every rival inside the ball of radius r. A few dozen points of it are evaluated
at once. A rival that is ahead by more than rounding can account for proves the answer wrong, whatever the reason.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation.generic_directions import generic_directions
from polymargin.networks.network import Network

Array = NDArray[np.float64]

DIRECTIONS = 16
# Where to look along each direction, in shares of the radius; the rest of the way is left to rounding.
SHARES = np.array([0.3, 0.7, 1 - 1e-6])
# Where to look if no tie is claimed anywhere, in units of the size of the point.
FAR = np.array([1.0, 1e2, 1e4])
EPSILON = float(np.finfo(np.float64).eps)


def seen_ahead(network: Network, u: Array, label: int, radius: float) -> NDArray[np.bool_]:
    """Which classes (k,) are seen ahead of the label at a distance below the radius."""
    directions = generic_directions(DIRECTIONS, len(u))
    lengths = radius * SHARES if math.isfinite(radius) else (1 + float(np.abs(u).max())) * FAR
    steps = directions / np.sqrt((directions * directions).sum(axis=1, keepdims=True))
    points = (u + lengths[:, None, None] * steps).reshape(-1, len(u))
    with np.errstate(all="ignore"):
        logits, sizes = network.logits(points), network.without_signs.logits(np.abs(points))
        noise = (network.rounding_steps + 1) * EPSILON * (sizes + sizes[:, label, None])
        return np.asarray((logits - logits[:, label, None] > noise).any(axis=0))
