"""Numbers that callers hand in, as they are or refused: nothing is lost or invented on the way to doubles.

NumPy turns complex numbers into their real parts, dates into counts of days, masked entries into what lies under the mask, and
texts into the numbers they spell. Each would give an answer about another point than the one that was meant.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError

Array = NDArray[np.float64]


def real_array(values: Any, name: str) -> Array:
    """The values as float64; only what is made of real numbers.

    >>> real_array([1, 2.5], "the point")
    array([1. , 2.5])
    >>> real_array([1 + 2j], "the point")
    Traceback (most recent call last):
    polymargin.errors.InputError: the point: not an array of real numbers but of complex128
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    if _is_masked(values):
        raise InputError(f"{name}: a masked array; expected real numbers: fill it or leave the masked rows out")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":  # Fractions, decimals, large integers; float() refuses what is not real
            if any(isinstance(entry, (str, bytes, complex)) for entry in array.flat):
                raise TypeError
            return np.array([float(entry) for entry in array.flat], dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise InputError(f"{name}: not an array of real numbers") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name}: not an array of real numbers but of {array.dtype}")
    return np.asarray(array, dtype=np.float64)


def positive(value: Any, name: str) -> float:
    """A finite number above zero, such as a tolerance.

    >>> positive(float("nan"), "tolerance")
    Traceback (most recent call last):
    polymargin.errors.InputError: tolerance=nan: expected a positive, finite number
    """
    if isinstance(value, (bool, complex, str)) or not _is_positive(value):
        raise InputError(f"{name}={value!r}: expected a positive, finite number")
    return float(value)


def _is_positive(value: Any) -> bool:
    try:
        return 0 < float(value) < math.inf
    except (TypeError, ValueError, OverflowError):
        return False


def _is_masked(values: Any) -> bool:
    rows = values if isinstance(values, (list, tuple)) else (values,)
    return any(isinstance(row, np.ma.MaskedArray) for row in rows)
