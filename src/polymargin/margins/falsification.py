"""A second look at an answer that costs next to nothing: does anything inside the ball tie?

If the margin against a rival is r, then B has one sign inside the ball of radius r. A few dozen points of it are evaluated at
once. A value of the other sign that is larger than its rounding error proves the answer wrong, whatever the reason.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from polymargin.margins.result import PairMargin
from polymargin.networks.network import Network

Array = NDArray[np.float64]

DIRECTIONS = 32
# Where to look along each direction, in shares of the radius; the rest of the way is left to rounding.
SHARES = np.array([0.3, 0.7, 1 - 1e-6])
# Where to look if no tie is claimed anywhere, in units of the size of the point.
FAR = np.array([1.0, 1e2, 1e4])
EPSILON = float(np.finfo(np.float64).eps)


def crossed_inside(network: Network, u: Array, label: int, pair: PairMargin) -> bool:
    """Whether the rival is seen ahead of the label at a distance below the upper bound of the pair."""
    if not pair.upper > 0:
        return False
    generator = np.random.default_rng(20266)
    directions = generator.normal(size=(DIRECTIONS, len(u)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = pair.upper * SHARES if math.isfinite(pair.upper) else (1 + float(np.abs(u).max())) * FAR
    points = (u + np.multiply.outer(lengths, directions)).reshape(-1, len(u))
    with np.errstate(all="ignore"):
        logits, sizes = network.logits(points), network.without_signs.logits(np.abs(points))
        ahead = logits[:, pair.rival] - logits[:, label]
        noise = (network.rounding_steps + 1) * EPSILON * (sizes[:, pair.rival] + sizes[:, label])
        return bool((ahead > noise).any())
