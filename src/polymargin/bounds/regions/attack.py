"""The nearest counterexample in a region that a local search finds.

Regions grow until a rival wins on one of them, then shrink: the nearest tie on the way from u to the lowest point found so
far is the next radius. What is returned lies in the domain and is compared in exact arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.regions.lowest import lowest_points, nearest_loss, random_starts
from polymargin.bounds.regions.network_at import FoundLoss, NetworkAt
from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.steps import NetworkSteps
from polymargin.deadlines import NEVER, Deadline
from polymargin.regions import Norm, Region

Array = NDArray[np.float64]

GROWTH = 1.6
GROWTHS = 80
# Factors by which the radius of the nearest tie shrinks, one after the other as long as nothing nearer is found.
SHRINKINGS = (0.9, 0.97, 0.99, 0.997, 0.999)
ROUNDS = 60
# A domain whose corners are nearer than the radius by this share lies in the ball.
WHOLE = 1e-9
# Starts for each rival, and how many coordinates are few: there more starts cost next to nothing.
STARTS, FEW, MANY_STARTS = 4, 32, 24


@np.errstate(all="ignore")  # numbers far out may overflow; what is found there is looked at in exact arithmetic
def nearest_in(
    at: NetworkAt, label: int, rivals: list[int], starts: int | None, seed: int, deadline: Deadline = NEVER
) -> FoundLoss | None:
    """The nearest counterexample against any of the rivals; None if the search finds none until the deadline."""
    best: FoundLoss | None = None
    for steps, group in at.grouped(label, rivals):
        found = _NearestSearch(at, steps, label, group, starts or _starts(at.near), seed, deadline).run(best)
        best = found if found is not None else best
    return best


def loss_within(
    at: NetworkAt, region: AllowedRegion, label: int, rivals: list[int], seed: int, starts: int | None = None
) -> tuple[FoundLoss | None, Array]:
    """A counterexample within the region, if one is found, and the lowest point (R, n) for each of the rivals."""
    generator = np.random.default_rng(seed)
    lowest = np.empty((len(rivals), len(region.point)))
    best: FoundLoss | None = None
    for steps, group in at.grouped(label, rivals):
        weights, constants = steps.difference(label, group)
        count = starts or _starts(region.near)
        values, points = _several(steps, region, weights, constants - region.abstain, count, generator)
        for value, x, rival in zip(values, points, group, strict=True):
            lowest[rivals.index(rival)] = x
            if value <= 1e-9 and (best is None or value < 0):
                tie = nearest_loss(at, x, label, rival)
                if tie is not None and tie.length <= region.radius and (best is None or tie.length < best.length):
                    best = tie
    return best, lowest


def _starts(near: Region) -> int:
    return MANY_STARTS if len(near.moving) <= FEW else STARTS


def _several(
    steps: NetworkSteps,
    region: AllowedRegion,
    weights: list[Array],
    constants: Array,
    starts: int,
    generator: np.random.Generator,
    deadline: Deadline = NEVER,
) -> tuple[Array, Array]:
    """The best of several starts for each functional: the point itself, and random ones."""
    count = len(constants)
    first = np.repeat(np.clip(region.point, region.low, region.high)[None], count, axis=0)
    places = np.concatenate([first, random_starts(region, count * (starts - 1), generator)])
    many = [np.tile(w, (starts, 1)) for w in weights]
    values, points = lowest_points(steps, region, many, np.tile(constants, starts), places, deadline=deadline)
    values = np.where(np.isfinite(values), values, np.inf).reshape(starts, count)
    best = values.argmin(axis=0)
    return values[best, np.arange(count)], points.reshape(starts, count, -1)[best, np.arange(count)]


class _NearestSearch:
    def __init__(
        self,
        at: NetworkAt,
        steps: NetworkSteps,
        label: int,
        rivals: list[int],
        starts: int,
        seed: int,
        deadline: Deadline,
    ) -> None:
        self.deadline = deadline
        self.at, self.near, self.start, self.steps = at, at.near, at.start, steps
        self.label, self.rivals, self.starts = label, rivals, starts
        self.weights, constants = steps.difference(label, rivals)
        self.constants = constants - at.abstain
        self.generator = np.random.default_rng(seed)

    def run(self, best: FoundLoss | None) -> FoundLoss | None:
        found = self._grow(np.inf if best is None else best.length)
        if found is None:
            return None
        shrinkings = iter(SHRINKINGS)
        factor = next(shrinkings)
        for _ in range(ROUNDS):
            if self.deadline.passed:
                break
            nearer = self._look(found.length * factor, found.place)
            if nearer is not None and nearer.length < found.length:
                found = nearer
                continue
            factor = next(shrinkings, 0.0)
            if not factor:
                break
        return found

    def _grow(self, limit: float) -> FoundLoss | None:
        radius = min(self._first_radius(), limit)
        for _ in range(GROWTHS):  # without descents once the time is up
            found = self._look(radius, None)
            if found is not None and found.length < limit:
                return found
            region = self.at.region(radius)
            farthest = np.maximum(region.high - self.start, self.start - region.low)
            if radius >= limit or self.near.length(farthest) < radius * (1 - WHOLE):  # all of the domain
                return None
            radius = min(radius * GROWTH, limit)
            if not np.isfinite(radius) or radius > 1e12:
                return None
        return None

    def _first_radius(self) -> float:
        """B(u) over the dual norm of its gradient, the least over the rivals."""
        points = np.repeat(self.start[None], len(self.rivals), axis=0)
        values, slopes = self.steps.slopes(points, self.weights, self.constants)
        slopes = np.abs(slopes[:, list(self.near.moving)])
        if self.near.weights is not None:
            slopes = slopes / self.near.weights[list(self.near.moving)]
        norms = {Norm.L2: lambda s: np.linalg.norm(s, axis=1), Norm.LINF: lambda s: s.sum(axis=1)}
        lengths = norms.get(self.near.norm, lambda s: s.max(axis=1))(slopes)
        return float(np.clip((np.abs(values) / np.maximum(lengths, 1e-300)).min(), 1e-9, 1e6))

    def _look(self, radius: float, start: Array | None) -> FoundLoss | None:
        """The nearest counterexample on the ways to the lowest points of the region of this radius."""
        region = self.at.region(radius)
        values, points = _several(
            self.steps, region, self.weights, self.constants, self.starts, self.generator, self.deadline
        )
        if start is not None:
            pulled = np.clip(self.start + 0.9 * (start - self.start), region.low, region.high)
            again = np.repeat(pulled[None], len(self.rivals), axis=0)
            more, others = lowest_points(self.steps, region, self.weights, self.constants, again)
            better = more < values
            values, points = np.where(better, more, values), np.where(better[:, None], others, points)
        best: FoundLoss | None = None
        for value, x, rival in zip(values, points, self.rivals, strict=True):
            if value > 0:
                continue
            tie = nearest_loss(self.at, x, self.label, rival)
            if tie is not None and (best is None or tie.length < best.length):
                best = tie
        return best
