"""The inputs over which ranges are asked for: a box, the bounding box of data, or a ball around a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.regions import L2, Linf, Perturbations, Region

Array = NDArray[np.float64]

BEYOND = 1 + 1e-9
"""The radius around the middle of a box reaches a little beyond it; the domain ends there exactly."""


@dataclass(frozen=True, eq=False)
class InputSet:
    """All inputs that a region allows within a radius around a point; `data` (m, n) was given beside it."""

    point: Array
    region: Region
    radius: float
    words: str
    data: Array | None = None

    @property
    def near(self) -> Perturbations:
        """Return the perturbations of the point."""
        return self.region.at(self.point, self.radius)


def input_set(dimension: int, points: ArrayLike | None, domain: Any, radius: float | None, within: Any) -> InputSet:
    """Return the inputs that the arguments of `ranges` describe; refuse what has no bounds."""
    data = None if points is None else _data(points, dimension)
    if radius is not None:
        if domain is not None:
            raise InputError(
                "domain and radius: expected one of them; a domain around a point is within=Linf(domain=…)"
            )
        if data is None or len(data) != 1:
            given = "none" if data is None else f"{len(data)} of them"
            raise InputError(f"points: {given} with radius={radius!r}; expected one point, around which the ball lies")
        return _ball(data[0], radius, within)
    if within is not None:
        raise InputError("within= without a radius: the region has no bounds; give radius=, or domain= alone for a box")
    if domain is None and data is None:
        raise InputError("no domain, no points and no radius: ranges need bounds, such as domain=(0, 1)")
    if domain is None and data is not None:
        return _box(data.min(axis=0), data.max(axis=0), "the bounding box of the points", data)
    region = Linf(domain=domain).in_dimension(dimension)
    if region.low is None or region.high is None or not np.isfinite([region.low, region.high]).all():
        raise InputError("domain: an end is infinite; ranges need bounds for every input")
    ends = sorted({(a, b) for a, b in zip(region.low.tolist(), region.high.tolist(), strict=True)})
    words = f"[{ends[0][0]:g}, {ends[0][1]:g}]^{dimension}" if len(ends) == 1 else f"a box in dimension {dimension}"
    return _box(region.low, region.high, words, data)


def _data(points: ArrayLike, dimension: int) -> Array:
    data = np.atleast_2d(real_array(points, "points"))
    if data.ndim != 2 or data.shape[1] != dimension or not len(data):
        raise InputError(f"points of shape {data.shape}: expected rows of {dimension} numbers")
    if not np.isfinite(data).all():
        raise InputError("points: a number is not finite")
    return data


def _ball(point: Array, radius: float, within: Any) -> InputSet:
    if not (np.isfinite(radius) and radius > 0):
        raise InputError(f"radius={radius!r}: expected a positive number")
    region = (L2() if within is None else within).in_dimension(len(point))
    region.check_bounded()
    made = InputSet(point, region, float(radius), f"radius {radius:g} around the point, {region!r}")
    if not made.near.dimension:
        raise InputError("no input can change within this region; expected at least one")
    return made


def _box(low: Array, high: Array, words: str, data: Array | None) -> InputSet:
    point = np.clip(low + (high - low) / 2, low, high)
    half = np.nextafter(np.maximum(high - point, point - low), np.inf)
    moving = low < high
    if not moving.any():
        raise InputError("domain: every input is fixed; expected at least one with low < high")
    largest = float(half[moving].max())
    if (half[moving] == largest).all():
        region, radius = Linf(domain=(low, high)), largest * BEYOND
    else:
        region, radius = Linf(domain=(low, high), weights=np.where(moving, 1 / half, 1.0)), BEYOND
    return InputSet(point, region.in_dimension(len(low)), radius, words, data)
