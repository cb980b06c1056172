"""A cheap test of an answer: a search for a tie inside the ball.

If the margin is r, then the label keeps ahead of every rival inside the ball of radius r. A few dozen points of it are evaluated
at once. A rival that is ahead by more than rounding can account for proves the answer wrong, whatever the reason.
"""

from __future__ import annotations

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
# Coordinates of points that are looked at together; bounds the memory.
MOST_ENTRIES = 1 << 15
EPSILON = float(np.finfo(np.float64).eps)


def seen_ahead(network: Network, points: Array, labels: NDArray[np.intp], radii: Array) -> NDArray[np.bool_]:
    """Return which classes (p, k) are ahead somewhere within the radii (p,) of points (p, n) with labels (p,)."""
    size = max(1, MOST_ENTRIES // (DIRECTIONS * len(SHARES) * points.shape[1]))
    parts = [slice(first, first + size) for first in range(0, len(points), size)]
    return np.concatenate([_seen_ahead(network, points[part], labels[part], radii[part]) for part in parts])


def _seen_ahead(network: Network, points: Array, labels: NDArray[np.intp], radii: Array) -> NDArray[np.bool_]:
    count, dimension = points.shape
    directions = generic_directions(DIRECTIONS, dimension)
    steps = directions / np.sqrt((directions * directions).sum(axis=1, keepdims=True))
    with np.errstate(all="ignore"):
        lengths = np.where(np.isfinite(radii), SHARES[:, None] * radii, FAR[:, None] * (1 + np.abs(points).max(axis=1)))
        around = points + lengths[:, None, :, None] * steps[:, None]  # (shares, directions, p, n)
        logits = network.logits(around)
        ahead = logits - logits[..., np.arange(count), labels][..., None]
        seen = (ahead > 0).any(axis=(0, 1))
        if (
            doubted := np.flatnonzero(seen.any(axis=1))
        ).size:  # hardly ever: what rounding can do is asked for these alone
            errors = network.rounding_errors(around[:, :, doubted])
            noise = (1 + EPSILON) * (errors + errors[..., np.arange(len(doubted)), labels[doubted]][..., None])
            seen[doubted] = (ahead[:, :, doubted] > noise).any(axis=(0, 1))
        return np.asarray(seen)
