"""One part of the points that a neighbourhood allows: a box, and the ball of the norm in it.

    low ≤ x ≤ high,        N(x − u) ≤ bound:      L2  Σ w² d² ≤ r²,      L1  Σ w |d| ≤ r,      L∞ is the box itself.

Ends of ranges are doubles, rounded outward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb, fmpq

from polymargin_checker.neighbourhood import Box, StatedNeighbourhood
from polymargin_checker.refusal import Refused

Interval = tuple[float, float]


@dataclass(frozen=True)
class CheckedRegion:
    """Around the point u."""

    near: StatedNeighbourhood
    point: Sequence[fmpq]
    radius: fmpq
    box: Box

    @cached_property
    def moving(self) -> list[int]:
        """The coordinates that change."""
        return [i for i, (low, high) in enumerate(self.box) if low < high]

    @property
    def is_empty(self) -> bool:
        """Whether the box misses the ball: even its nearest point is too far."""
        nearest = [min(max(value, low), high) for value, (low, high) in zip(self.point, self.box, strict=True)]
        return not self.near.within(self.point, nearest, self.radius)

    def middle(self) -> list[fmpq]:
        return [(low + high) / 2 for low, high in self.box]

    def support(self, rows: Any, arithmetic: type[Any], centre: Sequence[fmpq]) -> list[Interval]:
        """What rows @ (x − centre) does not leave on the region, for rows over the moving coordinates."""
        moving = self.moving
        if not moving:
            return [(0.0, 0.0)] * int(rows.shape[0])
        of, size = arithmetic.of, len(moving)
        low, high = ([self.box[i][side] - centre[i] for i in moving] for side in (0, 1))
        halves = of(size, 1, [(b - a) / 2 for a, b in zip(low, high, strict=True)])
        about = rows @ of(size, 1, [(a + b) / 2 for a, b in zip(low, high, strict=True)])
        ends = _around(about, (rows.absolute @ halves).entries())
        if self.near.norm == "linf":
            return ends
        scales = of(size, 1, [1 / self.near.weight(i) for i in moving])
        scaled = rows.transpose.entrywise(scales).transpose
        lengths = scaled.row_norms() if self.near.norm == "l2" else scaled.row_largest()
        about = rows @ of(size, 1, [self.point[i] - centre[i] for i in moving])
        ball = _around(about, [arb(self.radius) * length for length in lengths])
        return [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(ends, ball, strict=True)]

    def reaches(self, centre: Sequence[fmpq]) -> tuple[list[fmpq], fmpq]:
        """Numbers q > 0 for the moving coordinates, and b, with Σ (δ/q)² ≤ b for all δ = x − centre."""
        if self.near.norm != "linf" and list(centre) == list(self.point):
            return [1 / self.near.weight(i) for i in self.moving], self.radius * self.radius
        ends = [[abs(end - centre[i]) for end in self.box[i]] for i in self.moving]
        return [max(pair) for pair in ends], fmpq(len(ends))

    def norm_terms(self) -> tuple[list[fmpq], list[fmpq], fmpq]:
        """a, b and the bound with Σ a d² + b d ≤ bound, d = x − u on the moving coordinates.

        |d| is ±d where the box fixes its sign, and at least d² / max |d| elsewhere.
        """
        near = self.near
        if near.norm == "l2":
            return [near.weight(i) ** 2 for i in self.moving], [fmpq(0)] * len(self.moving), self.radius * self.radius
        squares, linear = [], []
        for i in self.moving:
            low, high = (end - self.point[i] for end in self.box[i])
            sign = 1 if low >= 0 else -1 if high <= 0 else 0
            squares.append(fmpq(0) if sign else near.weight(i) / max(-low, high))
            linear.append(sign * near.weight(i))
        return squares, linear, self.radius


def _around(about: Any, reaches: list[arb]) -> list[Interval]:
    return [(down(a - r), up(a + r)) for a, r in zip(about.entries(), reaches, strict=True)]


def down(value: arb) -> float:
    """A double below everything in the ball."""
    return math.nextafter(_finite(float(value.lower())), -math.inf)


def up(value: arb) -> float:
    """A double above everything in the ball."""
    return math.nextafter(_finite(float(value.upper())), math.inf)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise Refused("a range leaves the numbers that this checker can write")
    return value


def product(first: Interval, second: Interval) -> Interval:
    """What the product of two numbers does not leave."""
    ends = [arb(a) * arb(b) for a in first for b in second]
    return min(map(down, ends)), max(map(up, ends))


def total(first: Interval, second: Interval) -> Interval:
    """What the sum of two numbers does not leave."""
    return down(arb(first[0]) + arb(second[0])), up(arb(first[1]) + arb(second[1]))
