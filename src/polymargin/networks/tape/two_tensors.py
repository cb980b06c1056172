"""Sums and products of two tensors of one shape.

Sums of anything are possible. A product stays a polynomial of one form where both factors are polynomials of the same form,
or of forms that are multiples of each other; other products become atoms of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.tape.linear import linear
from polymargin.networks.tape.operations import CONSTANT, LARGEST_DEGREE, LARGEST_EXPANDED, Array, Indices, Mask, Tensor
from polymargin.networks.tape.parallel import multiples


def multiply_tensors(left: Tensor, right: Tensor) -> Tensor:
    """Return the product of two tensors that depend on the input."""
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


def _partly_mixed(left: Tensor, right: Tensor, mixed: Mask) -> Tensor:
    """Return a product whose marked entries have factors of different forms: each of these is a new atom."""
    places, others = np.flatnonzero(mixed), np.flatnonzero(~mixed)
    sides = [plain_forms(side.take(places)) for side in (left, right)]
    pairs = [zip(side.directions.tolist(), side.shifts.tolist(), strict=True) for side in sides]
    atoms = np.array([left.tape.product(*pair) for pair in zip(*pairs, strict=True)])
    products = left.tape.units(atoms, places.shape)
    if not len(others):
        return products.take(products.numbers.reshape(left.shape))
    rest = multiply_tensors(left.take(others), right.take(others))
    order = np.argsort(np.concatenate([others, places]))
    return joined([rest, products]).take(order.reshape(left.shape))


def plain_forms(tensor: Tensor) -> Tensor:
    """Return the same entries, each one a form of its own."""
    return tensor.as_forms() if tensor.affine else linear(tensor, tensor.numbers[..., None], 1.0)


def add_tensors(left: Tensor, right: Tensor) -> Tensor:
    """Return the sum of two tensors that depend on the input."""
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
    halves = joined([left.take(places), right.take(places)])
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


def _differing(left: Tensor, right: Tensor) -> Mask:
    both = (left.directions != CONSTANT) & (right.directions != CONSTANT)
    differing: Mask = both & ((left.directions != right.directions) | (left.shifts != right.shifts))
    return differing


def _merged_forms(left: Tensor, right: Tensor) -> Tensor:
    """Return a tensor with the forms of both, where at most one of two entries has one that the other has not."""
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


def _moved(tensor: Tensor, target: Tensor, where: Mask) -> Tensor:
    """Return the tensor with the marked entries written as polynomials of the target's forms."""
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


def _ratios(left: Tensor, right: Tensor, places: Indices) -> Array:
    """Return the r with direction of left = r · direction of right at the given places; NaN if there is none."""
    ratios = np.ones(len(places))
    unequal = np.flatnonzero(left.directions[places] != right.directions[places])
    if len(unequal):
        at = places[unequal]
        ratios[unequal] = multiples(left.tape, left.directions[at], right.directions[at])
    return ratios


def joined(parts: Sequence[Tensor]) -> Tensor:
    """Return all entries one after the other."""
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
