"""Orthonormal axes on which a polynomial resembles a sum of powers.

Enumeration starts from Σ a_j z_j^D − c, and the path from there to B is short if B resembles it. A rotation z = Q y changes
no distance, so Q is free: with orthonormal rows q_j the pure powers of B have the coefficients F(q_j), F being the leading
form. For a shallow network with orthogonal weights they are all there is of F.

Σ |F(q_j)| is made large by turns: the rows closest to the gradients ± ∇F(q_j), then their gradients. Any rotation will
do as far as correctness goes; a better one takes fewer steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary.sources import Source

Array = NDArray[np.float64]

# Turns, and the change of a row after which no more are made.
MOST_TURNS = 40
SETTLED = 1e-2
# The imaginary step of derivatives: F is real, so its square is all that is lost.
SMALL = 1e-5


@dataclass(frozen=True, eq=False)
class LeadingAxes:
    """Rows q_j (m, m), orthonormal, and the values F(q_j) of the leading form (m,)."""

    rows: Array
    powers: Array


def leading_axes(source: Source, degree: int) -> LeadingAxes:
    """Return axes for a polynomial of this degree whose homogeneous parts have comparable size."""
    size = source.dimension
    # From axes in general position: on given ones symmetric polynomials may have no gradient.
    rows, powers = _closest_rotation(np.random.default_rng(20271).normal(size=(size, size))), np.zeros(size)
    best = LeadingAxes(rows, powers)
    for _ in range(MOST_TURNS):
        values = _leading_form(source, degree, rows[:, None, :] + SMALL * 1j * np.eye(size))
        gradients, powers = values.imag / SMALL, values.real[:, 0]
        if not np.isfinite(values).all():
            break
        if np.abs(powers).sum() > np.abs(best.powers).sum():
            best = LeadingAxes(rows, powers)
        before, rows = rows, _closest_rotation(np.where(powers < 0, -1.0, 1.0)[:, None] * gradients)
        if np.abs(rows - before).max() < SETTLED:
            break
    return best


def _leading_form(source: Source, degree: int, points: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return F at complex points (…, m): the part of B(ωz) that turns with ω^D."""
    turns = np.exp(2j * np.pi * np.arange(degree + 1) / (degree + 1))
    values = source.values(turns.reshape(-1, *[1] * points.ndim) * points)
    return np.asarray(np.tensordot(turns**-degree, values, axes=1) / (degree + 1))


def _closest_rotation(matrix: Array) -> Array:
    """Return the orthogonal factor of the polar decomposition."""
    left, _, right = np.linalg.svd(matrix)
    return np.asarray(left @ right)
