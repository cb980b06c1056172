"""One point or a batch: what was given, for type checkers and as an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError

Array = NDArray[np.float64]

Found = TypeVar("Found")
# What type checkers can tell apart; an array whose type does not say how many axes it has may be either.
OnePoint: TypeAlias = Sequence[float] | np.ndarray[tuple[int], np.dtype[Any]]
ManyPoints: TypeAlias = Sequence[Sequence[float]] | Sequence[NDArray[Any]] | np.ndarray[tuple[int, int], np.dtype[Any]]


def one_or_many(points: ArrayLike, dimension: int) -> Array:
    """Return one point (n,) or a batch (m, n) as it is, with further axes, such as those of images, flattened.

    A vector of another length is left to `checked_point`, which shows it.

    >>> one_or_many(np.zeros((5, 1, 8, 8)), 64).shape
    (5, 64)
    """
    array = real_array(points, "points")
    rows = array.reshape(len(array), -1) if array.ndim > 2 and array.size else array
    if not rows.ndim or not rows.size or (rows.ndim == 2 and rows.shape[1] != dimension):
        one = "; for one point give points.ravel()" if array.ndim > 1 and array.size == dimension else ""
        raise InputError(
            f"points of shape {array.shape}: expected one vector of {dimension} numbers, or an array (m, …) with {dimension} "
            f"numbers for each of m points{one}"
        )
    return rows


def each(function: Callable[[Array], Found], points: Array) -> list[Found]:
    """Apply the function to every row of points (m, n) whose result has no error field; an error passes through."""
    found = []
    for row, point in enumerate(points):
        try:
            found.append(function(point))
        except InputError as error:
            raise InputError(f"row {row}: {error}") from None
    return found
