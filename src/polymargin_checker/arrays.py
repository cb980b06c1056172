"""Arrays in certificates: base64 of little-endian numbers, of a length that is known beforehand."""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from polymargin_checker.dyadics import number
from polymargin_checker.refusal import Refused
from polymargin_checker.words import shown
from polymargin_checker.work import count_number

Floats = NDArray[np.float64]


def doubles(value: Any, name: str, length: int) -> Floats:
    """Return finite doubles."""
    array = np.frombuffer(_content(value, name, 8 * length), dtype="<f8").astype(np.float64)
    if not np.isfinite(array).all():
        raise Refused(f"{name}: a number that is not finite")
    count_number(length)
    return array


def small_integers(value: Any, name: str, length: int) -> NDArray[np.int8]:
    """Return integers from −128 to 127."""
    return np.frombuffer(_content(value, name, length), dtype=np.int8)


def powers_of_two(value: Any, name: str, length: int, least: int, most: int) -> Floats:
    """Return 2^e for exponents e, 16 bits each."""
    exponents = np.frombuffer(_content(value, name, 2 * length), dtype="<i2").astype(np.int64)
    if ((exponents < least) | (exponents > most)).any():
        raise Refused(f"{name}: an exponent that is not from {least} to {most}")
    return np.ldexp(1.0, exponents)


@dataclass(frozen=True, eq=False)
class Point:
    """A point without rounding; `doubles` are the same where its coordinates are doubles."""

    exact: list[fmpq]
    doubles: Floats | None


def read_point(value: Any, name: str, length: int) -> Point:
    """Return a point from an array of doubles, or from a list of hexadecimal numbers, each of which may be a sum."""
    if not isinstance(value, list):
        array = doubles(value, name, length)
        return Point([fmpq(*entry.as_integer_ratio()) for entry in array.tolist()], array)
    if len(value) != length:
        raise Refused(f"{name}: expected {length} entries, got {len(value)}")
    exact = [number(entry, f"{name}, coordinate {index}") for index, entry in enumerate(value)]
    return Point(exact, as_doubles(exact))


def as_doubles(values: Sequence[fmpq]) -> Floats | None:
    """Return exact numbers as doubles, if all of them are."""
    try:
        found = [int(value.p) / int(value.q) for value in values]
    except OverflowError:
        return None
    same = all(fmpq(*double.as_integer_ratio()) == value for double, value in zip(found, values, strict=True))
    return np.array(found) if same else None


def _content(value: Any, name: str, length: int) -> bytes:
    if not isinstance(value, str) or len(value) != 4 * ((length + 2) // 3):
        raise Refused(f"{name}: expected {length} bytes in base64, got {shown(value)}")
    try:
        content = binascii.a2b_base64(value, strict_mode=True)
    except ValueError:
        raise Refused(f"{name}: {shown(value)} is not base64") from None
    if len(content) != length:
        raise Refused(f"{name}: expected {length} bytes in base64, got {len(content)}")
    return content
