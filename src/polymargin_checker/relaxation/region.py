"""The set of perturbations that a relaxation proof is about: a box, and the ball of the norm in it.

    l ≤ δ ≤ h,      ‖ω δ‖ ≤ r,      x = u + E δ,

where E are the columns of the coordinates that move, or those of a stated frame (then ω = 1). All numbers are doubles, rounded so
that the set becomes larger: what is proved about it holds of the stated region.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from polymargin_checker.neighbourhood import StatedNeighbourhood
from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import Arithmetic, EnclosedMatrix, Floats, down, rational, up


@dataclass(frozen=True, eq=False)
class Region:
    """One box with the ball.

    point         u
    moving        inputs that change, or None with a frame, whose directions E are in `columns`
    low, high     (d,) ends of the box
    weights       (d,) at most ω
    radius        at least r
    """

    arithmetic: Arithmetic
    norm: str
    point: EnclosedMatrix
    moving: NDArray[np.int64] | None
    columns: EnclosedMatrix | None
    low: Floats
    high: Floats
    weights: Floats
    radius: float

    @property
    def dimension(self) -> int:
        return len(self.low)

    @property
    def has_ball(self) -> bool:
        return self.norm != "linf"

    @cached_property
    def square(self) -> float:
        """Return a number of at least r²."""
        return up(rational(self.radius) ** 2)

    @cached_property
    def squared_weights(self) -> Floats:
        """Return numbers (d,) of at most ω²."""
        return np.array([down(rational(weight) ** 2) for weight in self.weights.tolist()])

    @cached_property
    def inverse_weights(self) -> Floats:
        """Return numbers (d,) of at least 1/ω."""
        return np.array([up(1 / rational(weight)) for weight in self.weights.tolist()])

    def seen(self, block: Floats) -> EnclosedMatrix:
        """Return rows over the inputs as rows over δ."""
        if self.moving is not None:
            return self.arithmetic.exact(block[:, self.moving])
        assert self.columns is not None
        return self.arithmetic.exact(block) @ self.columns

    def support(self, rows: EnclosedMatrix) -> tuple[Floats, Floats]:
        """Return ends (h,) of rows · δ: the better of the box and the ball."""
        exact = self.arithmetic.exact
        middle, half = halves(self.arithmetic, self.low, self.high)
        about, reach = rows @ middle, abs(rows) @ half
        low, high = (about - reach).lower()[:, 0], (about + reach).upper()[:, 0]
        if self.has_ball:
            scaled = rows * exact(self.inverse_weights[None])
            lengths = (
                scaled.norms() if self.norm == "l2" else scaled.magnitude().max(axis=1, keepdims=True, initial=0.0)
            )
            length = (exact(lengths) * exact([[self.radius]])).upper()[:, 0]
            low, high = np.maximum(low, -length), np.minimum(high, length)
        return low, high

    def cut(self, coordinate: int, ends: tuple[float, float]) -> Region:
        """Return the part with other ends of one coordinate."""
        low, high = self.low.copy(), self.high.copy()
        low[coordinate], high[coordinate] = ends
        return replace(self, low=low, high=high)

    @property
    def is_empty(self) -> bool:
        """Return whether the box surely misses the ball."""
        if np.any(self.low > self.high):
            return True
        if not self.has_ball:
            return False
        power = 2 if self.norm == "l2" else 1
        nearest = np.maximum(np.maximum(self.low, -self.high), 0.0).tolist()
        terms = (
            (rational(weight) * rational(step)) ** power
            for weight, step in zip(self.weights.tolist(), nearest, strict=True)
        )
        return bool(sum(terms, fmpq(0)) > rational(self.radius) ** power)


def region_of(near: StatedNeighbourhood, point: Sequence[fmpq], radius: fmpq, arithmetic: Arithmetic) -> Region:
    """Return the set that the neighbourhood allows within the radius."""
    place = arithmetic.column(point)
    reach = up(radius)
    if near.frame is not None:
        size, along = near.frame.size, near.frame.directions(Arithmetic(True))
        columns = arithmetic.around(along.balls(), size)
        ends = np.full(size, reach)
        return Region(arithmetic, "l2", place, None, columns, -ends, ends, np.ones(size), reach)
    steps = [(low - u, high - u) for (low, high), u in zip(near.box(point, radius), point, strict=True)]
    moving = np.array([i for i, (low, high) in enumerate(steps) if low < high], dtype=np.int64)
    chosen = moving.tolist()
    low, high = (np.array([end(steps[i][side]) for i in chosen]) for side, end in ((0, down), (1, up)))
    weights = np.array([down(near.weight(i)) for i in chosen])
    if not (weights > 0).all():
        raise Refused("a weight is too small for a relaxation proof")
    return Region(arithmetic, near.norm, place, moving, None, low, high, weights, reach)


def halves(arithmetic: Arithmetic, low: Floats, high: Floats) -> tuple[EnclosedMatrix, EnclosedMatrix]:
    """Return columns m and r of numbers so that [m − r, m + r] contains [low, high]."""
    exact, middle = arithmetic.exact, (low + (high - low) / 2)[:, None]
    ends = (exact(high[:, None]) - exact(middle)).upper(), (exact(middle) - exact(low[:, None])).upper()
    return exact(middle), exact(np.maximum(*ends))
