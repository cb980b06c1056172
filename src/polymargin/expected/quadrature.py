"""Rules for radius and direction: x = u + rω. The integrand is smooth in both, so Gauss and trapezoid converge geometrically."""

from __future__ import annotations

import math

import numpy as np

from polymargin.errors import InputError
from polymargin.expected.fields import Array

LARGEST_DIMENSION = 3


def radial_rule(count: int, scale: float, radius: float) -> tuple[Array, Array]:
    """Nodes and weights on (0, radius); on the half-line r = scale · t/(1 − t) brings infinity to t = 1."""
    t, weights = np.polynomial.legendre.leggauss(count)
    t, weights = (t + 1) / 2, weights / 2
    if math.isfinite(radius):
        return radius * t, radius * weights
    return scale * t / (1 - t), scale * weights / (1 - t) ** 2


def direction_rule(count: int, dimension: int, axis: Array | None) -> tuple[Array, Array]:
    """Unit vectors and weights on the sphere of R^n, n ≤ 3; for integrands that turn about `axis` freely if one is given."""
    if dimension == 1:
        return np.array([[1.0], [-1.0]]), np.ones(2)
    if dimension == 2:
        angles = 2 * np.pi * np.arange(count) / count
        return np.column_stack([np.cos(angles), np.sin(angles)]), np.full(count, 2 * np.pi / count)
    if dimension > LARGEST_DIMENSION:
        raise InputError(f"dimension {dimension}: quadrature over directions goes up to {LARGEST_DIMENSION}")
    heights, weights = np.polynomial.legendre.leggauss(count)
    turns = 1 if axis is not None else 2 * count
    angles = 2 * np.pi * np.arange(turns) / turns
    around = np.sqrt(1 - heights**2)[:, None] * np.exp(1j * angles)
    vectors = np.stack([around.real, around.imag, np.broadcast_to(heights[:, None], around.shape)], axis=-1)
    if axis is not None:
        vectors = vectors @ frame(axis)
    return vectors.reshape(-1, 3), np.repeat(weights * 2 * np.pi / turns, turns)


def frame(axis: Array) -> Array:
    """An orthonormal frame (rows) whose last vector is the axis; any frame where the axis is zero."""
    length = np.linalg.norm(axis)
    if not length:
        return np.eye(len(axis))
    basis, _ = np.linalg.qr(np.column_stack([axis / length, np.eye(len(axis))]))
    basis[:, 0] = axis / length
    return np.asarray(basis[:, ::-1].T)
