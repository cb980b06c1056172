"""Upper bounds of the largest eigenvalues of symmetric matrices, many at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.relaxation.algebra import Algebra, Matrix
from polymargin.relaxation.lanczos import extremes

Array = NDArray[np.float64]

# Sides up to which all eigenvalues are computed; beyond, the extreme ones are guessed and confirmed.
SMALL = 160
# Guessed eigenvalues are stretched by this, and by four times as much for every time that it was not enough.
GUESSED = 0.003
LANCZOS = 60
# Room for rounding, here and in the checker, per row and relative to the largest entry.
OUTWARD = 1e-9


def largest_eigenvalues(algebra: Algebra, matrices: Matrix) -> Array:
    """Of a stack (B, N, N): upper bounds above zero with room for rounding; 0.003 above the truth, relatively, for large N."""
    count, side = matrices.shape[:2]
    if side <= SMALL:
        values = algebra.get(matrices)
        sizes = np.abs(values).max(axis=(1, 2), initial=0.0)
        return np.asarray(np.maximum(np.linalg.eigvalsh(values)[:, -1], 0.0) + OUTWARD * side * sizes + 1e-100)
    sizes = algebra.get((matrices * matrices).sum(axis=2).sum(axis=1)) ** 0.5 / side
    found = extremes(algebra, lambda v: (matrices @ v[:, :, None])[:, :, 0], count, side, LANCZOS)
    return _confirmed(algebra, matrices, found.largest, sizes, GUESSED)


def _confirmed(algebra: Algebra, matrices: Matrix, guesses: Array, sizes: Array, stretch: float) -> Array:
    """Guesses stretched until Cholesky's method shows that they are upper bounds; those of a stack that fails one by one."""
    while True:
        values = np.maximum(guesses, 0.0) + stretch * np.maximum(np.abs(guesses), 1e-6 * sizes) + 1e-300
        unit = algebra.put(np.eye(matrices.shape[1]))
        if algebra.definite(algebra.put(values)[:, None, None] * unit - matrices):
            return values
        if len(values) > 1:
            single = range(len(values))
            found = [
                _confirmed(algebra, matrices[i : i + 1], guesses[i : i + 1], sizes[i : i + 1], stretch) for i in single
            ]
            return np.concatenate(found)
        stretch *= 4
