"""The multiplier of the ball, for a form of which everything else is chosen.

corner − μ − bᵀ(A + μ)⁻¹b is what a form with the inner matrix A and the border b proves; it is concave in μ, and its slope is
‖(A + μ)⁻¹b‖² − 1. In few dimensions all eigenvalues of A are found. In many, products of A with a few vectors say where the best
μ is: Lanczos' method that starts with b sees A as b does. Cholesky's method then tells what that μ proves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin.relaxation.algebra import NUMPY
from polymargin.relaxation.lanczos import extremes, seen_from

Array = NDArray[np.float64]

# Dimensions of δ up to which the best μ is found from all eigenvalues.
FEW = 160
# Products by which the least eigenvalue of a form is found, and what its border sees of it.
LANCZOS = 30
# How far above the least admissible one to go where A + μ is not positive definite there, relative to the scale.
HIGHER = (0.0, 0.1, 1.0)


def best_ball(rest: Array, scale: float) -> tuple[float, float]:
    """A good μ for the form `rest` in (1, δ/r) − γ, the best in few dimensions, and the γ it proves; −∞ if rounding spoils it."""
    inner, border, corner = rest[1:, 1:], rest[1:, 0], float(rest[0, 0])
    if not np.isfinite(rest).all():
        return -np.inf, scale
    if len(inner) <= FEW:
        eigenvalues, vectors = np.linalg.eigh(inner)
        squares = (vectors.T @ border) ** 2
        floor = max(0.0, -float(eigenvalues[0])) + 1e-12 * (scale + float(np.abs(eigenvalues).max()))
        mu = _best(eigenvalues, squares, floor, scale)
        return float(corner - mu - (squares / (eigenvalues + mu)).sum()), mu
    found = extremes(NUMPY, lambda v: v @ inner, 1, len(inner), LANCZOS)
    rounding = 1e-12 * float(np.abs(inner).sum(axis=1).max())
    floor = max(0.0, float(found.least_error[0] - found.least[0])) + 1e-3 * scale + rounding
    aim = _best(*seen_from(border, inner, LANCZOS), floor, scale)
    for more in HIGHER:
        mu, work = aim + more * scale, np.array(inner.T, order="F")  # symmetric, and in the order of LAPACK
        np.einsum("ii->i", work)[:] += mu
        factor, info = linalg.lapack.dpotrf(work, lower=1, clean=0, overwrite_a=1)
        if not info:
            half = linalg.solve_triangular(factor, border, lower=True, check_finite=False)
            return float(corner - mu - half @ half), float(mu)
    return -np.inf, floor


def _best(eigenvalues: Array, squares: Array, floor: float, scale: float) -> float:
    """Where −1 + Σ b²/(λ + μ)² falls below zero, from the floor on."""
    low, high = floor, floor + float(np.sqrt(squares.sum())) + 1e-12 * scale
    with np.errstate(all="ignore"):
        for _ in range(100):
            mu = (low + high) / 2
            if float((squares / (eigenvalues + mu) ** 2).sum()) > 1:
                low = mu
            else:
                high = mu
    return high
