"""Numbers in certificates: hexadecimal floats, or lists of them that stand for their exact sum.

All are dyadic rationals and become `flint.fmpq` without rounding. They are read digit by digit and not with
`float.fromhex`, which would round a long mantissa and turn a small exponent into zero. Length and exponent are
bounded: a short string must not stand for a number that fills the memory.
"""

from __future__ import annotations

import re
from typing import Any

from flint import arb, fmpq

from polymargin_checker.refusal import Refused
from polymargin_checker.words import shown
from polymargin_checker.work import count_number

_HEXADECIMAL = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]{1,16})(?:\.([0-9a-fA-F]{0,32}))?[pP]([+-]?[0-9]{1,4})")
_LARGEST_EXPONENT = 1100
_MOST_TERMS = 16


def number(value: Any, name: str) -> fmpq:
    """Return one finite number, exactly."""
    count_number()
    if isinstance(value, str):
        return _parse(value, name)
    if isinstance(value, list):
        if not 1 <= len(value) <= _MOST_TERMS:
            raise Refused(f"{name}: a sum of {len(value)} terms; expected 1 to {_MOST_TERMS}")
        if not all(isinstance(term, str) for term in value):
            raise Refused(f"{name}: the terms of a sum must be hexadecimal floats in quotes")
        return sum((_parse(term, name) for term in value), fmpq(0))
    raise Refused(f"{name}: expected a hexadecimal float in quotes, got {shown(value)}")


def number_or_infinity(value: Any, name: str) -> fmpq | None:
    """Return one number, or None for "inf"."""
    return None if value == "inf" else number(value, name)


def at_least(large: fmpq | None, small: fmpq | None) -> bool:
    """Return whether large ≥ small; None is infinity."""
    return large is None or (small is not None and bool(large >= small))


def ball(value: fmpq) -> arb:
    """Return a ball around the number: exact if it fits the working precision, an enclosure otherwise."""
    return arb(value)


def _parse(text: str, name: str) -> fmpq:
    match = _HEXADECIMAL.fullmatch(text)
    if match is None:
        raise Refused(f"{name}: {shown(text)} is not a hexadecimal float")
    sign, whole, fraction, exponent_text = match.groups(default="")
    exponent = int(exponent_text)
    if abs(exponent) > _LARGEST_EXPONENT:
        raise Refused(f"{name}: the exponent of {shown(text)} is beyond {_LARGEST_EXPONENT}")
    mantissa = int(whole + fraction, 16)
    exponent -= 4 * len(fraction)
    if sign == "-":
        mantissa = -mantissa
    return fmpq(mantissa << exponent) if exponent >= 0 else fmpq(mantissa, 1 << -exponent)
