"""Doubles near exact numbers and balls, and how far they are."""

from __future__ import annotations

import math
from typing import Any

from flint import arb, fmpq

from polymargin_checker.refusal import Unproved

UNIT = 2.0**-53
SAFE = 1 + 2.0**-20
SMALLEST = math.ldexp(1.0, -1070)


def nearest(value: Any) -> tuple[float, float]:
    """A double near a rational or a ball, and how far what it stands for is at most."""
    if isinstance(value, float):
        return value, 0.0
    if isinstance(value, arb):
        middle, radius = float(value.mid()), float(value.rad())
        return middle, (radius + 4 * UNIT * abs(middle)) * SAFE + SMALLEST
    rational = fmpq(value)
    try:
        middle = int(rational.p) / int(rational.q)
    except OverflowError:
        raise Unproved("a number is beyond all doubles") from None
    exact = fmpq(*middle.as_integer_ratio()) == rational
    return middle, 0.0 if exact else 2 * UNIT * abs(middle) + SMALLEST


def above(value: arb) -> float:
    """A double above everything in the ball."""
    return math.nextafter(float(value.upper()), math.inf)
