"""Lengths of perturbations without rounding, then rounded up to a double."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import fmpq, fmpq_mat

from polymargin.regions.norms import Norm
from polymargin.regions.region import Region


def length_above(region: Region, delta: Sequence[Fraction]) -> float:
    """Return the least double that is at least the length of δ, or the one after it."""
    if region.ellipsoid is not None:
        return root_above(_squared_length(region, delta))
    steps = [abs(step) for step in delta]
    if region.weights is not None:
        steps = [Fraction(w) * step for w, step in zip(region.weights.tolist(), steps, strict=True)]
    if region.norm is Norm.L2:
        return root_above(sum((step * step for step in steps), Fraction(0)))
    return rounded_up(max(steps) if region.norm is Norm.LINF else sum(steps, Fraction(0)))


def _squared_length(region: Region, delta: Sequence[Fraction]) -> Fraction:
    """Return δᵀMδ over the entries of δ that are not zero."""
    moved = [i for i, step in enumerate(delta) if step]
    if not moved:
        return Fraction(0)
    rows = region.metric[moved][:, moved].ravel().tolist()
    metric = fmpq_mat(len(moved), len(moved), [fmpq(*value.as_integer_ratio()) for value in rows])
    column = fmpq_mat(len(moved), 1, [fmpq(delta[i].numerator, delta[i].denominator) for i in moved])
    square = (column.transpose() * (metric * column))[0, 0]
    return Fraction(int(square.p), int(square.q))


def rounded_up(value: Fraction) -> float:
    """Return the least double that is at least a value ≥ 0, or the one after it; inf beyond all doubles."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def root_above(square: Fraction) -> float:
    """Return a double that is at least the root; inf beyond all doubles."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    unit = Fraction(2) ** half
    root = math.sqrt(square / unit**2)
    while Fraction(root) ** 2 * unit**2 < square:
        root = math.nextafter(root, math.inf)
    return rounded_up(Fraction(root) * unit)
