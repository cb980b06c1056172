"""How far is a point from the ED discriminant, where two of its critical points merge?

Let two critical points differ by δ. At the discriminant δ vanishes like a square root, so δ·δ is smooth across it: positive where
the two are real, negative where they are conjugate. Its value over its slope with respect to u is the distance, to first order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from polymargin.polynomials import Program, evaluate

# A pair further apart than this, in reduced coordinates and relative to its size, is not worth a look.
CLOSE = 0.1
# Points nearer to the discriminant than this, in reduced coordinates, are told so.
NEAR_DISCRIMINANT = 1e-3


def discriminant_distance(
    program: Program, target: NDArray[np.float64], solutions: NDArray[np.complex128], real: NDArray[np.bool_]
) -> float:
    """An estimate of the distance of `target` from the ED discriminant, infinite unless two critical points are close."""
    pairs = [
        pair for pair in (_closest_conjugates(solutions[~real]), _closest_real(solutions[real])) if pair is not None
    ]
    return min((_distance(program, target, *pair) for pair in pairs), default=math.inf)


Pair = tuple[NDArray[np.complex128], NDArray[np.complex128]]


def _closest_conjugates(points: NDArray[np.complex128]) -> Pair | None:
    if not len(points):
        return None
    apart = 2 * np.linalg.norm(points[:, :-1].imag, axis=1) / (1 + np.abs(points[:, :-1]).max(axis=1))
    first = points[apart.argmin()]
    return (first, first.conj()) if apart.min() < CLOSE else None


def _closest_real(points: NDArray[np.complex128]) -> Pair | None:
    if len(points) < 2:
        return None
    y = points[:, :-1].real
    apart = np.linalg.norm(y[:, None] - y[None, :], axis=2) / (1 + np.abs(y).max(axis=1))
    apart[np.diag_indices(len(y))] = np.inf
    i, j = np.unravel_index(apart.argmin(), apart.shape)
    return (points[i], points[j]) if apart.min() < CLOSE else None


def _distance(
    program: Program, target: NDArray[np.float64], first: NDArray[np.complex128], second: NDArray[np.complex128]
) -> float:
    difference = (first - second)[:-1]
    slope = 2 * difference @ (_motion(program, target, first) - _motion(program, target, second))
    length = float(np.linalg.norm(slope.real))
    return abs(complex(difference @ difference)) / length if length > 0 else math.inf


def _motion(program: Program, target: NDArray[np.float64], solution: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """dy/du at a critical point: the inverse of the Jacobian applied to the equations' derivative with respect to −u."""
    size = len(solution)
    values = evaluate(program, list(solution), [*target, 0.0], lift=complex, derivatives=True)
    jacobian = np.array(values[size:], dtype=np.complex128).reshape(size, size)
    return np.asarray(np.linalg.solve(jacobian, np.eye(size, size - 1))[:-1])
