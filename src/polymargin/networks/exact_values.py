"""Logits of a program without rounding: whole numbers over a common power of two.

Doubles are dyadic, and so are sums and products of them. The values computed so far are integers · 2^(−e) with one e for all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from operator import mul

import numpy as np
from numpy.typing import ArrayLike

from polymargin.networks.fixed_point import integers, whole_numbers
from polymargin.networks.forms import Forms
from polymargin.networks.recurrences import POWERS
from polymargin.networks.stages import Piecewise, Polynomial, Stage

Fixed = tuple[list[int], int]


def exact_values(stages: Sequence[Stage], readout: Forms, point: ArrayLike) -> list[Fraction]:
    """The read-out at a point."""
    values: Fixed = whole_numbers(point)
    for stage in stages:
        values = _joined(values, _stage(stage, values))
    results, exponent = _forms(readout, values)
    return [Fraction(result, 1 << exponent) for result in results]


def _stage(stage: Stage, values: Fixed) -> Fixed:
    if isinstance(stage, Polynomial):
        return _activated(stage, *_forms(stage.form, values))
    if isinstance(stage, Piecewise):
        return _on_pieces(stage, *_forms(stage.form, values))
    (left, first), (right, second) = _forms(stage.left, values), _forms(stage.right, values)
    return list(map(mul, left, right)), first + second


def _forms(forms: Forms, values: Fixed) -> Fixed:
    entries, exponent = values
    weights, own = integers(forms.weights)
    bias, bias_exponent = integers(forms.bias)
    columns, starts = forms.columns.tolist(), forms.starts.tolist()
    common = max(exponent + own, bias_exponent)
    up, bias_up = common - exponent - own, common - bias_exponent
    gathered = [entries[column] for column in columns]
    terms = list(map(mul, weights, gathered))
    sums = [(sum(terms[starts[row] : starts[row + 1]]) << up) + (shift << bias_up) for row, shift in enumerate(bias)]
    return sums, common


def _activated(stage: Polynomial, z: list[int], exponent: int) -> Fixed:
    coefficients, own = integers(np.array(stage.coefficients))
    degree, basis = stage.degree, stage.recurrence
    if basis is not POWERS:
        each = exponent + basis.spare_bits
        return [basis.whole(coefficients, entry, exponent) for entry in z], each * degree + own
    scaled = [c << (exponent * (degree - k)) for k, c in enumerate(coefficients)]
    results = []
    for entry in z:
        total = scaled[degree]
        for c in scaled[-2::-1]:
            total = total * entry + c
        results.append(total)
    return results, exponent * degree + own


def _on_pieces(stage: Piecewise, z: list[int], exponent: int) -> Fixed:
    places = [Fraction(point) * (1 << exponent) for point in stage.breakpoints]
    table = np.zeros((len(stage.pieces), stage.degree + 1))
    for row, piece in zip(table, stage.pieces, strict=True):
        row[: len(piece)] = piece
    whole, own = integers(table)
    degree, results = stage.degree, []
    scaled = [c << (exponent * (degree - k % (degree + 1))) for k, c in enumerate(whole)]
    for entry in z:
        first = (degree + 1) * bisect_right(places, entry)
        total = 0
        for c in reversed(scaled[first : first + degree + 1]):
            total = total * entry + c
        results.append(total)
    return results, exponent * degree + own


def _joined(first: Fixed, second: Fixed) -> Fixed:
    common = max(first[1], second[1])
    return [entry << (common - exponent) for entries, exponent in (first, second) for entry in entries], common
