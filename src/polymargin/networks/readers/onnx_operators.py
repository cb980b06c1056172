"""ONNX operators, as far as they are polynomial, on tensors of `operations`.

Every function takes the inputs (None for one that is left out), the attributes and the opset version, and gives the value
of the first output; Split gives a list. Constants are NumPy arrays, so the arithmetic on shapes that exporters write is done
by the same entries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.readers.onnx_shapes import (
    Attributes,
    axes,
    cast,
    concat,
    constant_of_shape,
    expand,
    flatten,
    gather,
    pad,
    reshape,
    sliced,
    split,
    squeeze,
    transpose,
    unsqueeze,
)
from polymargin.networks.tape import piecewise as bent
from polymargin.networks.tape.arithmetic import add, divide, multiply, negate, power, subtract
from polymargin.networks.tape.einsum import einsum
from polymargin.networks.tape.operations import Tensor
from polymargin.networks.tape.windows import (
    average_pool,
    convolution,
    matmul,
    normalised,
    per_axis,
    rearranged,
    sums,
)


def _gemm(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    left = rearranged(inputs[0], np.transpose) if attributes.get("transA", 0) else inputs[0]
    right = rearranged(inputs[1], np.transpose) if attributes.get("transB", 0) else inputs[1]
    product = _times(matmul(left, right), attributes.get("alpha", 1.0))
    if len(inputs) < 3 or inputs[2] is None:
        return product
    return add(product, _times(inputs[2], attributes.get("beta", 1.0)))


def _times(value: Any, factor: float) -> Any:
    return value if factor == 1.0 else multiply(value, factor)


def _division(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    left, right = inputs
    if _are_whole(inputs):
        _no_zeros(right)
        return np.trunc(left / right).astype(np.int64)
    return divide(left, right)


def _remainder(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    """Of whole numbers alone, with the sign of the divisor, or of the dividend where fmod is set."""
    left, right = inputs
    if not _are_whole(inputs):
        raise InputError("not polynomial; only remainders of whole numbers, as in shapes, are read")
    _no_zeros(right)
    return (np.fmod if attributes.get("fmod", 0) else np.mod)(left, right)


def _are_whole(values: list[Any]) -> bool:
    """Constants, not tensors; NumPy makes scalars of arrays without axes."""
    kinds = (np.ndarray, np.generic)
    return all(isinstance(value, kinds) and np.issubdtype(value.dtype, np.integer) for value in values)


def _no_zeros(divisors: Any) -> None:
    if not np.all(divisors):
        raise InputError("a division by zero")


def _added_up(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    total = inputs[0]
    for value in inputs[1:]:
        total = add(total, value)
    return total


def _mean(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    return divide(_added_up(inputs, attributes, opset), float(len(inputs)))


def _conv(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    if isinstance(inputs[1], Tensor) or not isinstance(inputs[0], Tensor):
        raise InputError("a convolution whose kernel depends on the input")
    kernel = np.asarray(inputs[1])
    space = kernel.ndim - 2
    stride = per_axis(attributes.get("strides", 1), space, "strides")
    dilation = per_axis(attributes.get("dilations", 1), space, "dilations")
    pads = _pads(attributes, inputs[0].shape[2:], kernel.shape[2:], stride, dilation)
    bias = inputs[2] if len(inputs) > 2 else None
    if isinstance(bias, Tensor):
        raise InputError("a convolution whose bias depends on the input")
    return convolution(inputs[0], kernel, bias, stride, pads, dilation, attributes.get("group", 1))


def _average_pool(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    kernel = list(attributes.get("kernel_shape", []))
    if not kernel or any(d != 1 for d in attributes.get("dilations", [])):
        raise InputError("an average pool needs a kernel_shape, and dilations are not read")
    stride = per_axis(attributes.get("strides", 1), len(kernel), "strides")
    pads = _pads(attributes, inputs[0].shape[2:], kernel, stride, [1] * len(kernel))
    ceil, counted = bool(attributes.get("ceil_mode", 0)), bool(attributes.get("count_include_pad", 0))
    return average_pool(inputs[0], kernel, stride, pads, ceil=ceil, count_padding=counted)


def _pads(attributes: Attributes, lengths: Any, kernel: Any, stride: Any, dilation: Any) -> list[tuple[int, int]]:
    """(before, after) per axis of space, given as numbers or as auto_pad."""
    count = len(kernel)
    if len(lengths) != count or len(stride) != count or count < 1:
        raise InputError(f"windows of shape {tuple(kernel)} in {len(lengths)} axes of space")
    mode = attributes.get("auto_pad", b"NOTSET")
    if mode in (b"NOTSET", b"VALID"):
        pads = [0] * 2 * count if mode == b"VALID" else list(attributes.get("pads", [0] * 2 * count))
        if len(pads) != 2 * count:
            raise InputError(f"pads {pads}; expected {2 * count} numbers")
        return [(pads[i], pads[count + i]) for i in range(count)]
    if mode not in (b"SAME_UPPER", b"SAME_LOWER"):
        raise InputError(f"auto_pad {mode!r} is not read; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    result = []
    for length, k, s, d in zip(lengths, kernel, stride, dilation, strict=True):
        total = max((-(-length // s) - 1) * s + (k - 1) * d + 1 - length, 0)
        small, large = total // 2, total - total // 2
        result.append((small, large) if mode == b"SAME_UPPER" else (large, small))
    return result


def _max_pool(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    kernel = list(attributes.get("kernel_shape", []))
    if not kernel or attributes.get("storage_order", 0) or attributes.get("outputs", 1) > 1:
        raise InputError("a maximum pool needs a kernel_shape; the places of its maxima are not read")
    stride, dilation = (per_axis(attributes.get(name, 1), len(kernel), name) for name in ("strides", "dilations"))
    pads = _pads(attributes, inputs[0].shape[2:], kernel, stride, dilation)
    return bent.max_pool(inputs[0], kernel, stride, pads, dilation, ceil=bool(attributes.get("ceil_mode", 0)))


def _clip(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    given = [inputs[place] if len(inputs) > place else None for place in (1, 2)]
    low, high = (attributes.get("min"), attributes.get("max")) if opset < 11 else given
    return bent.clip(inputs[0], low, high)


def _folded(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda i, a, o: reduce(operation, i[1:], i[0])


def _reduced(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def run(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
        if not isinstance(inputs[0], Tensor):
            raise InputError("maxima and minima of constants are not read")
        value, count = inputs[0], len(inputs[0].shape)
        chosen = sorted({axis % count for axis in axes(inputs, attributes, 1) or range(count)})
        for axis in reversed(chosen):
            value = bent.largest(value, axis, operation)
        if not attributes.get("keepdims", 1):
            return value
        return rearranged(value, lambda a: np.expand_dims(a, tuple(chosen)))

    return run


def _global_average_pool(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    return sums(inputs[0], list(range(2, len(inputs[0].shape))), keep=True, mean=True)


def _batch_normalization(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    # Before opset 14 the mode is told by the number of outputs.
    training = attributes.get("training_mode", 0) or (opset < 14 and attributes.get("outputs", 1) > 1)
    if training or any(isinstance(value, Tensor) for value in inputs[1:5]):
        raise InputError("batch normalisation in training mode; export the model in eval mode")
    value, weight, bias, mean, variance = inputs[:5]
    return normalised(value, mean, variance, weight, bias, attributes.get("epsilon", 1e-5))


def _dropout(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    if len(inputs) > 2 and inputs[2] is not None and np.any(inputs[2]):
        raise InputError("dropout in training mode; export the model in eval mode")
    return inputs[0]


def _reduce(mean: bool) -> Callable[..., Any]:
    def run(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
        chosen, keep = axes(inputs, attributes, 1) or None, bool(attributes.get("keepdims", 1))
        if chosen is None and attributes.get("noop_with_empty_axes", 0):
            return inputs[0]
        if isinstance(inputs[0], Tensor):
            return sums(inputs[0], chosen, keep, mean)
        return (np.mean if mean else np.sum)(inputs[0], axis=None if chosen is None else tuple(chosen), keepdims=keep)

    return run


def _of_constants(operation: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
        if isinstance(inputs[0], Tensor):
            raise InputError("not polynomial")
        return operation(np.asarray(inputs[0], dtype=np.float64))

    return run


OPERATORS: dict[str, Callable[[list[Any], Attributes, int], Any]] = {
    "Abs": lambda i, a, o: bent.absolute(i[0]),
    "Clip": _clip,
    "GlobalMaxPool": lambda i, a, o: _reduced(bent.maximum)([i[0]], {"axes": range(2, len(i[0].shape))}, o),
    "HardSigmoid": lambda i, a, o: bent.hard_sigmoid(i[0], a.get("alpha", 0.2), a.get("beta", 0.5)),
    "HardSwish": lambda i, a, o: bent.hard_swish(i[0]),
    "LeakyRelu": lambda i, a, o: bent.leaky_relu(i[0], a.get("alpha", 0.01)),
    "Max": _folded(bent.maximum),
    "MaxPool": _max_pool,
    "Min": _folded(bent.minimum),
    "PRelu": lambda i, a, o: bent.parametric_relu(i[0], i[1]),
    "ReduceMax": _reduced(bent.maximum),
    "ReduceMin": _reduced(bent.minimum),
    "ReduceSumSquare": lambda i, a, o: _reduce(mean=False)([power(i[0], 2), *i[1:]], a, o),
    "Add": lambda i, a, o: add(i[0], i[1]),
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_normalization,
    "Cast": cast,
    "CastLike": lambda i, a, o: i[0],
    "Concat": concat,
    "ConstantOfShape": constant_of_shape,
    "Conv": _conv,
    "Div": _division,
    "Dropout": _dropout,
    "Einsum": lambda i, a, o: einsum(a["equation"].decode("utf-8", "replace"), i),
    "Expand": expand,
    "Flatten": flatten,
    "Gather": gather,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average_pool,
    "Identity": lambda i, a, o: i[0],
    "MatMul": lambda i, a, o: matmul(i[0], i[1]),
    "Mean": _mean,
    "Mod": _remainder,
    "Mul": lambda i, a, o: multiply(i[0], i[1]),
    "Neg": lambda i, a, o: negate(i[0]),
    "Pad": pad,
    "Pow": lambda i, a, o: power(i[0], i[1]),
    "Reciprocal": _of_constants(lambda a: 1.0 / a),
    "ReduceMean": _reduce(mean=True),
    "ReduceSum": _reduce(mean=False),
    "Relu": lambda i, a, o: bent.relu(i[0]),
    "Reshape": reshape,
    "Shape": lambda i, a, o: np.array(i[0].shape[slice(a.get("start", 0), a.get("end"))], dtype=np.int64),
    "Slice": sliced,
    "Split": split,
    "Sqrt": _of_constants(np.sqrt),
    "Squeeze": squeeze,
    "Sub": lambda i, a, o: subtract(i[0], i[1]),
    "Sum": _added_up,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
