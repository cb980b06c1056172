"""PyTorch's functions, as far as they are polynomial, on tensors of `operations`.

Functions are found by name: `x + y`, `torch.add` and `x.add(y)` are one entry here. Arguments are what PyTorch passes;
constants arrive as NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.tape import piecewise as bent
from polymargin.networks.tape.arithmetic import add, concatenate, divide, multiply, negate, power, subtract
from polymargin.networks.tape.einsum import einsum, matmul
from polymargin.networks.tape.operations import Argument, Lengths, Operation, Tensor, Value
from polymargin.networks.tape.padding import padded
from polymargin.networks.tape.series import series
from polymargin.networks.tape.windows import (
    adaptive_average,
    average_pool,
    convolution,
    normalised,
    per_axis,
    pieces,
    rearranged,
    sums,
    transposed_convolution,
)


def _scaled_add(left: Value, right: Value, *, alpha: Argument = 1) -> Value:
    return add(left, right if alpha == 1 else multiply(right, alpha))


def _scaled_subtract(left: Value, right: Value, *, alpha: Argument = 1) -> Value:
    return subtract(left, right if alpha == 1 else multiply(right, alpha))


def _divide(left: Value, right: Value, *, rounding_mode: Argument = None) -> Value:
    if rounding_mode is not None:
        raise InputError(f"a division that rounds ({rounding_mode}) is not polynomial")
    return divide(left, right)


def _linear(value: Value, weight: Value, bias: Value = None) -> Value:
    product = matmul(value, np.swapaxes(np.asarray(weight), -1, -2))
    return product if bias is None else add(product, bias)


def _pad(input: Value, pad: Argument, mode: str = "constant", value: Value = None) -> Value:
    """Return pairs for the last axes, the last axis first."""
    numbers = [int(n) for n in pad]
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))[::-1]
    return padded(input, [(0, 0)] * (len(input.shape) - len(pairs)) + pairs, mode, float(value or 0.0))


def _einsum(equation: str, *operands: Argument) -> Value:
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return einsum(equation, given)


def _bilinear(left: Value, right: Value, weight: Value, bias: Value = None) -> Value:
    product = einsum("...i,oij,...j->...o", [left, np.asarray(weight), right])
    return product if bias is None else add(product, bias)


def _flatten(value: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    axes = len(value.shape)
    start, end = start_dim % max(axes, 1), end_dim % max(axes, 1)
    return rearranged(value, lambda a: a.reshape(*a.shape[:start], -1, *a.shape[end + 1 :]))


def _reshape(value: Value, *shape: Argument) -> Value:
    return rearranged(value, lambda a: a.reshape(_integers(shape)))


def _permute(value: Value, *axes: Argument) -> Value:
    return rearranged(value, lambda a: a.transpose(_integers(axes)))


def _sum(mean: bool) -> Operation:
    def run(value: Value, dim: Argument = None, keepdim: bool = False) -> Value:
        axes = None if dim is None else np.atleast_1d(dim).tolist()
        if not isinstance(value, Tensor):
            return (np.mean if mean else np.sum)(value, axis=None if axes is None else tuple(axes), keepdims=keepdim)
        return sums(value, axes, keepdim, mean)

    return run


def _split(value: Value, size: Argument, dim: int = 0) -> Value:
    length = value.shape[dim]
    sizes = [size] * (length // size) + [length % size] * bool(length % size) if isinstance(size, int) else list(size)
    return pieces(value, sizes, dim)


def _chunk(value: Value, chunks: int, dim: int = 0) -> Value:
    return _split(value, -(-value.shape[dim] // chunks), dim)


def _unbind(value: Value, dim: int = 0) -> Value:
    return [rearranged(part, lambda a: np.squeeze(a, dim)) for part in pieces(value, [1] * value.shape[dim], dim)]


def _stack(values: Value, dim: int = 0) -> Value:
    return concatenate([rearranged(value, lambda a: np.expand_dims(a, dim)) for value in values], dim)


def _squeeze(value: Value, dim: Argument = None) -> Value:
    axes = [
        a for a in ([*range(len(value.shape))] if dim is None else np.atleast_1d(dim).tolist()) if value.shape[a] == 1
    ]
    return rearranged(value, lambda a: np.squeeze(a, tuple(axes)))


def _getitem(value: Value, index: Argument) -> Value:
    return rearranged(value, lambda a: a[index]) if isinstance(value, Tensor) else value[index]


def _dropout(value: Value, p: float = 0.5, training: bool = True) -> Value:
    if training:
        raise InputError("dropout in training mode; call module.eval() first")
    return value


def _batch_norm(
    value: Value, running_mean: Value, running_var: Value, weight: Value = None, bias: Value = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Value:  # fmt: skip
    if training or running_mean is None or running_var is None:
        raise InputError("batch normalisation in training mode; call module.eval() first")
    return normalised(value, running_mean, running_var, weight, bias, eps)


def _around(padding: Argument, kernel: Argument, dilation: Argument) -> list[tuple[int, int]]:
    """Return padding as pairs (before, after) for each axis of space; 'same' puts the odd entry behind."""
    space = len(kernel)
    if not isinstance(padding, str):
        return [(p, p) for p in per_axis(padding, space, "padding", at_least=0)]
    spans = [(k - 1) * d for k, d in zip(kernel, per_axis(dilation, space, "dilation"), strict=True)]
    return [(span // 2, span - span // 2) if padding == "same" else (0, 0) for span in spans]


def _convolve(
    value: Value,
    weight: Value,
    bias: Value = None,
    stride: Argument = 1,
    padding: Argument = 0,
    dilation: Argument = 1,
    groups: int = 1,
) -> Value:
    space = len(np.shape(weight)) - 2
    images = value if len(value.shape) == space + 2 else rearranged(value, lambda a: a[None])
    pads = _around(padding, np.shape(weight)[2:], dilation)
    result = convolution(images, weight, bias, stride, pads, dilation, groups)
    return result if images is value else rearranged(result, lambda a: a[0])


def _windows(
    space: int, kernel_size: Argument, stride: Argument, padding: Argument
) -> tuple[list[int], Lengths, list[tuple[int, int]]]:
    """Return kernel, steps and padding of a pool; without a stride windows do not overlap."""
    kernel = per_axis(kernel_size, space, "kernel size")
    pads = [(p, p) for p in per_axis(padding, space, "padding", at_least=0)]
    return kernel, kernel if stride is None or np.size(stride) == 0 else stride, pads


def _average_pooling(space: int) -> Operation:
    def run(
        value: Value, kernel_size: Argument, stride: Argument = None, padding: Argument = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Argument = None,
    ) -> Value:  # fmt: skip
        windows = _windows(space, kernel_size, stride, padding)
        return average_pool(value, *windows, ceil=ceil_mode, count_padding=count_include_pad, divisor=divisor_override)

    return run


def _max_pooling(space: int) -> Operation:
    def run(
        value: Value, kernel_size: Argument, stride: Argument = None, padding: Argument = 0, dilation: Argument = 1,
    ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Value:  # fmt: skip
        if return_indices:
            raise InputError("the places of maxima are not read; use return_indices=False")
        return bent.max_pool(value, *_windows(space, kernel_size, stride, padding), dilation, ceil=ceil_mode)

    return run


def _extreme(choose: Callable[[Value, Value], Value]) -> Operation:
    def run(value: Value, dim: Argument = (), keepdim: bool = False) -> Value:
        count = len(value.shape)
        chosen = sorted({int(axis) % count for axis in np.atleast_1d(dim).tolist()}) or list(range(count))
        for axis in reversed(chosen):
            value = bent.largest(value, axis, choose)
        return rearranged(value, lambda a: np.expand_dims(a, tuple(chosen))) if keepdim else value

    return run


def _per_channel(value: Value, weight: Value) -> Value:
    """Return numbers for each channel, the axis behind the first, shaped so that they broadcast."""
    array = np.asarray(weight)
    return array if array.size == 1 else array.reshape(1, -1, *[1] * (len(value.shape) - 2))


def _adaptive_pooling(space: int) -> Operation:
    def run(value: Value, output_size: Argument) -> Value:
        sizes = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * space
        return adaptive_average(value, sizes)

    return run


def _same(value: Value, *_: Argument, **__: Argument) -> Value:
    return value


def _floats(value: Value) -> Value:
    return value if isinstance(value, Tensor) else np.asarray(value, dtype=np.float64)


def _triangle(cut: Operation) -> Operation:
    def run(value: Value, diagonal: int = 0) -> Value:
        if not isinstance(value, Tensor):
            return cut(np.asarray(value), diagonal)
        return multiply(value, cut(np.ones(value.shape[-2:]), diagonal))

    return run


def _masked_fill(value: Value, mask: Value, number: Value) -> Value:
    return _where(mask, np.asarray(number, dtype=np.float64), value)


def _where(mask: Value, chosen: Value, other: Value) -> Value:
    """Return `where` of a constant mask, such as a causal one."""
    if isinstance(mask, Tensor):
        raise InputError("a choice that depends on the input; write it with ReLU, clamp or maximum")
    kept = np.asarray(mask, dtype=bool)
    if not all(isinstance(side, Tensor) or np.isfinite(side).all() for side in (chosen, other)):
        raise InputError("a mask that puts infinity in; attention without softmax puts 0 there")
    return add(multiply(chosen, kept.astype(np.float64)), multiply(other, (~kept).astype(np.float64)))


def _filled(number: float) -> Operation:
    return lambda value, **_: np.full(value.shape, number)


def _integers(arguments: tuple[Argument, ...]) -> tuple[int, ...]:
    items = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)) else arguments
    return tuple(int(item) for item in items)


def _size(value: Value, dim: Argument = None) -> Value:
    return value.shape if dim is None else value.shape[dim]


def _expand(value: Value, shape: tuple[Argument, ...]) -> Value:
    lengths = _integers(shape)
    old = [1] * (len(lengths) - len(value.shape)) + list(value.shape)
    wide = tuple(have if want == -1 else want for have, want in zip(old, lengths, strict=True))
    return rearranged(value, lambda a: np.broadcast_to(a, wide))


def _unflatten(value: Value, dim: int, sizes: Argument) -> Value:
    axis = dim % len(value.shape)
    return rearranged(value, lambda a: a.reshape(*a.shape[:axis], *_integers((tuple(sizes),)), *a.shape[axis + 1 :]))


def _slice(value: Value, dim: int = 0, start: Argument = None, end: Argument = None, step: int = 1) -> Value:
    cuts = [slice(None)] * len(value.shape)
    cuts[dim] = slice(start, end, step)
    return rearranged(value, lambda a: a[tuple(cuts)])


def _convolve_transposed(
    value: Value, weight: Value, bias: Value = None, stride: Argument = 1, padding: Argument = 0,
    output_padding: Argument = 0, groups: int = 1,
    dilation: Argument = 1,
) -> Value:  # fmt: skip
    space = len(np.shape(weight)) - 2
    more = per_axis(output_padding, space, "output padding", at_least=0)
    pads = [(p, p - q) for p, q in zip(per_axis(padding, space, "padding", at_least=0), more, strict=True)]
    images = value if len(value.shape) == space + 2 else rearranged(value, lambda a: a[None])
    result = transposed_convolution(images, weight, bias, stride, pads, dilation, groups)
    return result if images is value else rearranged(result, lambda a: a[0])


def _aten_convolution(
    value: Value, weight: Value, bias: Value, stride: Argument, padding: Argument, dilation: Argument, transposed: bool,
    output: Argument, groups: int
) -> Value:  # fmt: skip
    if transposed:
        return _convolve_transposed(value, weight, bias, stride, padding, output, groups, dilation)
    return _convolve(value, weight, bias, stride, padding, dilation, groups)


FUNCTIONS: dict[str, Operation] = {
    "add": _scaled_add, "sub": _scaled_subtract, "subtract": _scaled_subtract,
    "rsub": lambda a, b, **k: _scaled_subtract(b, a, **k), "mul": multiply, "multiply": multiply, "neg": negate,
    "negative": negate, "positive": _same, "div": _divide, "divide": _divide, "truediv": divide, "true_divide": divide,
    "pow": power, "float_power": power, "square": lambda a: power(a, 2), "series": series,
    "matmul": matmul, "mm": matmul, "mv": matmul, "bmm": matmul, "linear": _linear,
    "bilinear": _bilinear, "einsum": _einsum, "pad": _pad, "addmm": lambda c, a, b: add(matmul(a, b), c),
    "flatten": _flatten, "reshape": _reshape, "view": _reshape, "permute": _permute, "ravel": _flatten, "unflatten": _unflatten,
    "transpose": lambda v, a, b: rearranged(v, lambda x: np.swapaxes(x, a, b)),
    "swapaxes": lambda v, a, b: rearranged(v, lambda x: np.swapaxes(x, a, b)),
    "flip": lambda v, *dims: rearranged(v, lambda x: np.flip(x, _integers(dims))),
    "roll": lambda v, shifts, dims=None: rearranged(v, lambda x: np.roll(x, shifts, dims)),
    "tile": lambda v, *n: rearranged(v, lambda x: np.tile(x, _integers(n))),
    "repeat": lambda v, *n: rearranged(v, lambda x: np.tile(x, _integers(n))),
    "t": lambda v: _permute(v, *reversed(range(len(v.shape)))),
    "squeeze": _squeeze, "unsqueeze": lambda v, dim: rearranged(v, lambda x: np.expand_dims(x, dim)),
    "sum": _sum(mean=False), "mean": _sum(mean=True),
    "cat": lambda v, dim=0: concatenate(v, dim), "concat": lambda v, dim=0: concatenate(v, dim), "stack": _stack,
    "split": _split, "chunk": _chunk, "unbind": _unbind, "getitem": _getitem,
    "select": lambda v, dim, index: rearranged(v, lambda x: np.take(x, index, axis=dim)),
    "narrow": lambda v, dim, start, length: rearranged(v, lambda x: np.take(x, range(start, start + length), axis=dim)),
    "size": _size, "dim": lambda v: len(v.shape), "numel": lambda v: int(np.prod(v.shape)), "expand": lambda v, *s: _expand(v, s),
    "contiguous": _same, "clone": _same, "detach": _same, "float": _floats, "double": _floats, "to": _same, "type": _same,
    "new_zeros": lambda v, *shape, **_: np.zeros(_integers(shape)), "new_ones": lambda v, *shape, **_: np.ones(_integers(shape)),
    "requires_grad": _same,
    "zeros_like": _filled(0.0), "ones_like": _filled(1.0), "full_like": lambda v, fill_value, **_: np.full(v.shape, fill_value),
    "tril": _triangle(np.tril), "triu": _triangle(np.triu), "masked_fill": _masked_fill, "where": _where,
    "relu": bent.relu, "abs": bent.absolute, "absolute": bent.absolute,
    "leaky_relu": lambda v, negative_slope=0.01: bent.leaky_relu(v, negative_slope),
    "prelu": lambda v, weight: bent.parametric_relu(v, _per_channel(v, weight)),
    "relu6": lambda v: bent.clip(v, 0.0, 6.0), "hardtanh": lambda v, min_val=-1.0, max_val=1.0: bent.clip(v, min_val, max_val),
    "hardsigmoid": bent.hard_sigmoid, "hardswish": bent.hard_swish, "threshold": bent.threshold,
    "softshrink": lambda v, lambd=0.5: bent.softshrink(v, lambd),
    "clamp": lambda v, min=None, max=None: bent.clip(v, min, max), "clip": lambda v, min=None, max=None: bent.clip(v, min, max),
    "clamp_min": lambda v, min: bent.clip(v, min), "clamp_max": lambda v, max: bent.clip(v, None, max),
    "maximum": bent.maximum, "minimum": bent.minimum, "amax": _extreme(bent.maximum), "amin": _extreme(bent.minimum),
    **{f"max_pool{space}d": _max_pooling(space) for space in (1, 2, 3)},
    **{f"avg_pool{space}d": _average_pooling(space) for space in (1, 2, 3)},
    **{f"adaptive_avg_pool{space}d": _adaptive_pooling(space) for space in (1, 2, 3)},
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _convolve),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _convolve_transposed),
    **dict.fromkeys(("dropout", "dropout1d", "dropout2d", "dropout3d"), _dropout), "batch_norm": _batch_norm,
}  # fmt: skip

ATEN: dict[str, Operation] = {
    "batch_norm": lambda v, w, b, m, s, training, momentum, eps, *_: _batch_norm(v, m, s, w, b, training, momentum, eps),
    "_native_batch_norm_legit_no_training": lambda v, w, b, m, s, momentum, eps: [
        _batch_norm(v, m, s, w, b, False, momentum, eps)
    ],
    "convolution": _aten_convolution, "slice": _slice,
    "constant_pad_nd": lambda v, pad, value=0.0: _pad(v, pad, "constant", value),
    "max_pool2d_with_indices": lambda v, *given: [_max_pooling(2)(v, *given)],
    "sym_size": lambda v, dim: v.shape[dim], "_to_copy": _same, "alias": _same, "_assert_tensor_metadata": lambda *_, **__: None,
    "_adaptive_avg_pool2d": _adaptive_pooling(2),
}  # fmt: skip
"""What operators of `torch.export` take in another order than the functions of those names."""
