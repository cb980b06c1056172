"""Arrays in certificates: base64 of little-endian numbers, of a length that is known beforehand."""

from __future__ import annotations

import binascii
from collections.abc import Sequence
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


def coordinates(value: Any, name: str, length: int) -> list[fmpq]:
    """Return exact numbers: doubles, or a list of hexadecimal ones, each of which may be a sum."""
    if isinstance(value, list):
        if len(value) != length:
            raise Refused(f"{name}: expected {length} entries, got {len(value)}")
        return [number(entry, f"{name}, coordinate {index}") for index, entry in enumerate(value)]
    return [fmpq(*entry.as_integer_ratio()) for entry in doubles(value, name, length).tolist()]


def exact_doubles(values: Sequence[fmpq]) -> Floats:
    """Return exact numbers that are doubles."""
    try:
        found = [int(value.p) / int(value.q) for value in values]
    except OverflowError:
        raise Refused("a number that is larger than all doubles") from None
    if any(fmpq(*double.as_integer_ratio()) != value for double, value in zip(found, values, strict=True)):
        raise Refused("a proof of this kind is about a point whose coordinates are doubles")
    return np.array(found)


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
