"""Coordinates z of what a region allows around a point, in which lengths are plain norms: x = u + D z, z in a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.networks.forms import Operator
from polymargin.regions import Region
from polymargin.relaxation.balls import NormBall

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The coordinates of a region at a point u.

    ball         the norm, and the box that the domain leaves
    moving       (d,) inputs that change; None in an ellipsoid or a subspace
    weights      (d,) with x = u + z / weights on the inputs that change
    directions   D (n, d); None for the identity
    """

    region: Region
    point: Array
    ball: NormBall
    moving: NDArray[np.int64] | None
    weights: Array
    directions: Operator | None

    @classmethod
    def of(cls, region: Region, point: Array) -> Coordinates:
        """Return the coordinates of a region around a point."""
        region.check_inside(point)
        if region.frame is not None:
            ends = np.full(region.frame.dimension, np.inf)
            ball = NormBall(region.norm, -ends, ends)
            return cls(region, point, ball, None, np.ones(len(ends)), region.frame.directions)
        moving = np.array(region.moving, dtype=np.int64)
        low, high = np.full(len(moving), -np.inf), np.full(len(moving), np.inf)
        if region.low is not None and region.high is not None:
            moving = moving[region.low[moving] < region.high[moving]]
            low, high = region.low[moving] - point[moving], region.high[moving] - point[moving]
        weights = np.ones(len(moving)) if region.weights is None else region.weights[moving]
        ball = NormBall(region.norm, low * weights, high * weights)
        return cls(region, point, ball, moving, weights, directions(len(point), moving, None, weights))

    def inputs(self, steps: Array) -> Array:
        """Return the inputs (…, n) of steps z (…, d) in doubles, inside the domain."""
        if self.region.frame is not None:
            return np.asarray(self.point + steps @ self.region.frame.directions.T)
        result = np.broadcast_to(self.point, (*steps.shape[:-1], len(self.point))).copy()
        result[..., self.moving] += steps / self.weights
        return self.region.clipped(result)

    def exact_inputs(self, step: Array) -> NDArray[Any]:
        """Return the inputs of one step as they count: doubles, but in a subspace Fractions, the sums of its columns."""
        frame = self.region.frame
        if frame is not None and self.region.subspace is not None:
            return np.array(frame.moved(self.point, frame.turn @ step), dtype=object)
        return self.inputs(step)

    def along(self, step: Array) -> tuple[tuple[float, ...], ...] | None:
        """Return sums y with x = u + E y exactly, for the columns E of an ellipsoid or a subspace."""
        frame = self.region.frame
        if frame is None:
            return None
        if self.region.subspace is not None:
            return tuple((value,) for value in (frame.turn @ step).tolist())
        moving = list(self.region.moving)
        ends, starts = self.inputs(step)[moving].tolist(), (-self.point[moving]).tolist()
        return tuple(zip(ends, starts, strict=True))


def directions(
    dimension: int, moving: NDArray[np.int64] | None, columns: Array | None, weights: Array
) -> Operator | None:
    """Return D (n, d): columns of the identity over the weights, or columns of a frame; None for the identity."""
    if columns is not None or moving is None:
        return columns
    if len(moving) == dimension and (weights == 1).all():
        return None
    each = np.arange(len(moving))
    return sparse.csr_array((1 / weights, (moving, each)), shape=(dimension, len(moving)))
