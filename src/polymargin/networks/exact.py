"""Logits without rounding: whole numbers over a common power of two.

Doubles are dyadic, and so are sums and products of them. The values of a stage are (integers, e) and stand for integers · 2^(−e).
An operator is prepared once as integer matrices, which python-flint multiplies in C: one for all rows with the same nonzero
columns, because most weights of a convolution are zeros. Half a million weights take some hundredths of a second.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from flint import fmpz, fmpz_mat
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.networks.forms import Forms, Operator
from polymargin.networks.recurrences import POWERS
from polymargin.networks.stages import Piecewise, Polynomial, Product, Stage

Array = NDArray[np.float64]
Dyadics: TypeAlias = tuple[list[Any], int]
"""Integers (fmpz) and e: the numbers are integers · 2^(−e)."""


class ExactStages:
    """Stages and read-out, prepared once."""

    def __init__(self, stages: Sequence[Stage], readout: Forms) -> None:
        self._stages = [(stage, [_ExactForms.of(forms) for forms in stage.forms]) for stage in stages]
        self._readout = _ExactForms.of(readout)

    def __call__(self, point: ArrayLike) -> list[Fraction]:
        """Return the logits at a point of doubles or of dyadic Fractions."""
        whole, exponent = whole_numbers(point)
        values: list[Dyadics] = [([fmpz(entry) for entry in whole], exponent)]
        for stage, forms in self._stages:
            values.append(_activated(stage, [form(values) for form in forms]))
        results, exponent = self._readout(values)
        return [Fraction(int(result), 1 << exponent) for result in results]


@dataclass(frozen=True, eq=False)
class _ExactForms:
    bias: Dyadics
    blocks: list[tuple[int, _IntegerRows]]

    @classmethod
    def of(cls, forms: Forms) -> _ExactForms:
        whole, exponent = integers(forms.bias)
        blocks = [(source, _IntegerRows.of(block)) for source, block in forms.blocks]
        return cls(([fmpz(entry) for entry in whole], exponent), blocks)

    def __call__(self, values: Sequence[Dyadics]) -> Dyadics:
        return _sum([self.bias, *(rows.times(values[source]) for source, rows in self.blocks)])


@dataclass(frozen=True, eq=False)
class _IntegerRows:
    """A matrix over a power of two: rows with the same nonzero columns are one block without the zeros."""

    height: int
    blocks: list[tuple[list[int], list[int], Any]]
    exponent: int

    @classmethod
    def of(cls, operator: Operator) -> _IntegerRows:
        rows = sparse.csr_array(operator)
        whole, exponent = integers(rows.data)
        starts = rows.indptr.tolist()
        alike: dict[bytes, list[int]] = {}
        for row, (first, last) in enumerate(pairwise(starts)):
            if first < last:
                alike.setdefault(rows.indices[first:last].tobytes(), []).append(row)
        blocks = []
        for chosen in alike.values():
            entries = [entry for row in chosen for entry in whole[starts[row] : starts[row + 1]]]
            columns = rows.indices[starts[chosen[0]] : starts[chosen[0] + 1]].tolist()
            blocks.append((chosen, columns, fmpz_mat(len(chosen), len(columns), entries)))
        return cls(rows.shape[0], blocks, exponent)

    def times(self, vector: Dyadics) -> Dyadics:
        given, exponent = vector
        result = [fmpz(0)] * self.height
        for rows, columns, block in self.blocks:
            seen = fmpz_mat(len(columns), 1, [given[column] for column in columns])
            for row, value in zip(rows, (block * seen).entries(), strict=True):
                result[row] = value
        return result, exponent + self.exponent


def _sum(parts: Sequence[Dyadics]) -> Dyadics:
    common = max(exponent for _, exponent in parts)
    shifted = [[entry << (common - exponent) for entry in entries] for entries, exponent in parts]
    return [sum(column[1:], column[0]) for column in zip(*shifted, strict=True)], common


def _activated(stage: Stage, forms: Sequence[Dyadics]) -> Dyadics:
    if isinstance(stage, Product):
        (left, first), (right, second) = forms
        return [a * b for a, b in zip(left, right, strict=True)], first + second
    ((z, exponent),) = forms
    return _polynomial(stage, z, exponent) if isinstance(stage, Polynomial) else _piecewise(stage, z, exponent)


def _polynomial(stage: Polynomial, z: list[Any], exponent: int) -> Dyadics:
    coefficients, own = integers(np.array(stage.coefficients))
    if stage.recurrence is POWERS:
        rule = _Horner(coefficients, exponent)
        return [rule(entry) for entry in z], exponent * stage.degree + own
    each = exponent + stage.recurrence.spare_bits
    return [stage.recurrence.whole(coefficients, entry, exponent) for entry in z], each * stage.degree + own


def _piecewise(stage: Piecewise, z: list[Any], exponent: int) -> Dyadics:
    whole, own = integers(stage.table)
    width = stage.degree + 1
    rules = [_Horner(whole[first : first + width], exponent) for first in range(0, len(whole), width)]
    scale = 1 << exponent
    # The smallest integers at or above each breakpoint.
    places = [-(-point.numerator * scale // point.denominator) for point in map(Fraction, stage.breakpoints)]
    return [rules[bisect_right(places, entry)](entry) for entry in z], exponent * stage.degree + own


class _Horner:
    """Σ c_k (z 2^(−e))^k over the common denominator, for whole c_k and z."""

    def __init__(self, coefficients: Sequence[int], exponent: int) -> None:
        degree = len(coefficients) - 1
        self._scaled = [fmpz(c) << (exponent * (degree - k)) for k, c in enumerate(coefficients)]

    def __call__(self, z: Any) -> Any:
        total = self._scaled[-1]
        for c in self._scaled[-2::-1]:
            total = total * z + c
        return total


def whole_numbers(point: ArrayLike) -> tuple[list[int], int]:
    """Return a point of doubles or of dyadic Fractions as integers over a power of two."""
    values = point.tolist() if isinstance(point, np.ndarray) else point
    if not (isinstance(values, list) and values and all(isinstance(value, Fraction) for value in values)):
        return integers(real_array(point, "the point"))
    if bad := [value for value in values if value.denominator & (value.denominator - 1)]:
        raise InputError(f"the point contains {bad[0]}, which is not dyadic; expected integers over powers of two")
    exponents = [value.denominator.bit_length() - 1 for value in values]
    common = max(exponents)
    return [value.numerator << (common - own) for value, own in zip(values, exponents, strict=True)], common


def integers(values: Array) -> tuple[list[int], int]:
    """Return doubles as integers over their least common power of two; a negative power counts as none."""
    mantissas, exponents = np.frexp(np.ravel(values))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    trailing = np.log2(np.maximum(whole & -whole, 1).astype(np.float64)).astype(np.int64)
    lowest = exponents - 53 + trailing
    exponent = max(0, -int(lowest[whole != 0].min(initial=0)))
    odd, shifts = whole >> trailing, lowest + exponent
    if not (whole != 0).any() or int((53 - trailing + shifts)[whole != 0].max()) < 63:
        return (odd << np.where(whole != 0, shifts, 0)).tolist(), exponent
    return [
        entry << shift if entry else 0 for entry, shift in zip(odd.tolist(), shifts.tolist(), strict=True)
    ], exponent
