"""Numbers of certificates: doubles in hexadecimal, and arrays of doubles in base64."""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.relaxation.constraints.constraint import Entry

Array = NDArray[np.float64]


def number(value: float) -> str:
    """Return a double as text without rounding."""
    return float(value).hex()


def packed(values: ArrayLike) -> str:
    """Return doubles, little-endian, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


def packed_integers(values: ArrayLike) -> str:
    """Return integers from −128 to 127, a byte each, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.int8).tobytes()).decode("ascii")


def scattered(values: Array, places: NDArray[np.int64], length: int) -> str:
    """Return doubles at their places among zeros, packed."""
    result = np.zeros(length)
    result[places] = values
    return packed(result)


def joined(first: Entry | None, second: Entry | None) -> Entry | None:
    """Return two entries with lists and packed doubles as one."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return second if first is None else first
    result: dict[str, str | list[int]] = {}
    for key, value in first.items():
        other = second[key]
        if isinstance(value, list) and isinstance(other, list):
            result[key] = [*value, *other]
        elif isinstance(value, str) and isinstance(other, str):
            result[key] = base64.b64encode(base64.b64decode(value) + base64.b64decode(other)).decode("ascii")
    return result
