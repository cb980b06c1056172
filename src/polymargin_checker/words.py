"""Numbers and foreign text in messages, rounded and escaped so that a printed line is true.

Decimals are rounded outward: a lower bound down, an upper bound up, so that the sentence is true of the printed number.
Foreign text is escaped: nothing in a file or in its name can start a line of its own or hide a part of one.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from flint import fmpq

_DIGITS = 16


def rounded_down(value: fmpq | None) -> str:
    """Return a decimal that is at most the value; None is infinity."""
    return _decimal(value, ROUND_FLOOR)


def rounded_up(value: fmpq | None) -> str:
    """Return a decimal that is at least the value; None is infinity."""
    return _decimal(value, ROUND_CEILING)


def shown(value: Any) -> str:
    """Return a short form of a foreign value for a message."""
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of length {len(value)}"
    if isinstance(value, int) and abs(value) > 10**12:
        return "a huge integer"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def one_line(text: str) -> str:
    """Return the text with line breaks, control characters and other invisible ones escaped."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def _decimal(value: fmpq | None, direction: str) -> str:
    if value is None:
        return "inf"
    numerator, denominator = int(value.p), int(value.q)
    try:
        short = repr(numerator / denominator)  # the fewest digits that name the nearest double
    except OverflowError:
        short = None
    if short is not None:
        error = Fraction(short) - Fraction(numerator, denominator)
        if error == 0 or (error < 0) is (direction == ROUND_FLOOR):
            return short
    return str(Context(prec=_DIGITS, rounding=direction).divide(Decimal(numerator), Decimal(denominator)))
