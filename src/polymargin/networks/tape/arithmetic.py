"""Arithmetic of tensors and constants, entry by entry, with NumPy's broadcasting.

Sums of anything are possible. A product of two tensors stays a polynomial of one form where both factors are polynomials of
the same form, or of forms that are multiples of each other; other products become atoms of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.tape.attention import MatrixProduct
from polymargin.networks.tape.operations import (
    CONSTANT,
    LARGEST_DEGREE,
    LARGEST_EXPANDED,
    Array,
    OperationTape,
    Tensor,
    checked_size,
    linear,
)
from polymargin.networks.tape.parallel import multiples

Value = Tensor | Any  # a tensor, or a constant: a number or an array


def add(left: Value, right: Value) -> Value:
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return _constant_arithmetic(np.add, left, right)
    if not isinstance(right, Tensor):
        return _add_constant(left, right)
    if not isinstance(left, Tensor):
        return _add_constant(right, left)
    return _add_tensors(*_broadcast(left, right))


def subtract(left: Value, right: Value) -> Value:
    return add(left, negate(right))


def negate(value: Value) -> Value:
    return value.with_coefficients(-value.coefficients) if isinstance(value, Tensor) else -np.asarray(value)


def multiply(left: Value, right: Value) -> Value:
    if isinstance(left, MatrixProduct):
        return left.scaled(right)
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return _constant_arithmetic(np.multiply, left, right)
    if not isinstance(right, Tensor):
        return _scale(left, right, np.multiply)
    if not isinstance(left, Tensor):
        return _scale(right, left, np.multiply)
    return _multiply_tensors(*_broadcast(left, right))


def divide(left: Value, right: Value) -> Value:
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
    """base ** exponent for a constant exponent 0, 1, 2, …"""
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
        result = _multiply_tensors(base, result)
    return result


def concatenate(values: Sequence[Value], axis: int) -> Value:
    tensors = [value for value in values if isinstance(value, Tensor)]
    if not tensors:
        return np.concatenate([np.asarray(value) for value in values], axis=axis)
    parts = [value if isinstance(value, Tensor) else constant(tensors[0].tape, value) for value in values]
    starts = np.cumsum([0] + [part.size for part in parts])
    pairs = zip(parts, starts, strict=False)
    try:
        index = np.concatenate([part.numbers + start for part, start in pairs], axis=axis)
    except ValueError as error:
        raise InputError(f"tensors of shapes {[part.shape for part in parts]} do not join ({error})") from None
    return _joined(parts).take(index)


def constant(tape: OperationTape, values: Any) -> Tensor:
    """A tensor that does not depend on the input."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InputError("a constant that is not finite")
    size = checked_size(array.shape)
    coefficients = np.stack([array.reshape(-1), np.zeros(size)], axis=1)
    return Tensor(tape, array.shape, np.full(size, CONSTANT, dtype=np.intp), np.zeros(size), coefficients)


# -- constants -------------------------------------------------------------------------------------


def _constant_arithmetic(operation: Callable[..., Any], left: Any, right: Any) -> Any:
    first, second = np.asarray(left), np.asarray(right)
    _common_shape(first.shape, second.shape)
    with np.errstate(all="ignore"):
        return operation(first, second)


def _add_constant(tensor: Tensor, value: Any) -> Tensor:
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


def _scale(tensor: Tensor, value: Any, operation: Callable[..., Any]) -> Tensor:
    tensor, numbers = _with_numbers(tensor, value)
    return tensor.with_coefficients(operation(tensor.coefficients, numbers[:, None]))


def _with_numbers(tensor: Tensor, value: Any) -> tuple[Tensor, Array]:
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
        raise InputError(f"shapes {first} and {second} do not broadcast") from None
    checked_size(shape)
    return shape


def _multiply_tensors(left: Tensor, right: Tensor) -> Tensor:
    if left.affine and _identical(left, right):
        left = right = left.as_forms()
    apart = np.flatnonzero(_differing(left, right))
    ratios = _ratios(left, right, apart)
    places = np.zeros(left.size, dtype=bool)
    places[apart[np.isnan(ratios)]] = True
    if left.degree + right.degree > LARGEST_EXPANDED:
        pure = [np.count_nonzero(side.coefficients, axis=1) <= 1 for side in (left, right)]
        moving = (left.directions != CONSTANT) & (right.directions != CONSTANT)
        places |= moving & ~(pure[0] & pure[1])
    if places.any():
        return _partly_mixed(left, right, places)
    left, right = _on_common_forms(left, right)
    left.tape.spend(left.size * (left.degree + right.degree + 1))
    product = np.zeros((left.size, left.degree + right.degree + 1))
    if product.shape[1] > 2 * LARGEST_DEGREE + 2:
        raise InputError(f"a product of degree {product.shape[1] - 1}; at most {LARGEST_DEGREE} is accepted")
    for power_of_right in range(right.degree + 1):
        factor = right.coefficients[:, power_of_right, None]
        product[:, power_of_right : power_of_right + left.degree + 1] += factor * left.coefficients
    return _merged_forms(left, right).with_coefficients(product)


