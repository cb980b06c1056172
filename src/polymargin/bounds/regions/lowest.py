"""Where functionals are small on a region: steps towards the point where the gradient is least, as far as they fall.

The linear function with the gradient of B has its least value on a region at a known point (`AllowedRegion.lowest`): a corner
of the box, a point of the sphere, a corner of the diamond. Some fractions of the way there are looked at, the best is kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.regions.network_at import FoundLoss, NetworkAt
from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.steps import NetworkSteps
from polymargin.deadlines import NEVER, Deadline
from polymargin.regions import Norm

Array = NDArray[np.float64]

DESCENTS = 16
FRACTIONS = np.array([1.0, 0.5, 0.2, 0.05, 0.01])
TURNS = (1.0, 0.3, 0.1, 0.02)
# Below this many coordinates steps cost next to nothing, and spheres need more of them than boxes.
FEW, MANY_DESCENTS = 32, 80
# Bisections of a segment towards the nearest tie on it, and steps beyond it until exact arithmetic agrees.
BISECTIONS = 50
NUDGES = 12


def lowest_points(
    steps: NetworkSteps,
    region: AllowedRegion,
    weights: list[Array],
    constants: Array,
    starts: Array,
    descents: int = DESCENTS,
    deadline: Deadline = NEVER,
) -> tuple[Array, Array]:
    """Values (R,) and points (R, n) where functionals with weights (R, ·) are small; one start for each."""
    points, moving = starts, region.moving
    descents = MANY_DESCENTS if descents == DESCENTS and len(moving) <= FEW and not region.is_box else descents
    with np.errstate(all="ignore"):
        values, slopes = steps.slopes(points, weights, constants)
        for _ in range(descents):
            if deadline.passed:
                break
            tried = _tried(region, points, slopes[:, moving])
            flat, times = tried.reshape(-1, points.shape[1]), len(tried)
            found, gradients = steps.slopes(flat, [np.tile(w, (times, 1)) for w in weights], np.tile(constants, times))
            found = np.where(np.isfinite(found), found, np.inf).reshape(times, -1)
            best, rows = found.argmin(axis=0), np.arange(len(points))
            better = found[best, rows] < values - 1e-12 * np.abs(values)
            if not better.any():
                break
            points = np.where(better[:, None], tried[best, rows], points)
            values = np.where(better, found[best, rows], values)
            slopes = np.where(better[:, None], gradients.reshape(times, len(points), -1)[best, rows], slopes)
    return values, points


def _tried(region: AllowedRegion, points: Array, slopes: Array) -> Array:
    """Places (T, R, n) to go from points (R, n): on the ways to the lowest points, and for L2 along the sphere too."""
    ways = points + FRACTIONS[:, None, None] * (region.lowest(slopes) - points)
    if region.near.norm is not Norm.L2:
        return ways
    outward = (points - region.point)[:, region.moving] * region.weights**2
    sizes = np.linalg.norm(outward, axis=1) / np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)
    around = [region.lowest(turn * sizes[:, None] * slopes - outward) for turn in TURNS]
    return np.concatenate([ways, np.stack(around)])


def random_starts(region: AllowedRegion, count: int, generator: np.random.Generator) -> Array:
    """Where random linear functions are least."""
    return region.lowest(generator.normal(size=(count, len(region.moving))))


def nearest_loss(at: NetworkAt, x: Array, label: int, rival: int) -> FoundLoss | None:
    """The nearest place to the start on the segment from it to x at which the rival wins or ties exactly."""
    start = at.start

    def place(share: float) -> Array:
        return np.asarray(at.near.clipped(np.where(x == start, start, start + share * (x - start))))

    if not at.behind(place(1.0), label, rival):
        return at.lost(x, label, rival)
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if at.behind(place(middle), label, rival) else (middle, high)
    extra = 2.0**-52
    for _ in range(NUDGES):
        found = at.lost(place(min(high, 1.0)), label, rival)
        if found is not None:
            return found
        high, extra = high + extra, 4 * extra
    return at.lost(x, label, rival)
