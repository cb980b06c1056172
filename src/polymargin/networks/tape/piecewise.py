"""Piecewise polynomial activations of tensors, and what is made of them: maxima, minima, pooling by maxima.

    max(a, b) = b + ρ(a − b),      min(a, b) = a − ρ(a − b),      ρ(z) = max(z, 0);

the maximum of many is that of pairs, of pairs of pairs, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.stages import RELU
from polymargin.networks.tape.arithmetic import add, concatenate, multiply, subtract
from polymargin.networks.tape.operations import Lengths, Pads, Tensor, Value
from polymargin.networks.tape.series import piecewise
from polymargin.networks.tape.windows import pooling_windows


def relu(value: Value) -> Value:
    """Return max(x, 0)."""
    return piecewise(value, *RELU)


def absolute(value: Value) -> Value:
    """Return |x|."""
    return piecewise(value, (0.0,), ((0.0, -1.0), (0.0, 1.0)))


def leaky_relu(value: Value, slope: float) -> Value:
    """Return x above 0, slope · x below."""
    return piecewise(value, (0.0,), ((0.0, slope), (0.0, 1.0)))


def parametric_relu(value: Value, slopes: Value) -> Value:
    """Return ρ(x) − s ρ(−x) with a slope s for each entry."""
    if isinstance(slopes, Tensor):
        raise InputError("slopes that depend on the input")
    numbers = np.asarray(slopes, dtype=np.float64)
    if numbers.size == 1:
        return leaky_relu(value, float(numbers.reshape(-1)[0]))
    return subtract(relu(value), multiply(numbers, relu(multiply(value, -1.0))))


def clip(value: Value, low: Value = None, high: Value = None) -> Value:
    """Return min(max(x, low), high); None is no limit."""
    if any(isinstance(end, Tensor) for end in (low, high)):
        lifted = value if low is None else maximum(value, low)
        return lifted if high is None else minimum(lifted, high)
    ends = [math.nan if end is None else float(np.asarray(end, dtype=np.float64).reshape(())) for end in (low, high)]
    first, last = (-math.inf if math.isnan(ends[0]) else ends[0]), (math.inf if math.isnan(ends[1]) else ends[1])
    if not first < last:
        raise InputError(f"a clip to the interval from {first:g} to {last:g}; expected the lower end first")
    limits = [end for end in (first, last) if math.isfinite(end)]
    if not limits:
        return value
    outer = [(first,)] if math.isfinite(first) else []
    return piecewise(value, limits, [*outer, (0.0, 1.0), *([(last,)] if math.isfinite(last) else [])])


def hard_sigmoid(value: Value, slope: float = 1 / 6, shift: float = 0.5) -> Value:
    """Return clip(slope · x + shift, 0, 1)."""
    return clip(add(multiply(value, slope), shift), 0.0, 1.0)


def hard_swish(value: Value) -> Value:
    """Return x · clip(x/6 + 1/2, 0, 1)."""
    return piecewise(value, (-3.0, 3.0), ((0.0,), (0.0, 0.5, 1 / 6), (0.0, 1.0)))


def threshold(value: Value, limit: float, below: float) -> Value:
    """Return x above the limit, another number below; only where the two meet."""
    return piecewise(value, (limit,), ((below,), (0.0, 1.0)))


def softshrink(value: Value, width: float) -> Value:
    """Return x moved towards 0 by `width`, and 0 in between."""
    return piecewise(value, (-width, width), ((width, 1.0), (0.0,), (-width, 1.0)))


def maximum(left: Value, right: Value) -> Value:
    """Return the larger of two values, entry by entry."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return np.maximum(left, right)
    return add(right, relu(subtract(left, right)))


def minimum(left: Value, right: Value) -> Value:
    """Return the smaller of two values, entry by entry."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return np.minimum(left, right)
    return subtract(left, relu(subtract(left, right)))


def largest(tensor: Tensor, axis: int, choose: Callable[[Value, Value], Value] = maximum) -> Tensor:
    """Return the largest entries along an axis, pair by pair."""
    index = np.moveaxis(tensor.numbers, axis, -1)
    if not index.shape[-1]:
        raise InputError(f"a maximum over no entries (shape {tensor.shape})")
    while index.shape[-1] > 1:
        half = index.shape[-1] // 2
        pairs = choose(tensor.take(index[..., :half]), tensor.take(index[..., half : 2 * half]))
        rest = tensor.take(index[..., 2 * half :])
        tensor = concatenate([pairs, rest], -1) if rest.size else pairs
        index = tensor.numbers
    return tensor.take(index[..., 0])


def max_pool(
    tensor: Tensor, kernel: Sequence[int], stride: Lengths, pads: Pads, dilation: Lengths = 1, *, ceil: bool
) -> Tensor:
    """Return the maxima over windows of images (N, C, …); padding never wins."""
    windows = pooling_windows(tensor.numbers, kernel, stride, pads, dilation, ceil)
    flat = windows.reshape(*windows.shape[: windows.ndim - len(kernel)], -1)
    first = flat.max(axis=-1, keepdims=True)  # any entry of the window stands for what is missing
    if np.any(first < 0):
        raise InputError("a maximum over an empty window; check kernel sizes and padding")
    return largest(tensor.take(np.where(flat < 0, first, flat)), -1)
