"""The scene of an explorer: a network, a plane through its inputs, and points.

A network with two inputs has one plane. In a larger space the plane goes through three points, with orthonormal directions, so
that lengths in the picture are lengths in the input space.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.class_names import class_numbers, names_of
from polymargin.errors import InputError
from polymargin.geometry import Plane
from polymargin.networks.network import Network
from polymargin.plots.thumbnails import Shape, image_range, image_shape_of

Array = NDArray[np.float64]

# Window without points to enclose.
DEFAULT_WINDOW = (-3.0, 3.0, -3.0, 3.0)
# Padding around the points, as a share of their extent.
PADDING = 0.25


@dataclass(frozen=True, eq=False)
class Scene:
    """A network and the part of its inputs that is shown.

    points       (m, n); m may be 0
    labels       true classes of the points, or None
    image_shape  how a point is shown as an image, or None
    """

    network: Network
    plane: Plane
    points: Array
    labels: NDArray[np.int64] | None
    image_shape: Shape | None
    title: str
    seed: int
    timeout: float

    @classmethod
    def of(
        cls,
        network: Network,
        points: ArrayLike | None,
        *,
        labels: ArrayLike | None = None,
        rows: tuple[int, int, int] | None = None,
        window: tuple[float, float, float, float] | None = None,
        image_shape: Any = None,
        title: str = "",
        seed: int = 0,
        timeout: float = 5.0,
    ) -> Scene:
        """Return a scene whose plane and window hold the points."""
        if network.dimension < 2:
            raise InputError(f"the network has {network.dimension} input; a plane needs at least 2")
        given = np.empty((0, network.dimension)) if points is None else np.atleast_2d(real_array(points, "points"))
        array = given.reshape(len(given), int(np.prod(given.shape[1:])))
        if array.shape[1] != network.dimension:
            raise InputError(
                f"points with {array.shape[1]} inputs for a network with {network.dimension}; expected one number per input"
            )
        if not np.isfinite(array).all():
            row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
            raise InputError(f"point {row} is not finite; leave it out")
        right = None if labels is None else class_numbers(labels, len(array), names_of(network))
        shape = None if points is None else image_shape_of(given, image_shape)
        plane = _plane(network, array, rows, window, seed)
        return cls(network, plane, array, right, shape, title or repr(network), seed, timeout)

    @cached_property
    def shades(self) -> tuple[float, float]:
        """Return the values of black and white in images."""
        return image_range(self.points)

    @cached_property
    def places(self) -> Array:
        """Return the coordinates of the points in the plane and their distances from it: (m, 3)."""
        return located(self.plane, self.points)

    @property
    def start(self) -> tuple[float, float]:
        """Return the first place of the dragged point: the first point in the plane, or the middle of the window."""
        low_s, high_s, low_c, high_c = self.plane.window
        for s, c, off in self.places.tolist():
            if off <= 1e-9 * (1 + abs(s) + abs(c)) and low_s <= s <= high_s and low_c <= c <= high_c:
                return s, c
        return (low_s + high_s) / 2, (low_c + high_c) / 2


def located(plane: Plane, points: Array) -> Array:
    """Return coordinates (s, c) of the nearest places of the plane, and the distances from it."""
    shifted = points - plane.origin
    s, c = shifted @ plane.first, shifted @ plane.second
    off = np.linalg.norm(shifted - s[:, None] * plane.first - c[:, None] * plane.second, axis=1)
    return np.column_stack([s, c, off])


def _plane(
    network: Network,
    points: Array,
    rows: tuple[int, int, int] | None,
    window: tuple[float, float, float, float] | None,
    seed: int,
) -> Plane:
    if network.dimension == 2:
        if rows is not None:
            raise InputError("a network with two inputs is its own plane; leave the three points out")
        return Plane.of_two_inputs(window or (_square(points) if len(points) else DEFAULT_WINDOW))
    if rows is None and len(points) < 3:
        free = Plane.random(network.dimension, window or DEFAULT_WINDOW, seed)
        return Plane(points[0], free.first, free.second, free.window) if len(points) else free
    chosen = rows if rows is not None else _spread(points)
    if len(set(chosen)) != 3 or not all(0 <= row < len(points) for row in chosen):
        raise InputError(f"plane {chosen}: expected three different rows between 0 and {len(points) - 1}")
    first, second, third = points[list(chosen)]
    directions, triangle = np.linalg.qr(np.column_stack([second - first, third - first]))
    if abs(triangle[1, 1]) <= 1e-9 * np.abs(triangle).max():
        raise InputError(f"plane {chosen}: the three points lie on a line; choose others")
    plane = Plane(first, directions[:, 0], directions[:, 1], DEFAULT_WINDOW)
    corners = located(plane, points[list(chosen)])[:, :2]
    return Plane(first, plane.first, plane.second, window or _square(corners))


def _spread(points: Array) -> tuple[int, int, int]:
    """Return the first three points that do not lie on a line."""
    other = next((row for row in range(1, len(points)) if not np.array_equal(points[row], points[0])), 1)
    for row in range(other + 1, len(points)):
        triangle = np.linalg.qr(np.column_stack([points[other] - points[0], points[row] - points[0]]))[1]
        if abs(triangle[1, 1]) > 1e-6 * np.abs(triangle).max():
            return 0, other, row
    return 0, 1, 2


def _square(places: Array) -> tuple[float, float, float, float]:
    """Return a square window that holds the places with some padding."""
    middle = (places.min(axis=0) + places.max(axis=0)) / 2
    half = (0.5 + PADDING) * float((places.max(axis=0) - places.min(axis=0)).max()) or 3.0
    s, c = middle.tolist()
    return s - half, s + half, c - half, c + half
