"""The multiplier of the ball, for a form of which everything else is chosen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.bounds.lifted.algebra import NUMPY
from polymargin.bounds.lifted.lanczos import extremes

Array = NDArray[np.float64]

# Dimensions of δ up to which the best μ is found from all eigenvalues.
FEW = 160
# Products by which the least eigenvalue of a form is found.
LANCZOS = 30


def best_ball(rest: Array, scale: float) -> tuple[float, float]:
    """A good μ for the form `rest` in (1, δ/r) − γ, the best in few dimensions, and the γ it proves; −∞ if rounding spoils it."""
    inner, border, corner = rest[1:, 1:], rest[1:, 0], rest[0, 0]
    if not np.isfinite(rest).all():
        return -np.inf, scale
    if len(inner) <= FEW:
        return _exact_ball(inner, border, float(corner), scale)
    found = extremes(NUMPY, lambda v: v @ inner, 1, len(inner), LANCZOS)
    floor = (
        max(0.0, float(found.least_error[0] - found.least[0]))
        + 1e-3 * scale
        + 1e-12 * float(np.abs(inner).sum(axis=1).max())
    )
    best, work = (-np.inf, floor), np.empty_like(inner, order="F")
    for mu in floor + scale * np.array([0.02, 0.06, 0.15, 0.4, 1.0]):
        work.T[:] = inner  # symmetric, and in the order in which LAPACK works in place
        np.einsum("ii->i", work)[:] += mu
        factor, info = linalg.lapack.dpotrf(work, lower=1, clean=0, overwrite_a=1)
        if info:
            continue
        half = linalg.solve_triangular(factor, border, lower=True, check_finite=False)
        value = float(corner - mu - half @ half)
        if value < best[0]:
            break
        best = (value, float(mu))
    return best


def _exact_ball(inner: Array, border: Array, corner: float, scale: float) -> tuple[float, float]:
    """The best μ: corner − μ − Σ b²/(λ + μ) is concave, and its slope −1 + Σ b²/(λ + μ)² falls."""
    eigenvalues, vectors = np.linalg.eigh(inner)
    squares = (vectors.T @ border) ** 2
    floor = max(0.0, -float(eigenvalues[0])) + 1e-12 * (scale + float(np.abs(eigenvalues).max()))
    low, high = floor, floor + float(np.sqrt(squares.sum())) + 1e-12 * scale
    for _ in range(100):
        mu = (low + high) / 2
        if float((squares / (eigenvalues + mu) ** 2).sum()) > 1:
            low = mu
        else:
            high = mu
    return float(corner - high - (squares / (eigenvalues + high)).sum()), high
