"""How far are points from the ED discriminant, where two of their critical points merge?

Let two critical points differ by δ. At the discriminant δ vanishes like a square root, so δ·δ is smooth across it: positive where
the two are real, negative where they are conjugate. Its value over its slope with respect to u is the distance, to first order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin import _core
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]
Array = NDArray[np.float64]
# Lists, and in each of them two critical points (y, λ).
Pairs = tuple[NDArray[np.intp], ComplexArray, ComplexArray]

# A pair further apart than this, in reduced coordinates and relative to its size, is not worth a look.
CLOSE = 0.1
# Points nearer to the discriminant than this, in reduced coordinates, are told so.
NEAR_DISCRIMINANT = 1e-3


def discriminant_distances(program: Program, lists: ComplexArray, real: NDArray[np.bool_]) -> Array:
    """Estimates (T,) of the distances of points from the ED discriminant, given the critical points (T, N, m + 1) of each.

    Infinite unless two of the critical points are close.
    """
    found = np.full(len(lists), np.inf)
    if not lists.size:
        return found
    for rows, first, second in (_closest_conjugates(lists, real), _closest_real(lists, real)):
        if len(rows):
            found[rows] = np.minimum(found[rows], _distances(program, first, second))
    return found


def near_discriminant(distance: float, scale: float) -> tuple[str, ...]:
    """What a point that near is told, if anything; the scale turns reduced coordinates into original ones."""
    if distance >= NEAR_DISCRIMINANT:
        return ()
    return (f"two critical points nearly merge: the point is about {distance * scale:.1e} from the ED discriminant",)


def _closest_conjugates(lists: ComplexArray, real: NDArray[np.bool_]) -> Pairs:
    y = lists[..., :-1]
    apart = np.where(real, np.inf, 2 * np.linalg.norm(y.imag, axis=2) / (1 + np.abs(y).max(axis=2)))
    nearest = apart.argmin(axis=1)
    rows = np.flatnonzero(apart.min(axis=1) < CLOSE)
    first = lists[rows, nearest[rows]]
    return rows, first, first.conj()


def _closest_real(lists: ComplexArray, real: NDArray[np.bool_]) -> Pairs:
    most = int(real.sum(axis=1).max(initial=0))
    reals = np.argsort(~real, axis=1, kind="stable")[:, :most]  # those of each list, then others
    present = np.take_along_axis(real, reals, axis=1)
    y = np.take_along_axis(lists[..., :-1].real, reals[..., None], axis=1)
    apart = np.linalg.norm(y[:, :, None] - y[:, None, :], axis=3) / (1 + np.abs(y).max(axis=2))[:, None, :]
    apart[~(present[:, :, None] & present[:, None, :]) | np.eye(most, dtype=bool)] = np.inf
    flat = apart.reshape(len(lists), -1)
    rows = np.flatnonzero(flat.min(axis=1, initial=np.inf) < CLOSE)
    one, other = np.divmod(flat[rows].argmin(axis=1), most) if len(rows) else (rows, rows)
    return rows, lists[rows, reals[rows, one]], lists[rows, reals[rows, other]]


def _distances(program: Program, first: ComplexArray, second: ComplexArray) -> Array:
    difference = (first - second)[:, :-1]
    slopes = 2 * np.einsum("pi,pij->pj", difference, _motions(program, first) - _motions(program, second))
    lengths = np.linalg.norm(slopes.real, axis=1)
    with np.errstate(divide="ignore"):
        return np.where(lengths > 0, np.abs(np.einsum("pi,pi->p", difference, difference)) / lengths, np.inf)


def _motions(program: Program, solutions: ComplexArray) -> ComplexArray:
    """dy/du at critical points: the inverse of the Jacobian applied to the equations' derivative with respect to −u.

    The parameters (u, ε) are only added in the equations, so the Jacobian is the same for all of them.
    """
    size = solutions.shape[1]
    jacobians = _core.evaluate(program.compiled, solutions, np.zeros(program.parameter_count, dtype=np.complex128))[1]
    right = np.broadcast_to(np.eye(size, size - 1), (len(solutions), size, size - 1))
    return np.asarray(np.linalg.solve(jacobians, right)[:, :-1])
