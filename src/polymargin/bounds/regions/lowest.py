"""Where functionals are small on a region: steps towards the point where the gradient is least, as far as they fall.

The linear function with the gradient of B has its least value on a region at a known point (`AllowedRegion.lowest`): a corner
of the box, a point of the sphere, a corner of the diamond. Some fractions of the way there are looked at, the best is kept.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.steps import NetworkSteps
from polymargin.neighbourhood import Neighbourhood, Norm
from polymargin.networks.network import Network

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
) -> tuple[Array, Array]:
    """Values (R,) and points (R, n) where functionals with weights (R, ·) are small; one start for each."""
    points, moving = starts, region.moving
    descents = MANY_DESCENTS if descents == DESCENTS and len(moving) <= FEW and not region.is_box else descents
    with np.errstate(all="ignore"):
        values, slopes = steps.slopes(points, weights, constants)
        for _ in range(descents):
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


def exact_length(near: Neighbourhood, point: Array, other: Array) -> float:
    """The length of the step between two points, rounded up."""
    steps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(other.tolist(), point.tolist(), strict=True)]
    if near.weights is not None:
        steps = [Fraction(w) * step for w, step in zip(near.weights.tolist(), steps, strict=True)]
    if near.norm is Norm.L2:
        return math.nextafter(math.sqrt(sum((step * step for step in steps), Fraction(0))), math.inf)
    total = max(steps) if near.norm is Norm.LINF else sum(steps, Fraction(0))
    value = float(total)
    return value if Fraction(value) >= total else math.nextafter(value, math.inf)


def loses(network: Network, x: Array, label: int, rival: int, lead: float) -> bool:
    """Whether the label does not lead by more than `lead` at x, in exact arithmetic."""
    logits = network.exact_logits(x)
    return bool(logits[label] - logits[rival] <= Fraction(lead))


def nearest_loss(
    network: Network, near: Neighbourhood, point: Array, x: Array, label: int, rival: int
) -> tuple[Array, float] | None:
    """The nearest point to u on the segment from u to x at which the rival wins or ties exactly, and its length."""

    def at(share: float) -> Array:
        return np.asarray(near.clipped(np.where(x == point, point, point + share * (x - point))))

    def behind(share: float) -> bool:
        logits = network(at(share))
        return bool(logits[label] - logits[rival] <= near.abstain)

    if not behind(1.0):
        return (x, exact_length(near, point, x)) if loses(network, x, label, rival, near.abstain) else None
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if behind(middle) else (middle, high)
    extra = 2.0**-52
    for _ in range(NUDGES):
        found = at(min(high, 1.0))
        if loses(network, found, label, rival, near.abstain):
            return found, exact_length(near, point, found)
        high, extra = high + extra, 4 * extra
    return (x, exact_length(near, point, x)) if loses(network, x, label, rival, near.abstain) else None
