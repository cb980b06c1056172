"""Planes through the space of points: u(s, c) = origin + s·first + c·second, and a window of (s, c)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError

Array = NDArray[np.float64]
Window = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Plane:
    """A window (s from, s to, c from, c to) of a plane with orthonormal directions.

    >>> Plane.of_two_inputs((-1.0, 1.0, 0.0, 2.0)).points([[0.5, 1.0]])
    array([[0.5, 1. ]])
    """

    origin: Array
    first: Array
    second: Array
    window: Window

    def __post_init__(self) -> None:
        for name in ("origin", "first", "second"):
            object.__setattr__(self, name, real_array(getattr(self, name), f"the {name} of the plane"))
        if not self.origin.shape == self.first.shape == self.second.shape or self.origin.ndim != 1:
            raise InputError("a plane needs an origin and two directions of the same length")
        gram = np.array([[a @ b for b in (self.first, self.second)] for a in (self.first, self.second)])
        if not np.allclose(gram, np.eye(2), atol=1e-9):
            raise InputError(
                "the directions of a plane must be orthonormal, so that distances in the picture are distances"
            )
        low_s, high_s, low_c, high_c = self.window
        if not (low_s < high_s and low_c < high_c and np.isfinite(self.window).all()):
            raise InputError(
                f"window {self.window}: expected finite numbers (s from, s to, c from, c to), each increasing"
            )

    @classmethod
    def of_two_inputs(cls, window: Window) -> Plane:
        """Return the plane of all points with two coordinates."""
        return cls(np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]), window)

    @classmethod
    def random(cls, dimension: int, window: Window, seed: int) -> Plane:
        """Return a generic plane through a standard normal point."""
        if dimension < 2:
            raise InputError(f"{dimension} inputs: a plane needs at least two")
        generator = np.random.default_rng(seed)
        origin = generator.normal(size=dimension)
        directions, _ = np.linalg.qr(generator.normal(size=(dimension, 2)))
        return cls(origin, directions[:, 0], directions[:, 1], window)

    def points(self, places: ArrayLike) -> Array:
        """Return the points u(s, c) for places (m, 2)."""
        s, c = real_array(places, "the places").T
        return np.asarray(self.origin + s[:, None] * self.first + c[:, None] * self.second)
