"""Arithmetic of tensors and constants, entry by entry, with NumPy's broadcasting.

Constants are handled here; what two tensors make of each other is in `two_tensors.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polymargin.errors import InputError
from polymargin.networks.tape.attention import MatrixProduct
from polymargin.networks.tape.operations import (
    CONSTANT,
    LARGEST_DEGREE,
    Array,
    OperationTape,
    ShapeError,
    Tensor,
    Value,
    checked_size,
)
from polymargin.networks.tape.two_tensors import add_tensors, joined, multiply_tensors


def add(left: Value, right: Value) -> Value:
    """Return left + right."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return _constant_arithmetic(np.add, left, right)
    if not isinstance(right, Tensor):
        return _add_constant(left, right)
    if not isinstance(left, Tensor):
        return _add_constant(right, left)
    return add_tensors(*_broadcast(left, right))


def subtract(left: Value, right: Value) -> Value:
    """Return left − right."""
    return add(left, negate(right))


def negate(value: Value) -> Value:
    """Return −value."""
    return value.with_coefficients(-value.coefficients) if isinstance(value, Tensor) else -np.asarray(value)


def multiply(left: Value, right: Value) -> Value:
    """Return left · right, entry by entry."""
    if isinstance(left, MatrixProduct):
        return left.scaled(right)
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return _constant_arithmetic(np.multiply, left, right)
    if not isinstance(right, Tensor):
        return _scale(left, right, np.multiply)
    if not isinstance(left, Tensor):
        return _scale(right, left, np.multiply)
    return multiply_tensors(*_broadcast(left, right))


def divide(left: Value, right: Value) -> Value:
    """Return left / right; the right side must not depend on the input."""
    if isinstance(right, Tensor):
        raise InputError("a division by something that depends on the input is not polynomial")
    divisor = np.asarray(right, dtype=np.float64)
    if not divisor.all():
        raise InputError("a division by zero")
    if isinstance(left, MatrixProduct):
        return left.scaled(1.0 / divisor)
    if not isinstance(left, Tensor):
        return _constant_arithmetic(np.divide, left, divisor)
    return _scale(left, divisor, np.divide)


def power(base: Value, exponent: Value) -> Value:
    """Return base ** exponent for a constant exponent 0, 1, 2 and so on."""
    if isinstance(exponent, Tensor):
        raise InputError("an exponent that depends on the input is not polynomial")
    exponents = np.unique(np.asarray(exponent, dtype=np.float64))
    if not isinstance(base, Tensor):
        return _constant_arithmetic(np.power, base, np.asarray(exponent, dtype=np.float64))
    if len(exponents) != 1 or not exponents[0].is_integer() or not 0 <= exponents[0] <= LARGEST_DEGREE:
        shown = ", ".join(f"{value:g}" for value in exponents[:4])
        raise InputError(f"the power {shown} is not polynomial; expected one whole number from 0 to {LARGEST_DEGREE}")
    shape = _common_shape(base.shape, np.shape(exponent))
    if shape != base.shape:
        base = base.take(np.broadcast_to(base.numbers, shape))
    result = constant(base.tape, np.ones(base.shape))
    base = base.as_forms()
    for _ in range(int(exponents[0])):
        result = multiply_tensors(base, result)
    return result


def concatenate(values: Sequence[Value], axis: int) -> Value:
    """Return the values joined along an axis."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    if not tensors:
        return np.concatenate([np.asarray(value) for value in values], axis=axis)
    parts = [value if isinstance(value, Tensor) else constant(tensors[0].tape, value) for value in values]
    starts = np.cumsum([0] + [part.size for part in parts])
    pairs = zip(parts, starts, strict=False)
    try:
        index = np.concatenate([part.numbers + start for part, start in pairs], axis=axis)
    except ValueError as error:
        raise ShapeError(f"tensors of shapes {[part.shape for part in parts]} do not join ({error})") from None
    return joined(parts).take(index)


def constant(tape: OperationTape, values: ArrayLike) -> Tensor:
    """Return a tensor that does not depend on the input."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InputError("a constant that is not finite")
    size = checked_size(array.shape)
    coefficients = np.stack([array.reshape(-1), np.zeros(size)], axis=1)
    return Tensor(tape, array.shape, np.full(size, CONSTANT, dtype=np.intp), np.zeros(size), coefficients)


# -- constants -------------------------------------------------------------------------------------


def _constant_arithmetic(operation: Callable[..., Any], left: Value, right: Value) -> Value:
    first, second = np.asarray(left), np.asarray(right)
    _common_shape(first.shape, second.shape)
    with np.errstate(all="ignore"):
        return operation(first, second)


def _add_constant(tensor: Tensor, value: ArrayLike) -> Tensor:
    tensor, numbers = _with_numbers(tensor, value)
    slopes, moving = tensor.coefficients[:, 1], tensor.directions != CONSTANT
    plain = tensor.affine and not tensor.coefficients[moving, 0].any() and np.all(slopes[moving] == 1.0)
    if plain and len(np.unique(numbers)) > 1:
        # A bias that comes as an addition of its own belongs to the form, so that one activation fits all entries.
        coefficients = tensor.coefficients.copy()
        coefficients[~moving, 0] += numbers[~moving]
        shifts = tensor.shifts + np.where(moving, numbers, 0.0)
        return Tensor(tensor.tape, tensor.shape, tensor.directions, shifts, coefficients)
    coefficients = tensor.coefficients.copy()
    coefficients[:, 0] += numbers
    return tensor.with_coefficients(coefficients)


def _scale(tensor: Tensor, value: ArrayLike, operation: Callable[..., Any]) -> Tensor:
    tensor, numbers = _with_numbers(tensor, value)
    return tensor.with_coefficients(operation(tensor.coefficients, numbers[:, None]))


def _with_numbers(tensor: Tensor, value: ArrayLike) -> tuple[Tensor, Array]:
    array = np.asarray(value, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InputError("a constant that is not finite")
    shape = _common_shape(tensor.shape, array.shape)
    if shape != tensor.shape:
        tensor = tensor.take(np.broadcast_to(tensor.numbers, shape))
    return tensor, np.broadcast_to(array, shape).reshape(-1)


# -- two tensors -----------------------------------------------------------------------------------


def _broadcast(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    shape = _common_shape(left.shape, right.shape)
    pair = (left, right)
    wide = [part if part.shape == shape else part.take(np.broadcast_to(part.numbers, shape)) for part in pair]
    return wide[0], wide[1]


def _common_shape(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    try:
        shape = np.broadcast_shapes(first, second)
    except ValueError:
        raise ShapeError(f"shapes {first} and {second} do not broadcast") from None
    checked_size(shape)
    return shape
