"""Affine maps of model files as weighted sums of entries: sums, convolutions, pooling.

Everything is brought to the one form that `linear` takes: for every output entry the input entries that enter it and
their weights. Windows are cut out of the array of entry numbers itself, padded with -1 for "nothing there".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from polymargin.errors import InputError
from polymargin.networks.tape.arithmetic import add, multiply
from polymargin.networks.tape.linear import linear
from polymargin.networks.tape.operations import (
    LARGEST_WORK,
    Indices,
    Lengths,
    Pads,
    ShapeError,
    Tensor,
    Value,
    checked_size,
)
from polymargin.networks.tape.padding import padded

# Beyond the padding: an average counts padding if it is told to, but never what ceil_mode adds at the end.
PADDING, BEYOND = -1, -2


def sums(tensor: Tensor, axes: Sequence[int] | None, keep: bool, mean: bool) -> Tensor:
    """Return sums or means over axes; over all of them if axes is None."""
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


def normalised(
    value: Value, mean: ArrayLike, variance: ArrayLike, weight: ArrayLike | None, bias: ArrayLike | None, eps: float
) -> Value:
    """Return (value − mean) / √(variance + eps) · weight + bias per channel (axis 1), as forms of their own."""
    channels = [1, -1, *[1] * (len(value.shape) - 2)]
    scale = 1.0 / np.sqrt(np.asarray(variance, dtype=np.float64) + eps)
    scale = scale if weight is None else scale * np.asarray(weight, dtype=np.float64)
    offset = (0.0 if bias is None else np.asarray(bias, dtype=np.float64)) - np.asarray(mean, dtype=np.float64) * scale
    result = add(multiply(value, scale.reshape(channels)), offset.reshape(channels))
    return result.as_forms() if isinstance(result, Tensor) else result


def convolution(
    tensor: Tensor,
    weights: ArrayLike,
    bias: ArrayLike | None,
    stride: Lengths,
    pads: Pads,
    dilation: Lengths = 1,
    groups: int = 1,
) -> Tensor:
    """Return images (N, C, …) convolved with kernels (O, C / groups, …); pads are (before, after) per axis of space."""
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


def transposed_convolution(
    tensor: Tensor,
    weights: ArrayLike,
    bias: ArrayLike | None,
    stride: Lengths,
    pads: Pads,
    dilation: Lengths = 1,
    groups: int = 1,
) -> Tensor:
    """Return a transposed convolution with kernels (C, O / groups, …): that of an image with zeros between its entries."""
    kernel = np.asarray(weights, dtype=np.float64)
    channels, space = kernel.shape[0], kernel.ndim - 2
    if space < 1 or len(tensor.shape) != kernel.ndim or groups < 1 or channels % groups or tensor.shape[1] != channels:
        raise ShapeError(f"a transposed convolution of shape {kernel.shape} on a tensor of shape {tensor.shape}")
    steps, gaps = per_axis(stride, space, "stride"), per_axis(dilation, space, "dilation")
    spread = [(length - 1) * step + 1 for length, step in zip(tensor.shape[2:], steps, strict=True)]
    checked_size((*tensor.shape[:2], *spread))
    index = np.full((*tensor.shape[:2], *spread), PADDING)
    places: tuple[Any, ...] = (..., *(slice(None, None, step) for step in steps))
    index[places] = tensor.numbers
    reach = [(size - 1) * gap for size, gap in zip(kernel.shape[2:], gaps, strict=True)]
    around = [(far - before, far - after) for far, (before, after) in zip(reach, pads, strict=True)]
    image = padded(tensor.take(index), [(0, 0), (0, 0), *around])
    parts = np.swapaxes(kernel.reshape(groups, channels // groups, *kernel.shape[1:]), 1, 2)
    turned = np.flip(parts.reshape(-1, channels // groups, *kernel.shape[2:]), tuple(range(2, kernel.ndim)))
    return convolution(image, turned, bias, 1, [(0, 0)] * space, gaps, groups)


def average_pool(
    tensor: Tensor,
    kernel: Sequence[int],
    stride: Lengths,
    pads: Pads,
    *,
    ceil: bool,
    count_padding: bool,
    divisor: float | None = None,
) -> Tensor:
    """Return the means over windows of images (N, C, …)."""
    windows = pooling_windows(tensor.numbers, kernel, stride, pads, 1, ceil)
    flat = windows.reshape(*windows.shape[: windows.ndim - len(kernel)], -1)
    counted = flat != BEYOND if count_padding else flat >= 0
    counts = counted.sum(axis=-1, keepdims=True) if divisor is None else np.float64(divisor)
    if not np.all(counts):
        raise InputError("an average over an empty window; check kernel sizes and padding")
    return linear(tensor, flat, 1.0 / counts)


def adaptive_average(tensor: Tensor, output: Sequence[int | None]) -> Tensor:
    """Return means over windows that divide every axis of space into the given number of parts, as PyTorch divides them."""
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


def per_axis(value: Lengths, count: int, name: str, at_least: int = 1) -> list[int]:
    """Return one whole number per axis of space, from one for all or a sequence."""
    values = list(np.atleast_1d(np.asarray(value)).tolist())
    values = values * count if len(values) == 1 else values
    if len(values) != count or any(v != int(v) or v < at_least or v > LARGEST_WORK for v in values):
        raise InputError(f"{name} {value!r}; expected {count} whole numbers from {at_least}")
    return [int(v) for v in values]


def rearranged(value: Value, change: Callable[[Any], Any]) -> Value:
    """Return a tensor or a constant after something NumPy can do to an array of the same shape."""
    if not isinstance(value, Tensor):
        return change(np.asarray(value))
    value.tape.spend(value.size)
    try:
        index = np.asarray(change(value.numbers))
    except (ValueError, IndexError, TypeError) as error:
        raise ShapeError(f"cannot rearrange a tensor of shape {value.shape} ({error})") from None
    return value.take(index)


def pieces(value: Value, sizes: Sequence[int], axis: int) -> list[Value]:
    """Return consecutive parts along an axis."""
    ends = np.cumsum([0, *sizes])

    def piece(number: int) -> Value:
        return rearranged(value, lambda a: np.take(a, range(ends[number], ends[number + 1]), axis=axis))

    return [piece(number) for number in range(len(sizes))]


def pooling_windows(
    numbers: Indices, kernel: Sequence[int], stride: Lengths, pads: Pads, dilation: Lengths, ceil: bool = False
) -> Indices:
    """Return all windows of the last axes: (…, *places, *kernel); negative where a window leaves the entries."""
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
    found: Indices = windows[tuple(steps)]
    check_work(found.shape)
    return found


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
