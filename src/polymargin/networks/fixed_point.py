"""Logits without rounding, fast: layers as integer matrices over a power of two.

Doubles are dyadic, and so are sums and products of them. A vector is (integers, e) and stands for integers · 2^(−e); a layer
is an integer matrix product, which python-flint does in C, or one for all rows with the same zeros: those of convolutions are
most of their weights. Half a million weights take some hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.zero_patterns import rows_alike

Array = NDArray[np.float64]


class FixedPointLayers:
    """Affine layers and the activations between them, prepared once."""

    def __init__(self, layers: Sequence[tuple[Array, Array]], activations: Sequence[Sequence[float]]) -> None:
        self._layers = [(_IntegerRows.of(weights), *_column(bias)) for weights, bias in layers]
        self._activations = [integers(np.array(row)) for row in activations]

    def __call__(self, point: ArrayLike) -> list[Fraction]:
        """The logits at a point."""
        whole, exponent = whole_numbers(point)
        values = fmpz_mat(len(whole), 1, whole)
        for index, (weights, bias, bias_exponent) in enumerate(self._layers):
            values, exponent = weights.times(values), exponent + weights.exponent
            common = max(exponent, bias_exponent)
            values = values * (1 << (common - exponent)) + bias * (1 << (common - bias_exponent))
            exponent = common
            if index < len(self._activations):
                values, exponent = _activated(*self._activations[index], values, exponent)
        return [Fraction(int(value), 1 << exponent) for value in values.entries()]


def _activated(coefficients: list[int], own: int, values: Any, exponent: int) -> tuple[Any, int]:
    """Horner's rule over the common denominator: Σ c_k (z 2^(−e))^k."""
    degree = len(coefficients) - 1
    scaled = [c << (exponent * (degree - k)) for k, c in enumerate(coefficients)]
    results = []
    for z in values.entries():
        total = scaled[degree] + 0 * z
        for c in scaled[-2::-1]:
            total = total * z + c
        results.append(total)
    return fmpz_mat(len(results), 1, results), exponent * degree + own


@dataclass(frozen=True, eq=False)
class _IntegerRows:
    """A matrix over a power of two: rows with the same zeros are a block without these, of which the places are known."""

    height: int
    blocks: list[tuple[list[int], list[int], Any]]
    exponent: int

    @classmethod
    def of(cls, values: Array) -> _IntegerRows:
        pattern = values != 0
        whole, exponent = integers(values[pattern])
        ends = np.cumsum(pattern.sum(axis=1)).tolist()
        blocks = []
        for rows, columns in ((rows.tolist(), columns.tolist()) for rows, columns in rows_alike(values)):
            entries = [entry for row in rows for entry in whole[ends[row] - len(columns) : ends[row]]]
            if columns:
                blocks.append((rows, columns, fmpz_mat(len(rows), len(columns), entries)))
        return cls(len(values), blocks, exponent)

    def times(self, vector: Any) -> Any:
        given, result = vector.entries(), [0] * self.height
        for rows, columns, block in self.blocks:
            seen = fmpz_mat(len(columns), 1, [given[column] for column in columns])
            for row, value in zip(rows, (block * seen).entries(), strict=True):
                result[row] = value
        return fmpz_mat(self.height, 1, result)


def _column(values: Array) -> tuple[Any, int]:
    whole, exponent = integers(values)
    return fmpz_mat(len(whole), 1, whole), exponent


def whole_numbers(point: ArrayLike) -> tuple[list[int], int]:
    """A point of doubles or of dyadic Fractions, as integers over a power of two."""
    values = point.tolist() if isinstance(point, np.ndarray) else point
    if not (isinstance(values, list) and values and all(isinstance(value, Fraction) for value in values)):
        return integers(real_array(point, "the point"))
    powers = [value.denominator.bit_length() - 1 for value in values]
    exponent = max(powers)
    return [value.numerator << (exponent - own) for value, own in zip(values, powers, strict=True)], exponent


def integers(values: Array) -> tuple[list[int], int]:
    """Doubles as integers over their least common power of two (a negative power counts as none)."""
    mantissas, exponents = np.frexp(np.ravel(values))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    trailing = np.log2(np.maximum(whole & -whole, 1).astype(np.float64)).astype(np.int64)
    lowest = exponents - 53 + trailing
    exponent = max(0, -int(lowest[whole != 0].min(initial=0)))
    pairs = zip((whole >> trailing).tolist(), (lowest + exponent).tolist(), strict=True)
    return [odd << shift if odd else 0 for odd, shift in pairs], exponent
