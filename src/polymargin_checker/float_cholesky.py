"""Positive definiteness of large symmetric matrices in floating point (docs/theorems.md, section 9).

If Cholesky's algorithm in doubles runs to its end for A − cI, where c covers its own rounding errors and the radii of the
entries, then every symmetric matrix within the radii of A is positive definite (Demmel 1989, Rump 2006). Rows and columns
are first scaled by powers of two, which is exact, so that all diagonal entries are near one. The algorithm below uses
plain sums, products, quotients and roots; of NumPy it needs matrix products only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

UNIT = 2.0**-53
_PANEL = 48
_LARGEST_EXPONENT = 400
"""Of a scaling; beyond it products could overflow or vanish."""


def surely_positive_definite(
    middle: np.ndarray[Any, np.dtype[np.float64]], radius: np.ndarray[Any, np.dtype[np.float64]]
) -> bool:
    """True only if every symmetric matrix within `radius` of the symmetric matrix `middle` is positive definite."""
    diagonal = np.diagonal(middle)
    if not (np.isfinite(middle).all() and np.isfinite(radius).all() and (diagonal > 0).all()):
        return False
    scale = _scale(diagonal)
    if scale is None:
        return False
    errors = float((radius * scale[:, None] * scale).sum(axis=1).max()) * (1 + 2.0**-20)
    return _definite(middle * scale[:, None] * scale, errors)


def definite_within(
    middle: np.ndarray[Any, np.dtype[np.float64]], spread: np.ndarray[Any, np.dtype[np.float64]]
) -> bool:
    """True only if A + E is positive definite for all symmetric E with |xᵀEx| ≤ (Σ √spread_i |x_i|)² for all x.

    A is the symmetric matrix with the lower triangle of `middle`. With rows and columns scaled by s the bound is at most
    Σ s_i² spread_i for vectors of length one.
    """
    diagonal = np.diagonal(middle)
    if not (np.isfinite(diagonal).all() and np.isfinite(spread).all() and (diagonal > 0).all()):
        return False
    scale = _scale(diagonal)
    if scale is None:
        return False
    errors = float((spread * scale * scale).sum()) * (1 + 2.0**-20)
    scaled = middle * scale[:, None]
    scaled *= scale
    return _definite(scaled, errors)


def _scale(diagonal: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Powers of two that bring the diagonal near one."""
    exponents = -(np.frexp(diagonal)[1] // 2)
    return np.ldexp(1.0, exponents) if np.abs(exponents).max() <= _LARGEST_EXPONENT else None


def _definite(scaled: np.ndarray[Any, np.dtype[np.float64]], errors: float) -> bool:
    """Whether Cholesky's algorithm succeeds with what may be wrong taken off the diagonal; the matrix is overwritten."""
    side = len(scaled)
    trace = float(np.diagonal(scaled).sum())
    shift = (4 * (side + 8) * UNIT * trace + errors) * (1 + 2.0**-20) + 2.0**-200
    if not shift < 1 or not np.isfinite(scaled).all():
        return False
    scaled[np.arange(side), np.arange(side)] -= shift
    return _cholesky_succeeds(scaled)


def _cholesky_succeeds(matrix: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    """Column by column, with the columns before a panel taken off all at once; the matrix is overwritten by its factor."""
    side = len(matrix)
    for start in range(0, side, _PANEL):
        stop = min(start + _PANEL, side)
        panel = matrix[start:, start:stop]
        if start:
            panel -= matrix[start:, :start] @ matrix[start:stop, :start].T
        for column in range(stop - start):
            rest = panel[column:, column]
            if column:
                rest -= panel[column:, :column] @ panel[column, :column]
            if not rest[0] > 0:
                return False
            rest /= np.sqrt(rest[0])
    return bool(np.isfinite(matrix[-1, -1]))
