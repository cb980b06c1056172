"""The points that are allowed within a radius: a box, and the ball of a norm in it. A part of it is a smaller box.

    low ≤ x ≤ high,      N(x − u) ≤ bound,

    L∞   no N: the ball is the box          L2   N = Σ w_i² d_i²,  bound = r²          L1   N = Σ w_i |d_i|,  bound = r.

Relaxations want N as a quadratic. On a box, |d| is ±d where the sign is known, and at least d² / max |d| elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polymargin.regions import Norm, Region

Array = NDArray[np.float64]

# Ranges are this much wider than computed, relative to their size: far beyond rounding, here and in the checker.
OUTWARD = 1e-11
# For the multiplier of a ball, to well below what a search needs.
BISECTIONS = 36


@dataclass(frozen=True, eq=False)
class AllowedRegion:
    """Around the point u; `low` and `high` are the ends of the box."""

    near: Region
    abstain: float
    point: Array
    radius: float
    low: Array
    high: Array

    @classmethod
    def of(cls, near: Region, abstain: float, point: Array, radius: float) -> AllowedRegion:
        reach = np.zeros(near.dimension)
        moving = list(near.moving)
        reach[moving] = radius if near.weights is None else radius / near.weights[moving]
        return cls(near, abstain, point, radius, near.clipped(point - reach), near.clipped(point + reach))

    @cached_property
    def moving(self) -> NDArray[np.int64]:
        """The coordinates that change."""
        return np.flatnonzero(self.high > self.low)

    @property
    def is_box(self) -> bool:
        return self.near.norm is Norm.LINF

    @cached_property
    def weights(self) -> Array:
        """Of the norm, on the moving coordinates."""
        return np.ones(len(self.moving)) if self.near.weights is None else self.near.weights[self.moving]

    @property
    def middle(self) -> Array:
        """The centre of the box."""
        return np.where(self.high > self.low, self.low + (self.high - self.low) / 2, self.low)

    def halves(self, coordinate: int, value: float) -> tuple[AllowedRegion, AllowedRegion]:
        """The parts below and above a value of a coordinate."""
        below, above = self.high.copy(), self.low.copy()
        below[coordinate] = above[coordinate] = value
        return replace(self, high=below), replace(self, low=above)

    def support(self, rows: Array, centre: Array) -> tuple[Array, Array]:
        """Bounds of rows @ (x − centre) over the region, for rows (h, moving)."""
        low, high = (end[self.moving] - centre[self.moving] for end in (self.low, self.high))
        about, reach = rows @ ((low + high) / 2), np.abs(rows) @ ((high - low) / 2)
        least, most = about - reach, about + reach
        if not self.is_box:
            about = rows @ (self.point - centre)[self.moving]
            scaled = np.abs(rows) / self.weights
            length = np.linalg.norm(scaled, axis=1) if self.near.norm is Norm.L2 else scaled.max(axis=1, initial=0.0)
            least, most = (
                np.maximum(least, about - self.radius * length),
                np.minimum(most, about + self.radius * length),
            )
        room = OUTWARD * (np.abs(least) + np.abs(most))
        return least - room, most + room

    @cached_property
    def is_empty(self) -> bool:
        """Whether the box surely misses the ball."""
        if self.is_box:
            return False
        nearest = np.clip(self.point, self.low, self.high) - self.point
        return self.near.length(nearest) > self.radius * (1 + 1e-9)

    def holds(self, place: Array) -> bool:
        """Whether a place of the box lies in the ball too."""
        return self.near.length(place - self.point) <= self.radius

    @cached_property
    def norm_terms(self) -> tuple[Array, Array, float]:
        """a, b and the bound with Σ a d² + b d ≤ bound on the region, d = x − u on the moving coordinates."""
        weights = self.weights
        if self.near.norm is Norm.L2:
            return weights**2, np.zeros_like(weights), self.radius**2
        low, high = (self.low - self.point)[self.moving], (self.high - self.point)[self.moving]
        signs = np.where(low >= 0, 1.0, np.where(high <= 0, -1.0, 0.0))
        largest = np.maximum(np.abs(low), np.abs(high))
        return np.where(signs == 0, weights / largest, 0.0), signs * weights, self.radius

    def lowest(self, slopes: Array) -> Array:
        """Where each of the linear functions slopes (S, moving) is least on the region: points (S, n)."""
        points = np.repeat(np.where(self.high > self.low, 0.0, self.low)[None], len(slopes), axis=0)
        low, high, about = self.low[self.moving], self.high[self.moving], self.point[self.moving]
        if self.is_box:
            points[:, self.moving] = np.where(slopes > 0, low, high)
        elif self.near.norm is Norm.L2:
            points[:, self.moving] = self._lowest_in_ball(slopes, low, high, about)
        else:
            points[:, self.moving] = self._lowest_in_diamond(slopes, low, high, about)
        return points

    def _lowest_in_ball(self, slopes: Array, low: Array, high: Array, about: Array) -> Array:
        """clip(u − g / (2λw²)) with the λ for which it lies on the sphere, or an end of the box where all of it fits."""
        squares = self.weights**2
        shortest, longest = np.zeros(len(slopes)), np.full(len(slopes), 1e300)  # of 1/(2λ)
        steps = -slopes / squares
        size = np.maximum(np.sqrt((steps * steps * squares).sum(axis=1)), 1e-300)
        reach = self.radius / size
        ends = about + reach[:, None] * steps
        if ((low <= ends) & (ends <= high)).all():
            return np.asarray(ends)
        for _ in range(BISECTIONS):
            moved = np.clip(about + reach[:, None] * steps, low, high) - about
            inside = (moved * moved * squares).sum(axis=1) <= self.radius**2
            shortest, longest = np.where(inside, reach, shortest), np.where(inside, longest, reach)
            reach = np.where(longest > 1e299, 2 * reach, (shortest + longest) / 2)
        return np.clip(about + shortest[:, None] * steps, low, high)

    def _lowest_in_diamond(self, slopes: Array, low: Array, high: Array, about: Array) -> Array:
        """Coordinates that gain most for their length go first, each as far as the box and what is left allow."""
        start = np.clip(about, low, high)
        ends = np.where(slopes > 0, low, high)
        costs = np.abs(ends - start) * self.weights
        order = np.argsort(-np.abs(slopes) / self.weights, axis=1, kind="stable")
        left = self.radius - float((np.abs(start - about) * self.weights).sum())
        spent = np.take_along_axis(costs, order, axis=1)
        before = np.cumsum(spent, axis=1) - spent
        shares = np.clip((left - before) / np.maximum(spent, 1e-300), 0.0, 1.0)
        result = np.empty_like(slopes)
        np.put_along_axis(result, order, shares, axis=1)
        return np.asarray(start + result * (ends - start))
