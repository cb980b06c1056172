"""Logits without rounding, in fixed point: a vector is (integers, e) and stands for integers · 2^(−e).

Doubles are dyadic, and sums and products of dyadic numbers are dyadic, so integer matrices do all the work and ties
are decided for certain. The integers grow with the degree of the network; their size is estimated before every
layer, so that no file can ask for more memory than there is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flint import fmpq, fmpz, fmpz_mat

from polymargin_checker.model import Matrix, Model
from polymargin_checker.refusal import Refused
from polymargin_checker.work import spend

_MOST_BITS = 1 << 30
"""Of all integers of one matrix or vector together."""
_DOUBLE = 2200
"""No double needs more over a common denominator with others."""
_LONGEST = 1 << 20
"""Of one integer; enough for degrees in the thousands."""

_WORK = "the exact logits"

Fixed = tuple[fmpz_mat, int]


def exact_logits(model: Model, point: Sequence[fmpq]) -> list[fmpq]:
    """f(point) as exact rationals."""
    values, exponent = _column(point)
    last = len(model.weights) - 1
    for layer, (weights, bias) in enumerate(zip(model.weights, model.biases, strict=True)):
        values, exponent = _affine(weights, bias, values, exponent)
        if layer < last:
            coefficients = model.activations[layer]
            values, exponent = _activate(coefficients, values, exponent)
    return [fmpq(entry, 1 << exponent) for entry in values.entries()]


def slope(model: Model, label: int, rival: int) -> list[fmpq]:
    """w with f_label(x) − f_rival(x) = w·x + constant, for a network whose activations have degree at most one."""
    last = model.weights[-1]
    rows, exponent = _fixed(last.row(label) + last.row(rival), 2, last.columns)
    vector = fmpz_mat(1, last.columns, [rows[0, j] - rows[1, j] for j in range(last.columns)])
    for weights, coefficients in zip(model.weights[-2::-1], model.activations[::-1], strict=True):
        factor, factor_exponent = _fixed([coefficients[1] if len(coefficients) > 1 else 0.0], 1, 1)
        matrix, matrix_exponent = _matrix(weights)
        _afford(_bits(vector) + 2 * _DOUBLE, weights.columns)
        spend(weights.rows * weights.columns, _bits(vector) + _bits(matrix), _WORK)
        vector, exponent = vector * factor[0, 0] * matrix, exponent + factor_exponent + matrix_exponent
    return [fmpq(entry, 1 << exponent) for entry in vector.entries()]


def _affine(weights: Matrix, bias: Sequence[float], values: fmpz_mat, exponent: int) -> Fixed:
    matrix, matrix_exponent = _matrix(weights)
    shift, shift_exponent = _fixed(bias, len(bias), 1)
    _afford(_bits(values) + _DOUBLE, weights.rows)
    spend(weights.rows * weights.columns, _bits(values) + _bits(matrix), _WORK)
    product, exponent = matrix * values, exponent + matrix_exponent
    common = max(exponent, shift_exponent)
    total = product * (fmpz(1) << (common - exponent)) + shift * (fmpz(1) << (common - shift_exponent))
    return total, common


def _activate(coefficients: Sequence[float], values: fmpz_mat, exponent: int) -> Fixed:
    """Horner's rule on numerators: Σ c_k (z 2^(−e))^k over the common denominator 2^(e d)."""
    row, row_exponent = _fixed(coefficients, 1, len(coefficients))
    degree = len(coefficients) - 1
    length = (_bits(values) + exponent) * degree + _bits(row)
    _afford(length, values.nrows())
    spend(degree * values.nrows(), length, _WORK)
    scaled = [row[0, k] << (exponent * (degree - k)) for k in range(degree + 1)]
    results = []
    for z in values.entries():
        total = scaled[degree]
        for k in reversed(range(degree)):
            total = total * z + scaled[k]
        results.append(total)
    return fmpz_mat(len(results), 1, results), exponent * degree + row_exponent


def _column(point: Sequence[fmpq]) -> Fixed:
    exponent = max(int(entry.q).bit_length() - 1 for entry in point)
    return fmpz_mat(len(point), 1, [entry.p * ((fmpz(1) << exponent) // entry.q) for entry in point]), exponent


def _matrix(weights: Matrix) -> Fixed:
    return _fixed(weights.values, weights.rows, weights.columns)


def _fixed(values: Sequence[float], rows: int, columns: int) -> Fixed:
    """Doubles over their least common denominator."""
    exponent = max(value.as_integer_ratio()[1].bit_length() - 1 for value in values)
    _afford(exponent + max(math.frexp(value)[1] for value in values), rows * columns)
    ratios = (value.as_integer_ratio() for value in values)
    entries = [numerator << (exponent + 1 - denominator.bit_length()) for numerator, denominator in ratios]
    return fmpz_mat(rows, columns, entries), exponent


def _bits(values: fmpz_mat) -> int:
    return max(int(entry.bit_length()) for entry in values.entries())


def _afford(bits: int, count: int) -> None:
    if bits > _LONGEST or bits * count > _MOST_BITS:
        raise Refused("the exact logits need more memory than this checker allows; the degree is too high")
