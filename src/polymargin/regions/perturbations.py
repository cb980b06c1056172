"""The perturbations δ that a region allows within a radius: a box, and the ball of the norm in it.

    l ≤ δ ≤ h,      ‖ω δ‖ ≤ r,      x = u + E δ,

where E are the columns of the coordinates that move, or those of a frame (then ω = 1). Numbers are rounded outward as the checker
rounds them (`polymargin_checker.relaxation.region`), so both see the same set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polymargin.regions.norms import Norm
from polymargin.regions.outward import difference_down, difference_up, quotients_up, square_down, square_up

if TYPE_CHECKING:
    from polymargin.regions.region import Region

Floats = NDArray[np.float64]

NARROW = 1e-3


@dataclass(frozen=True, eq=False)
class Perturbations:
    """One box with the ball.

    norm          the norm of ω δ; for L∞ the box is the ball
    moving        (d,) inputs that change, or None with a frame
    columns       (n, d) directions E of a frame, or None where they are those of `moving`
    low, high     (d,) ends of the box
    weights       (d,) ω
    radius        r
    """

    norm: Norm
    moving: NDArray[np.int64] | None
    columns: Floats | None
    low: Floats
    high: Floats
    weights: Floats
    radius: float

    @property
    def dimension(self) -> int:
        """Return the number of inputs."""
        return len(self.low)

    @property
    def has_ball(self) -> bool:
        """Return whether the box alone is not the whole description."""
        return self.norm is not Norm.LINF

    @cached_property
    def narrow(self) -> NDArray[np.bool_]:
        """(d,) Coordinates whose box is far narrower than the ball, as that of noise is."""
        reach = self.radius * self.inverse_weights
        return np.asarray(np.maximum(np.abs(self.low), np.abs(self.high)) < NARROW * reach)

    @cached_property
    def square(self) -> float:
        """Return a number of at least r²."""
        return square_up(self.radius)

    @cached_property
    def squared_weights(self) -> Floats:
        """Return numbers (d,) of at most ω²."""
        return square_down(self.weights)

    @cached_property
    def inverse_weights(self) -> Floats:
        """Return numbers (d,) of at least 1/ω."""
        return quotients_up(1.0, self.weights)

    def seen(self, rows: Floats) -> Floats:
        """Return rows (h, n) over the inputs as rows (h, d) over δ."""
        return np.asarray(rows[:, self.moving] if self.columns is None else rows @ self.columns)

    def inputs(self, point: Floats, steps: Floats) -> Floats:
        """Return the inputs u + E δ (…, n) of steps (…, d)."""
        if self.columns is not None:
            return np.asarray(point + steps @ self.columns.T)
        result = np.broadcast_to(point, (*steps.shape[:-1], len(point))).copy()
        result[..., self.moving] += steps
        return result

    def support(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return ends (h,) of rows · δ: the better of the box and the ball, not rounded outward."""
        middle, half = self.low + (self.high - self.low) / 2, (self.high - self.low) / 2
        about, reach = rows @ middle, np.abs(rows) @ half
        low, high = about - reach, about + reach
        if self.has_ball:
            scaled = np.abs(rows) * self.inverse_weights
            lengths = np.linalg.norm(scaled, axis=1) if self.norm is Norm.L2 else scaled.max(axis=1, initial=0.0)
            low, high = np.maximum(low, -self.radius * lengths), np.minimum(high, self.radius * lengths)
        return low, high

    def lengths(self, steps: Floats) -> Floats:
        """Return ‖ω δ‖ of steps (…, d)."""
        orders = {Norm.L1: 1.0, Norm.L2: 2.0, Norm.LINF: np.inf}
        return np.asarray(np.linalg.norm(steps * self.weights, orders[self.norm], axis=-1))

    def cut(self, coordinate: int, low: float, high: float) -> Perturbations:
        """Return the part with other ends of one coordinate."""
        ends = self.low.copy(), self.high.copy()
        ends[0][coordinate], ends[1][coordinate] = low, high
        return replace(self, low=ends[0], high=ends[1])


def perturbations(region: Region, u: Floats, radius: float) -> Perturbations:
    """Return all that a region allows around a point of its domain.

    The ends of a domain do not cut a skew region (an ellipsoid, a subspace): what is proved of it holds inside the domain, too.
    """
    if region.frame is not None:
        size = region.frame.dimension
        ends = np.full(size, radius)
        return Perturbations(region.norm, None, region.frame.directions, -ends, ends, np.ones(size), radius)
    moving = np.array(region.moving, dtype=np.int64)
    if region.low is not None and region.high is not None:
        moving = moving[region.low[moving] < region.high[moving]]
    moving = moving if radius > 0 else moving[:0]
    weights = np.ones(len(moving)) if region.weights is None else region.weights[moving]
    reach = quotients_up(radius, weights)
    low, high = -reach, reach
    if region.low is not None and region.high is not None:
        low = np.maximum(low, difference_down(region.low[moving], u[moving]))
        high = np.minimum(high, difference_up(region.high[moving], u[moving]))
    return Perturbations(region.norm, moving, None, low, high, weights, radius)
