"""Distances of points from the ED discriminant, where two of their critical points merge.

Let two critical points differ by δ. At the discriminant δ vanishes like a square root, so δ·δ is smooth across it: positive where
the two are real, negative where they are conjugate. Its value over its slope with respect to u is the distance, to first order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin import _core
from polymargin.continuation.survey import Closest
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]
Array = NDArray[np.float64]

# A pair further apart than this, in reduced coordinates and relative to its size, is not worth a look.
CLOSE = 0.1
# Points nearer to the discriminant than this, in reduced coordinates, are told so.
NEAR_DISCRIMINANT = 1e-3


def discriminant_distances(program: Program, *pairs: Closest) -> Array:
    """Estimate the distances (T,) of points from the ED discriminant from the closest pairs of critical points.

    Infinite unless two of the critical points are close.
    """
    found = np.full(len(pairs[0].gaps), np.inf)
    for pair in pairs:
        rows = np.flatnonzero(pair.gaps < CLOSE)
        if len(rows):
            found[rows] = np.minimum(found[rows], _distances(program, pair.first[rows], pair.second[rows]))
    return found


def near_discriminant(distance: float, scale: float) -> tuple[str, ...]:
    """Return a remark for a point near the discriminant, if it is; `scale` converts reduced into original coordinates."""
    if distance >= NEAR_DISCRIMINANT:
        return ()
    return (f"two critical points nearly merge: the point is about {distance * scale:.1e} from the ED discriminant",)


def _distances(program: Program, first: ComplexArray, second: ComplexArray) -> Array:
    difference = first - second
    difference[:, -1] = 0
    slopes = 2 * (_motions(program, first, difference) - _motions(program, second, difference))
    lengths = np.linalg.norm(slopes.real, axis=1)
    with np.errstate(divide="ignore"):
        return np.where(lengths > 0, np.abs(np.einsum("pi,pi->p", difference, difference)) / lengths, np.inf)


def _motions(program: Program, solutions: ComplexArray, along: ComplexArray) -> ComplexArray:
    """Return how fast critical points move along vectors (p, n) with u: the inverse of the symmetric Jacobian times these.

    The parameters (u, ε) are only added in the equations, so the Jacobian is the same for all of them.
    """
    jacobians = _core.evaluate(program.compiled, solutions, np.zeros(program.parameter_count, dtype=np.complex128))[1]
    return np.asarray(np.linalg.solve(jacobians, along[..., None])[:, :-1, 0])