def _partly_mixed(left: Tensor, right: Tensor, mixed: Any) -> Tensor:
    """A product whose marked entries have factors of different forms: each of these is a new atom."""
    places, others = np.flatnonzero(mixed), np.flatnonzero(~mixed)
    sides = [plain_forms(side.take(places)) for side in (left, right)]
    pairs = [zip(side.directions.tolist(), side.shifts.tolist(), strict=True) for side in sides]
    atoms = np.array([left.tape.product(*pair) for pair in zip(*pairs, strict=True)])
    products = left.tape.units(atoms, places.shape)
    if not len(others):
        return products.take(products.numbers.reshape(left.shape))
    rest = _multiply_tensors(left.take(others), right.take(others))
    order = np.argsort(np.concatenate([others, places]))
    return _joined([rest, products]).take(order.reshape(left.shape))


def plain_forms(tensor: Tensor) -> Tensor:
    """The same entries, each one a form of its own."""
    return tensor.as_forms() if tensor.affine else linear(tensor, tensor.numbers[..., None], 1.0)


def _add_tensors(left: Tensor, right: Tensor) -> Tensor:
    apart = _differing(left, right)
    same_direction = apart & (left.directions == right.directions)
    if same_direction.any() and not (left.affine and right.affine):
        if left.degree < right.degree:
            left = _moved(left, right, same_direction)
        else:
            right = _moved(right, left, same_direction)
        apart = _differing(left, right)
    width = max(left.degree, right.degree) + 1
    total = _padded(left.coefficients, width) + _padded(right.coefficients, width)
    result = _merged_forms(left, right)
    if not apart.any():
        return result.with_coefficients(total)
    places = np.flatnonzero(apart)
    halves = _joined([left.take(places), right.take(places)])
    sums = linear(halves, np.stack([np.arange(len(places)), len(places) + np.arange(len(places))], axis=1), 1.0)
    directions, shifts = result.directions.copy(), result.shifts.copy()
    directions[places], shifts[places], total[places] = sums.directions, sums.shifts, _padded(sums.coefficients, width)
    return Tensor(left.tape, left.shape, directions, shifts, total).with_coefficients(total)


def _identical(left: Tensor, right: Tensor) -> bool:
    return left is right or (
        np.array_equal(left.directions, right.directions)
        and np.array_equal(left.shifts, right.shifts)
        and np.array_equal(left.coefficients, right.coefficients)
    )


def _differing(left: Tensor, right: Tensor) -> Any:
    both = (left.directions != CONSTANT) & (right.directions != CONSTANT)
    return both & ((left.directions != right.directions) | (left.shifts != right.shifts))


def _merged_forms(left: Tensor, right: Tensor) -> Tensor:
    """A tensor with the forms of both, where at most one of two entries has one that the other has not."""
    fixed = left.directions == CONSTANT
    directions = np.where(fixed, right.directions, left.directions)
    return Tensor(left.tape, left.shape, directions, np.where(fixed, right.shifts, left.shifts), left.coefficients)


def _on_common_forms(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    apart = _differing(left, right)
    if not apart.any():
        return left, right
    if left.degree < right.degree:
        return _moved(left, right, apart), right
    return left, _moved(right, left, apart)


def _moved(tensor: Tensor, target: Tensor, where: Any) -> Tensor:
    """The tensor with the marked entries written as polynomials of the target's forms."""
    tape = tensor.tape
    slopes, offsets = np.ones(tensor.size), np.zeros(tensor.size)
    directions, shifts = tensor.directions.copy(), tensor.shifts.copy()
    coefficients = tensor.coefficients.copy()
    places = np.flatnonzero(where)
    for place, ratio in zip(places, _ratios(tensor, target, places).tolist(), strict=True):
        goal = (int(target.directions[place]), float(target.shifts[place]))
        here = (int(directions[place]), float(shifts[place]), *coefficients[place, :2].tolist())
        if tensor.affine and tape.renamed.get(here) == goal:
            coefficients[place] = [0.0, 1.0]
        else:
            slopes[place], offsets[place] = ratio, here[1] - ratio * goal[1]
        directions[place], shifts[place] = goal
    composed = np.zeros_like(coefficients)
    for column in coefficients.T[::-1]:
        composed[:, 1:] = slopes[:, None] * composed[:, :-1] + offsets[:, None] * composed[:, 1:]
        composed[:, 0] = offsets * composed[:, 0] + column
    moved = Tensor(tape, tensor.shape, directions, shifts, coefficients)
    return moved.with_coefficients(np.where(where[:, None], composed, coefficients))


def _ratios(left: Tensor, right: Tensor, places: Any) -> Array:
    """r with direction of left = r · direction of right at the given places; NaN where there is no such number."""
    ratios = np.ones(len(places))
    unequal = np.flatnonzero(left.directions[places] != right.directions[places])
    if len(unequal):
        at = places[unequal]
        ratios[unequal] = multiples(left.tape, left.directions[at], right.directions[at])
    return ratios


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """All entries one after the other."""
    width = max(part.degree for part in parts) + 1
    return Tensor(
        parts[0].tape,
        (sum(part.size for part in parts),),
        np.concatenate([part.directions for part in parts]),
        np.concatenate([part.shifts for part in parts]),
        np.concatenate([_padded(part.coefficients, width) for part in parts]),
    )


def _padded(coefficients: Array, width: int) -> Array:
    return np.pad(coefficients, ((0, 0), (0, width - coefficients.shape[1])))
