"""Arguments of regions as arrays; a wrong value is refused in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError

Floats = NDArray[np.float64]

# Of weights and ends of domains: their squares and quotients must stay within the range of doubles.
SMALLEST, LARGEST = 1e-60, 1e60


def weights(value: ArrayLike | None) -> Floats | None:
    """Return positive numbers (n,)."""
    if value is None:
        return None
    array = _frozen(real_array(value, "weights"))
    if array.ndim != 1 or not len(array):
        raise InputError(f"weights of shape {array.shape}: expected one number per input; a matrix is an ellipsoid")
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise InputError(f"weights {array.tolist()}: expected positive, finite numbers")
    if array.min() < SMALLEST or array.max() > LARGEST:
        raise InputError(
            f"weights from {array.min():.3g} to {array.max():.3g}: expected numbers from {SMALLEST:g} to {LARGEST:g}; "
            "the norm scales with them, and a coordinate that hardly counts may be left out by movable="
        )
    return array


def ellipsoid(value: ArrayLike | None) -> Floats | None:
    """Return a symmetric positive definite matrix (n, n)."""
    if value is None:
        return None
    array = real_array(value, "ellipsoid")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not len(array):
        raise InputError(f"ellipsoid of shape {array.shape}: expected a square matrix")
    if not np.abs(array).max() <= LARGEST:
        raise InputError(
            f"ellipsoid: an entry of {np.abs(array).max():.3g}; expected a matrix of numbers up to {LARGEST:g}"
        )
    symmetric = (array + array.T) / 2
    try:
        np.linalg.cholesky(symmetric)
    except np.linalg.LinAlgError:
        raise InputError(
            "ellipsoid: the matrix is not positive definite; expected a symmetric positive definite one"
        ) from None
    return _frozen(symmetric)


def subspace(value: ArrayLike | None) -> Floats | None:
    """Return independent columns (n, k)."""
    if value is None:
        return None
    array = _frozen(real_array(value, "subspace"))
    if array.ndim != 2 or not array.size or np.linalg.matrix_rank(array) < array.shape[1]:
        raise InputError(f"subspace of shape {array.shape}: expected (n, k) with independent columns")
    return array


def domain(value: Any) -> tuple[Floats | None, Floats | None]:
    """Return the ends, both of them numbers or both vectors."""
    if value is None:
        return None, None
    try:
        lowest, highest = value
    except (TypeError, ValueError):
        raise InputError(f"domain {value!r}: expected a pair (lo, hi) of numbers or of vectors") from None
    ends = [real_array(end, "domain") for end in (lowest, highest)]
    shapes = {end.shape for end in ends if end.ndim}
    if len(shapes) > 1 or any(len(shape) != 1 or not shape[0] for shape in shapes):
        raise InputError(f"domain: ends of shapes {ends[0].shape} and {ends[1].shape}; expected numbers or two vectors")
    low, high = (_frozen(np.broadcast_to(end, next(iter(shapes), ()))) for end in ends)
    wrong = np.atleast_1d(~(low <= high))
    if wrong.any():
        where = int(np.flatnonzero(wrong)[0])
        a, b = np.atleast_1d(low)[where], np.atleast_1d(high)[where]
        raise InputError(f"domain: coordinate {where} runs from {a} to {b}; expected lo ≤ hi")
    if any((np.isfinite(end) & (np.abs(end) > LARGEST)).any() for end in (low, high)):
        raise InputError(f"domain: an end beyond {LARGEST:g}; expected smaller numbers, or inf where there is no end")
    return low, high


def movable(value: Any) -> tuple[tuple[int, ...] | None, int | None]:
    """Return coordinates, and how many inputs there are where a mask says so."""
    if value is None:
        return None, None
    array = np.asarray(value)
    size = None
    if array.dtype == bool and array.ndim == 1:
        array, size = np.flatnonzero(array), len(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise InputError(f"movable {value!r}: expected some coordinates or a mask; columns are a subspace")
    if array.min() < 0 or len(set(array.tolist())) < len(array):
        raise InputError(f"movable {array.tolist()}: expected different coordinates, 0 or more")
    return tuple(sorted(array.tolist())), size


def _frozen(array: NDArray[Any]) -> Floats:
    """Return a copy that cannot be written to."""
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy
