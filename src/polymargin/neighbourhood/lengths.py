"""Lengths of perturbations without rounding, then rounded up to a double."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from polymargin.neighbourhood.neighbourhood import Neighbourhood
from polymargin.regions.norms import Norm


def length_above(near: Neighbourhood, delta: Sequence[Fraction]) -> float:
    """The least double that is at least the norm of δ, or the one after it; for weights one per coordinate."""
    steps = [abs(step) for step in delta]
    if near.weights is not None:
        steps = [Fraction(w) * step for w, step in zip(near.weights.tolist(), steps, strict=True)]
    if near.norm is Norm.L2:
        return root_above(sum((step * step for step in steps), Fraction(0)))
    return rounded_up(max(steps) if near.norm is Norm.LINF else sum(steps, Fraction(0)))


def rounded_up(value: Fraction) -> float:
    """The least double that is at least a value ≥ 0, or the one after it; inf beyond all doubles."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def root_above(square: Fraction) -> float:
    """A double that is at least the root; inf beyond all doubles."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    unit = Fraction(2) ** half
    root = math.sqrt(square / unit**2)
    while Fraction(root) ** 2 * unit**2 < square:
        root = math.nextafter(root, math.inf)
    return rounded_up(Fraction(root) * unit)
