"""Affine maps of model files as weighted sums of entries: products with matrices, sums, convolutions, pooling.

Everything is brought to the one form that `linear` takes: for every output entry the input entries that enter it and
their weights. Windows are cut out of the array of entry numbers itself, padded with -1 for "nothing there".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from polymargin.errors import InputError
from polymargin.networks.tape.arithmetic import add, multiply
from polymargin.networks.tape.attention import MatrixProduct, product
from polymargin.networks.tape.linear import linear
from polymargin.networks.tape.operations import LARGEST_WORK, ShapeError, Tensor, checked_size

# Beyond the padding: an average counts padding if it is told to, but never what ceil_mode adds at the end.
PADDING, BEYOND = -1, -2


def matmul(left: Any, right: Any) -> Any:
    """left @ right, of constants and of tensors."""
    if not any(isinstance(value, (Tensor, MatrixProduct)) for value in (left, right)):
        return np.matmul(left, right)
    if all(isinstance(value, (Tensor, MatrixProduct)) for value in (left, right)):
        return _matrix_product(left, right)
    swapped = isinstance(right, Tensor)
    tensor, matrix = (right, np.asarray(left)) if swapped else (left, np.asarray(right))
    numbers = tensor.numbers
    first, second = (matrix, numbers) if swapped else (numbers, matrix)
    flat_first, flat_second = first.ndim == 1, second.ndim == 1
    first = first[None, :] if flat_first else first
    second = second[:, None] if flat_second else second
    if not first.ndim or not second.ndim or first.shape[-1] != second.shape[-2]:
        raise ShapeError(f"matrices of shapes {first.shape} and {second.shape} cannot be multiplied")
    rows, columns = first[..., :, None, :], np.swapaxes(second, -1, -2)[..., None, :, :]
    try:
        shape = np.broadcast_shapes(rows.shape, columns.shape)
    except ValueError:
        raise ShapeError(f"matrices of shapes {first.shape} and {second.shape} cannot be multiplied") from None
    check_work(shape)
    rows, columns = np.broadcast_to(rows, shape), np.broadcast_to(columns, shape)
    result = linear(tensor, *((columns, rows) if swapped else (rows, columns)))
    index = result.numbers
    index = index[..., 0, :] if flat_first else index
    return result.take(index[..., 0] if flat_second else index)


def _matrix_product(left: Any, right: Any) -> Any:
    """left @ right of two tensors: the entries of one times the entries of the other, added up."""
    tape = left.tape if isinstance(left, Tensor) else left.left.tape
    tape.multiplied_matrices = True
    if tape.whole_matrices:
        return product(left, right)
    first, second = left.numbers, right.numbers
    flat_first, flat_second = first.ndim == 1, second.ndim == 1
    first, second = np.atleast_2d(first), second[:, None] if flat_second else second
    if not first.ndim or first.shape[-1] != second.shape[-2]:
        raise ShapeError(f"matrices of shapes {left.shape} and {right.shape} cannot be multiplied")
    rows, columns = first[..., :, None, :], np.swapaxes(second, -1, -2)[..., None, :, :]
    try:
        shape = np.broadcast_shapes(rows.shape, columns.shape)
    except ValueError:
        raise ShapeError(f"matrices of shapes {left.shape} and {right.shape} cannot be multiplied") from None
    check_work(shape)
    terms = multiply(left.take(np.broadcast_to(rows, shape)), right.take(np.broadcast_to(columns, shape)))
    result = sums(terms, [-1], keep=False, mean=False)
    index = result.numbers
    index = index[..., 0, :] if flat_first else index
    return result.take(index[..., 0] if flat_second else index)


def sums(tensor: Tensor, axes: Sequence[int] | None, keep: bool, mean: bool) -> Tensor:
    """Sums or means over axes; over all of them if axes is None."""
    count = len(tensor.shape)
    chosen = list(range(count)) if axes is None else [_axis(axis, count) for axis in axes]
    others = [axis for axis in range(count) if axis not in chosen]
    moved = np.transpose(tensor.numbers, [*others, *chosen])
    columns = moved.reshape(*(tensor.shape[axis] for axis in others), -1)
    if not columns.shape[-1]:
        raise InputError(f"a sum over no entries (shape {tensor.shape})")
    result = linear(tensor, columns, 1.0 / columns.shape[-1] if mean else 1.0)
    if not keep:
        return result
    return result.take(result.numbers.reshape([1 if axis in chosen else n for axis, n in enumerate(tensor.shape)]))


def normalised(value: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    """(value − mean) / √(variance + eps) · weight + bias per channel (axis 1), as forms of their own."""
    channels = [1, -1, *[1] * (len(value.shape) - 2)]
    scale = 1.0 / np.sqrt(np.asarray(variance, dtype=np.float64) + eps)
    scale = scale if weight is None else scale * np.asarray(weight, dtype=np.float64)
    offset = (0.0 if bias is None else np.asarray(bias, dtype=np.float64)) - np.asarray(mean, dtype=np.float64) * scale
    result = add(multiply(value, scale.reshape(channels)), offset.reshape(channels))
    return result.as_forms() if isinstance(result, Tensor) else result


def convolution(
    tensor: Tensor, weights: Any, bias: Any, stride: Any, pads: Any, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Batches of images (N, C, …) with kernels (O, C / groups, …); pads are (before, after) per axis of space."""
    kernel = np.asarray(weights, dtype=np.float64)
    space = kernel.ndim - 2
    if space < 1 or len(tensor.shape) != kernel.ndim:
        raise ShapeError(f"a convolution of shape {kernel.shape} on a tensor of shape {tensor.shape}")
    channels, outputs = tensor.shape[1], kernel.shape[0]
    if groups < 1 or outputs % groups or channels != kernel.shape[1] * groups:
        raise ShapeError(f"a convolution of shape {kernel.shape} in {groups} groups on {channels} channels")
    windows = pooling_windows(tensor.numbers, kernel.shape[2:], stride, pads, dilation)  # N, C, *out, *kernel
    places = windows.shape[2 : 2 + space]
    check_work((windows.shape[0], outputs, *places, kernel[0].size))
    grouped = windows.reshape(windows.shape[0], groups, channels // groups, *windows.shape[2:])
    grouped = np.moveaxis(grouped, 2, 2 + space).reshape(windows.shape[0], groups, 1, *places, -1)
    shape = (windows.shape[0], groups, outputs // groups, *places, kernel[0].size)
    columns = np.broadcast_to(grouped, shape).reshape(shape[0], outputs, *places, -1)
    factors = kernel.reshape(outputs, *[1] * space, -1)
    offsets = 0.0 if bias is None else np.asarray(bias, dtype=np.float64).reshape(1, -1, *[1] * space)
    return linear(tensor, columns, factors, offsets)


def average_pool(
    tensor: Tensor,
    kernel: Sequence[int],
    stride: Any,
    pads: Any,
    *,
    ceil: bool,
    count_padding: bool,
    divisor: Any = None,
) -> Tensor:
    """Means over windows of images (N, C, …)."""
    windows = pooling_windows(tensor.numbers, kernel, stride, pads, 1, ceil)
    flat = windows.reshape(*windows.shape[: windows.ndim - len(kernel)], -1)
    counted = flat != BEYOND if count_padding else flat >= 0
    counts = counted.sum(axis=-1, keepdims=True) if divisor is None else np.float64(divisor)
    if not np.all(counts):
        raise InputError("an average over an empty window; check kernel sizes and padding")
    return linear(tensor, flat, 1.0 / counts)


def adaptive_average(tensor: Tensor, output: Sequence[int | None]) -> Tensor:
    """Means over windows that divide every axis of space into the given number of parts, as PyTorch divides them."""
    space = tensor.shape[-len(output) :]
    for axis, (length, parts) in enumerate(zip(space, output, strict=True)):
        count = length if parts is None else int(parts)
        if count < 1 or length < 1:
            raise InputError(f"an average pool to {count} parts of {length} entries")
        place = len(tensor.shape) - len(output) + axis
        ranges = [range(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
        widest = max(map(len, ranges))
        columns = np.array([[*part, *[PADDING] * (widest - len(part))] for part in ranges])
        moved = np.moveaxis(tensor.numbers, place, -1)
        taken = np.where(columns >= 0, moved[..., columns], PADDING)
        weights = np.array([1.0 / len(part) for part in ranges])[:, None]
        result = linear(tensor, taken, weights)
        tensor = result.take(np.moveaxis(result.numbers, -1, place))
    return tensor


def per_axis(value: Any, count: int, name: str, at_least: int = 1) -> list[int]:
    """One whole number per axis of space, from one for all or a sequence."""
    values = list(np.atleast_1d(np.asarray(value)).tolist())
    values = values * count if len(values) == 1 else values
    if len(values) != count or any(v != int(v) or v < at_least or v > LARGEST_WORK for v in values):
        raise InputError(f"{name} {value!r}; expected {count} whole numbers from {at_least}")
    return [int(v) for v in values]


def rearranged(value: Any, change: Callable[[Any], Any]) -> Any:
    """A tensor or a constant after something NumPy can do to an array of the same shape."""
    if not isinstance(value, Tensor):
        return change(np.asarray(value))
    value.tape.spend(value.size)
    try:
        index = np.asarray(change(value.numbers))
    except (ValueError, IndexError, TypeError) as error:
        raise ShapeError(f"cannot rearrange a tensor of shape {value.shape} ({error})") from None
    return value.take(index)


def pieces(value: Any, sizes: Sequence[int], axis: int) -> list[Any]:
    """Consecutive parts along an axis."""
    ends = np.cumsum([0, *sizes])

    def piece(number: int) -> Any:
        return rearranged(value, lambda a: np.take(a, range(ends[number], ends[number + 1]), axis=axis))

    return [piece(number) for number in range(len(sizes))]


def pooling_windows(numbers: Any, kernel: Any, stride: Any, pads: Any, dilation: Any, ceil: bool = False) -> Any:
    """All windows of the last axes: (…, *places, *kernel); negative where a window leaves the entries."""
    space = len(kernel)
    if numbers.ndim < space + 1:
        raise ShapeError(f"windows of shape {tuple(kernel)} in a tensor of shape {numbers.shape}")
    kernel = per_axis(kernel, space, "kernel size")
    stride, dilation = per_axis(stride, space, "stride"), per_axis(dilation, space, "dilation")
    first = numbers.ndim - space
    padding, beyond = [(0, 0)] * numbers.ndim, [(0, 0)] * numbers.ndim
    shape = [*numbers.shape]
    for axis in range(space):
        before, after = per_axis(pads[axis], 2, "padding", at_least=0)
        length = numbers.shape[first + axis]
        extent = (kernel[axis] - 1) * dilation[axis] + 1
        left_over = length + before + after - extent
        extra = 0
        if ceil and left_over > 0 and left_over % stride[axis]:
            extra = stride[axis] - left_over % stride[axis]
            if left_over + extra >= length + before:  # a window must not begin behind the entries
                extra = 0
        if left_over < 0:
            raise ShapeError(f"a window of {extent} entries on {length} with padding {before} and {after}")
        shape[first + axis] = length + before + after + extra
        checked_size(shape)
        padding[first + axis], beyond[first + axis] = (before, after), (0, extra)
    numbers = np.pad(numbers, padding, constant_values=PADDING)
    numbers = np.pad(numbers, beyond, constant_values=BEYOND)  # after all padding: the corner of both is beyond
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    windows = sliding_window_view(numbers, extents, axis=tuple(range(first, first + space)))
    steps = [slice(None)] * first + [slice(None, None, s) for s in stride] + [slice(None, None, d) for d in dilation]
    windows = windows[tuple(steps)]
    check_work(windows.shape)
    return windows


def _axis(axis: int, count: int) -> int:
    if not -count <= axis < count:
        raise ShapeError(f"axis {axis} of a tensor with {count} axes")
    return int(axis) % count


def check_work(shape: Sequence[int]) -> None:
    """Refuse a map of more weights than are accepted."""
    work = 1
    for length in shape:
        work *= int(length)
    if work > LARGEST_WORK // 4:
        raise InputError(f"a map with {work} weights; at most {LARGEST_WORK // 4} are accepted")
