"""Rules for direction and radius: x = u + rω. The integrand is smooth in both, so Gauss and trapezoid converge geometrically.

Seen from a point u far away, a field that lives around the origin is small: a direction that misses the origin by the angle φ
passes it at the distance |u| sin φ, and there the gradient turns within a step of one length. Seen under a right angle that place
is u itself. Over all space, angles are therefore φ = ε sinh s and π/2 ± ε sinh s with ε = min(1, length/|u|), and radii are
r = |u| cos φ + length · sinh w: they resolve the length of the field and the length |u|. Beyond r = 2(|u| + length) the integrand
is smooth in 1/r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polymargin.errors import InputError
from polymargin.expected.tangent import Array

LARGEST_DIMENSION = 3


@dataclass(frozen=True, eq=False)
class Scales:
    """Maps of (0, 1) to angles and to radii for a field of some length, seen from a point at some distance from its origin.

    >>> scales = Scales(distance=100.0, length=1.0)
    >>> angles, slopes = scales.angles(np.array([0.01, 0.5, 0.99]))
    >>> np.round(angles, 3).tolist()
    [0.002, 1.509, 2.893]
    """

    distance: float
    length: float

    @property
    def near(self) -> bool:
        """Return whether the point lies within one length of the origin, where plain rules serve."""
        return self.distance <= self.length

    def angles(self, t: Array) -> tuple[Array, Array]:
        """Return angles from 0 to π in three pieces, with steps that grow from ε at 0 and on both sides of π/2, and dφ/dt."""
        narrow = min(1.0, self.length / self.distance) if self.distance else 1.0
        piece = np.minimum((3 * t).astype(np.intp), 2)
        start, end = np.array([0.0, np.pi / 2, np.pi / 2])[piece], np.array([np.pi / 4, np.pi / 4, np.pi])[piece]
        most = np.arcsinh((end - start) / narrow)
        s = most * (3 * t - piece)
        return start + narrow * np.sinh(s), 3 * narrow * np.abs(most) * np.cosh(s)

    def radii(self, t: Array, angles: Array) -> tuple[Array, Array]:
        """Return radii in the direction at these angles from the origin, in two pieces, and dr/dt."""
        foot = self.distance * np.cos(angles)
        middle = 2 * (self.distance + self.length)
        low, high = -np.arcsinh(foot / self.length), np.arcsinh((middle - foot) / self.length)
        step = np.minimum(2 * t, 1.0) * (high - low)
        # length · (sinh(low + step) − sinh(low)) without cancellation.
        near = 2 * self.length * np.sinh(step / 2) * np.cosh(low + step / 2)
        share = 1 - np.maximum(2 * t - 1, 0.0)
        near_slope = 2 * (high - low) * self.length * np.cosh(low + step)
        return np.where(t < 0.5, near, middle / share), np.where(t < 0.5, near_slope, 2 * middle / share**2)


@dataclass(frozen=True, eq=False)
class Rays:
    """Directions (D, n) with their weights (D,), and on each of them radii (D, N) with theirs."""

    directions: Array
    weights: Array
    radii: Array
    radial_weights: Array


def rays(count: int, u: Array, length: float, around: bool) -> Rays:
    """Return `count` nodes for every piece of each coordinate; `around` turns directions about u, for laws without symmetry."""
    scales = Scales(float(np.linalg.norm(u)), length)
    angles, weights = _angles(count, len(u), scales, around)
    directions, weights = _turned(angles, weights, count, u, around)
    t, unit_weights = _unit_rule(count, 2)
    radii, slopes = scales.radii(t, np.repeat(angles, len(directions) // len(angles))[:, None])
    return Rays(directions, weights, radii, slopes * unit_weights)


def _unit_rule(count: int, pieces: int) -> tuple[Array, Array]:
    """Return Gauss's rule on equal pieces of (0, 1)."""
    t, weights = np.polynomial.legendre.leggauss(count)
    starts = np.arange(pieces)[:, None]
    return ((starts + (t + 1) / 2) / pieces).ravel(), np.tile(weights / 2 / pieces, pieces)


def _angles(count: int, dimension: int, scales: Scales, around: bool) -> tuple[Array, Array]:
    """Return angles to −u with their weights: all of them in the plane, otherwise from 0 to π with the weight of the parallel."""
    if dimension == 1:
        return np.array([0.0, np.pi]), np.ones(2)
    if dimension > LARGEST_DIMENSION:
        raise InputError(f"dimension {dimension}: quadrature over directions goes up to {LARGEST_DIMENSION}")
    if dimension == 2 and scales.near:
        return 2 * np.pi * np.arange(count) / count, np.full(count, 2 * np.pi / count)
    if scales.near:
        heights, weights = np.polynomial.legendre.leggauss(count)
        return np.arccos(heights), weights
    t, weights = _unit_rule(count, 3)
    angles, slopes = scales.angles(t)
    weights = weights * slopes
    if dimension == LARGEST_DIMENSION:
        return angles, weights * np.sin(angles)
    return (np.concatenate([-angles, angles]), np.tile(weights, 2)) if around else (angles, 2 * weights)


def _turned(angles: Array, weights: Array, count: int, u: Array, around: bool) -> tuple[Array, Array]:
    """Return unit vectors at the angles from −u, and their weights."""
    basis, dimension = frame(-u), len(u)
    if dimension < LARGEST_DIMENSION:
        across = basis[:1] if dimension == 2 else np.zeros((1, dimension))
        return np.cos(angles)[:, None] * basis[-1] + np.sin(angles)[:, None] * across, weights
    turns = 2 * count if around else 1
    turn = 2 * np.pi * np.arange(turns) / turns
    across = np.cos(turn)[:, None] * basis[0] + np.sin(turn)[:, None] * basis[1]
    vectors = np.cos(angles)[:, None, None] * basis[-1] + np.sin(angles)[:, None, None] * across
    return vectors.reshape(-1, dimension), np.repeat(weights * 2 * np.pi / turns, turns)


def frame(axis: Array) -> Array:
    """Return an orthonormal frame (rows) whose last vector is the axis; any frame where the axis is zero."""
    length = np.linalg.norm(axis)
    if not length:
        return np.eye(len(axis))
    basis, _ = np.linalg.qr(np.column_stack([axis / length, np.eye(len(axis))]))
    basis[:, 0] = axis / length
    return np.asarray(basis[:, ::-1].T)
