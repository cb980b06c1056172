"""ONNX operators, as far as they are polynomial or piecewise polynomial, on the tensors of a tape.

Each is a function of its inputs, in ONNX's order, and of its attributes, by their names. What is an attribute in old opsets and
an input in new ones is one parameter with that name. Constants are NumPy arrays, so the arithmetic on shapes that exporters write
is done by the same entries.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.readers.onnx_shapes import SHAPES, whole_numbers
from polymargin.networks.tape import piecewise as bent
from polymargin.networks.tape.arithmetic import add, divide, multiply, negate, power, subtract
from polymargin.networks.tape.einsum import einsum, matmul
from polymargin.networks.tape.operations import Argument, Operation, Tensor, Value
from polymargin.networks.tape.windows import (
    average_pool,
    convolution,
    normalised,
    per_axis,
    rearranged,
    sums,
    transposed_convolution,
)


def evaluated(kind: str, inputs: list[Value], attributes: dict[str, Argument]) -> Value:
    """Return the outputs of an operator: one, or a list. Attributes that it has no parameter for do not change values."""
    operator = OPERATORS[kind]
    known = inspect.signature(operator).parameters
    while inputs and inputs[-1] is None:  # left out, so that the default counts
        inputs = inputs[:-1]
    return operator(*inputs, **{name: value for name, value in attributes.items() if name in known})


def _gemm(
    a: Value, b: Value, c: Value = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0
) -> Value:  # fmt: skip
    left, right = (rearranged(m, np.transpose) if turned else m for m, turned in ((a, transA), (b, transB)))
    product = _times(matmul(left, right), alpha)
    return product if c is None else add(product, _times(c, beta))


def _times(value: Value, factor: float) -> Value:
    return value if factor == 1.0 else multiply(value, factor)


def _division(left: Value, right: Value) -> Value:
    if not _are_whole(left, right):
        return divide(left, right)
    return np.trunc(left / _nonzero(right)).astype(np.int64)


def _remainder(left: Value, right: Value, *, fmod: int = 0) -> Value:
    """Return the remainder of whole numbers, with the sign of the divisor, or of the dividend if fmod is set."""
    if not _are_whole(left, right):
        raise InputError("not polynomial; only remainders of whole numbers, as in shapes, are read")
    return (np.fmod if fmod else np.mod)(left, _nonzero(right))


def _are_whole(*values: Value) -> bool:
    """Return whether the values are whole constants; NumPy makes scalars of arrays without axes."""
    kinds = (np.ndarray, np.generic)
    return all(isinstance(value, kinds) and np.issubdtype(value.dtype, np.integer) for value in values)


def _nonzero(divisors: Argument) -> Value:
    if not np.all(divisors):
        raise InputError("a division by zero")
    return divisors


def _conv(
    x: Value, w: Value, b: Value = None, *, strides: Argument = 1, dilations: Argument = 1, group: int = 1,
    pads: Argument = None,
    auto_pad: bytes = b"NOTSET",
) -> Value:  # fmt: skip
    if isinstance(w, Tensor) or isinstance(b, Tensor) or not isinstance(x, Tensor):
        raise InputError("a convolution whose kernel or bias depends on the input")
    kernel = np.asarray(w)
    steps, gaps = _per_axis(kernel.ndim - 2, strides, dilations)
    return convolution(x, kernel, b, steps, _pads(auto_pad, pads, x, kernel.shape[2:], steps, gaps), gaps, group)


def _conv_transpose(
    x: Value, w: Value, b: Value = None, *, strides: Argument = 1, dilations: Argument = 1, group: int = 1,
    pads: Argument = None,
    output_padding: Argument = 0, auto_pad: bytes = b"NOTSET", output_shape: Argument = None,
) -> Value:  # fmt: skip
    if isinstance(w, Tensor) or isinstance(b, Tensor) or not isinstance(x, Tensor):
        raise InputError("a convolution whose kernel or bias depends on the input")
    if auto_pad != b"NOTSET" or output_shape is not None:
        raise InputError("auto_pad and output_shape of a transposed convolution are not read; export it with pads")
    kernel = np.asarray(w)
    steps, gaps = _per_axis(kernel.ndim - 2, strides, dilations)
    more = per_axis(output_padding, kernel.ndim - 2, "output_padding", at_least=0)
    around = _pads(auto_pad, pads, x, kernel.shape[2:], steps, gaps)
    cut = [(before, after - extra) for (before, after), extra in zip(around, more, strict=True)]
    return transposed_convolution(x, kernel, b, steps, cut, gaps, group)


def _average_pool(
    x: Value, *, kernel_shape: Argument, strides: Argument = 1, dilations: Argument = 1, pads: Argument = None,
    auto_pad: bytes = b"NOTSET",
    ceil_mode: int = 0, count_include_pad: int = 0,
) -> Value:  # fmt: skip
    steps, gaps = _per_axis(len(kernel_shape), strides, dilations)
    if any(gap != 1 for gap in gaps):
        raise InputError("dilations of an average pool are not read")
    around = _pads(auto_pad, pads, x, kernel_shape, steps, gaps)
    return average_pool(x, kernel_shape, steps, around, ceil=bool(ceil_mode), count_padding=bool(count_include_pad))


def _max_pool(
    x: Value, *, kernel_shape: Argument, strides: Argument = 1, dilations: Argument = 1, pads: Argument = None,
    auto_pad: bytes = b"NOTSET",
    ceil_mode: int = 0, storage_order: int = 0, outputs: int = 1,
) -> Value:  # fmt: skip
    if storage_order or outputs > 1:
        raise InputError("the places of maxima are not read")
    steps, gaps = _per_axis(len(kernel_shape), strides, dilations)
    around = _pads(auto_pad, pads, x, kernel_shape, steps, gaps)
    return bent.max_pool(x, kernel_shape, steps, around, gaps, ceil=bool(ceil_mode))


def _per_axis(count: int, strides: Argument, dilations: Argument) -> tuple[list[int], list[int]]:
    return per_axis(strides, count, "strides"), per_axis(dilations, count, "dilations")


def _pads(
    mode: bytes, given: Argument, x: Value, kernel: Argument, steps: list[int], gaps: list[int]
) -> list[tuple[int, int]]:
    """Return (before, after) per axis of space, given as numbers or as auto_pad."""
    lengths, count = x.shape[2:], len(kernel)
    if len(lengths) != count or count < 1:
        raise InputError(f"windows of shape {tuple(kernel)} in {len(lengths)} axes of space")
    if mode in (b"NOTSET", b"VALID"):
        pads = [0] * 2 * count if mode == b"VALID" or given is None else list(given)
        if len(pads) != 2 * count:
            raise InputError(f"pads {pads}; expected {2 * count} numbers")
        return [(pads[i], pads[count + i]) for i in range(count)]
    if mode not in (b"SAME_UPPER", b"SAME_LOWER"):
        raise InputError(f"auto_pad {mode!r} is not read; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    result = []
    for length, k, s, d in zip(lengths, kernel, steps, gaps, strict=True):
        total = max((-(-length // s) - 1) * s + (k - 1) * d + 1 - length, 0)
        small, large = total // 2, total - total // 2
        result.append((small, large) if mode == b"SAME_UPPER" else (large, small))
    return result


def _folded(operation: Callable[[Value, Value], Value]) -> Operation:
    return lambda *values: reduce(operation, values)


def _extreme(operation: Callable[[Value, Value], Value]) -> Operation:
    def run(x: Value, axes: Argument = None, *, keepdims: int = 1) -> Value:
        if not isinstance(x, Tensor):
            raise InputError("maxima and minima of constants are not read")
        count = len(x.shape)
        given = [] if axes is None else whole_numbers(axes, "axes")
        chosen = sorted({axis % count for axis in given or range(count)})
        for axis in reversed(chosen):
            x = bent.largest(x, axis, operation)
        return rearranged(x, lambda a: np.expand_dims(a, tuple(chosen))) if keepdims else x

    return run


def _reduced(x: Value, axes: Argument, keepdims: int, noop: int, *, mean: bool) -> Value:
    chosen = None if axes is None else whole_numbers(axes, "axes") or None
    if chosen is None and noop:
        return x
    if isinstance(x, Tensor):
        return sums(x, chosen, bool(keepdims), mean)
    whole = None if chosen is None else tuple(chosen)
    return (np.mean if mean else np.sum)(x, axis=whole, keepdims=bool(keepdims))


def _product(x: Value, axes: Argument = None, *, keepdims: int = 1) -> Value:
    return _extreme(multiply)(x, axes, keepdims=keepdims)


def _shrink(x: Value, *, bias: float = 0.0, lambd: float = 0.5) -> Value:
    if bias != lambd:
        raise InputError(f"a shrink by {bias:g} from {lambd:g} on jumps; expected two equal numbers")
    return bent.softshrink(x, lambd)


def _batch_normalization(
    x: Value, weight: Value, bias: Value, mean: Value, variance: Value, *, epsilon: float = 1e-5, training_mode: int = 0,
    outputs: int = 1,
) -> Value:  # fmt: skip
    # Before opset 14 the mode is told by the number of outputs.
    if training_mode or outputs > 1 or any(isinstance(value, Tensor) for value in (weight, bias, mean, variance)):
        raise InputError("batch normalisation in training mode; export the model in eval mode")
    return normalised(x, mean, variance, weight, bias, epsilon)


def _dropout(x: Value, ratio: Argument = None, training_mode: Argument = False) -> Value:
    if np.any(training_mode):
        raise InputError("dropout in training mode; export the model in eval mode")
    return x


def _of_constants(operation: Callable[[Any], Any]) -> Operation:
    def run(x: Value) -> Value:
        if isinstance(x, Tensor):
            raise InputError("not polynomial")
        return operation(np.asarray(x, dtype=np.float64))

    return run


OPERATORS: dict[str, Operation] = SHAPES | {
    "Abs": bent.absolute,
    "Add": add,
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_normalization,
    "Clip": lambda x, min=None, max=None: bent.clip(x, min, max),
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Div": _division,
    "Dropout": _dropout,
    "Einsum": lambda *values, equation: einsum(equation.decode("utf-8", "replace"), values),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda x: sums(x, list(range(2, len(x.shape))), keep=True, mean=True),
    "GlobalMaxPool": lambda x: _extreme(bent.maximum)(x, range(2, len(x.shape))),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: bent.hard_sigmoid(x, alpha, beta),
    "HardSwish": bent.hard_swish,
    "LeakyRelu": lambda x, alpha=0.01: bent.leaky_relu(x, alpha),
    "MatMul": matmul,
    "Max": _folded(bent.maximum),
    "MaxPool": _max_pool,
    "Mean": lambda *values: divide(reduce(add, values), float(len(values))),
    "Min": _folded(bent.minimum),
    "Mod": _remainder,
    "Mul": multiply,
    "Neg": negate,
    "PRelu": bent.parametric_relu,
    "Pow": power,
    "Reciprocal": _of_constants(lambda a: 1.0 / a),
    "ReduceL1": lambda x, axes=None, keepdims=1, noop_with_empty_axes=0: _reduced(
        bent.absolute(x), axes, keepdims, noop_with_empty_axes, mean=False
    ),
    "ReduceMax": _extreme(bent.maximum),
    "ReduceMean": lambda x, axes=None, keepdims=1, noop_with_empty_axes=0: _reduced(
        x, axes, keepdims, noop_with_empty_axes, mean=True
    ),
    "ReduceMin": _extreme(bent.minimum),
    "ReduceProd": _product,
    "ReduceSum": lambda x, axes=None, keepdims=1, noop_with_empty_axes=0: _reduced(
        x, axes, keepdims, noop_with_empty_axes, mean=False
    ),
    "ReduceSumSquare": lambda x, axes=None, keepdims=1, noop_with_empty_axes=0: _reduced(
        power(x, 2), axes, keepdims, noop_with_empty_axes, mean=False
    ),
    "Relu": bent.relu,
    "Shrink": _shrink,
    "Sqrt": _of_constants(np.sqrt),
    "Sub": subtract,
    "Sum": _folded(add),
}
