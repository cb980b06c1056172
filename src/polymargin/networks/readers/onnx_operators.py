"""ONNX operators, as far as they are polynomial, on tensors of `operations`.

Every function takes the inputs (None for one that is left out), the attributes and the opset version, and gives the value
of the first output; Split gives a list. Constants are NumPy arrays, so the arithmetic on shapes that exporters write is done
by the same entries.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.tape.arithmetic import add, concatenate, divide, multiply, negate, power, subtract
from polymargin.networks.tape.operations import Tensor, checked_size
from polymargin.networks.tape.windows import (
    average_pool,
    convolution,
    matmul,
    normalised,
    per_axis,
    pieces,
    rearranged,
    sums,
)

Attributes = dict[str, Any]


def _integers(value: Any, what: str) -> list[int]:
    """A constant input or attribute as whole numbers."""
    if isinstance(value, Tensor):
        raise InputError(f"{what} depend on the input of the network")
    return [int(item) for item in np.asarray(value).reshape(-1).tolist()]


def _axes(inputs: list[Any], attributes: Attributes, place: int) -> list[int] | None:
    """Axes are an attribute in old opsets and an input in new ones."""
    if len(inputs) > place and inputs[place] is not None:
        return _integers(inputs[place], "axes")
    return list(attributes["axes"]) if "axes" in attributes else None


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
    if all(isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.integer) for value in inputs):
        if not np.all(right):
            raise InputError("a division by zero")
        return np.trunc(left / right).astype(np.int64)
    return divide(left, right)


def _added_up(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    total = inputs[0]
    for value in inputs[1:]:
        total = add(total, value)
    return total


def _mean(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    return divide(_added_up(inputs, attributes, opset), float(len(inputs)))


def _flatten(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    shape = inputs[0].shape
    axis = attributes.get("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise InputError(f"axis {axis} of a tensor of shape {shape}")
    axis = axis % len(shape) if axis < 0 else axis
    return rearranged(inputs[0], lambda a: a.reshape(prod(shape[:axis]), -1))


def _reshape(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    shape = _integers(inputs[1], "the numbers of a shape")
    if not attributes.get("allowzero", 0):
        old = inputs[0].shape
        if any(n == 0 and i >= len(old) for i, n in enumerate(shape)):
            raise InputError(f"a new shape {shape} for a tensor of shape {old}")
        shape = [old[i] if n == 0 else n for i, n in enumerate(shape)]
    return rearranged(inputs[0], lambda a: a.reshape(shape))


def _transpose(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    return rearranged(inputs[0], lambda a: np.transpose(a, attributes.get("perm")))


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
        raise InputError(f"auto_pad {mode!r}")
    result = []
    for length, k, s, d in zip(lengths, kernel, stride, dilation, strict=True):
        total = max((-(-length // s) - 1) * s + (k - 1) * d + 1 - length, 0)
        small, large = total // 2, total - total // 2
        result.append((small, large) if mode == b"SAME_UPPER" else (large, small))
    return result


def _global_average_pool(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    return sums(inputs[0], list(range(2, len(inputs[0].shape))), keep=True, mean=True)


def _batch_normalization(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    # Before opset 14 the mode is told by the number of outputs.
    training = attributes.get("training_mode", 0) or (opset < 14 and attributes.get("outputs", 1) > 1)
    if training or any(isinstance(value, Tensor) for value in inputs[1:5]):
        raise InputError("batch normalisation in training mode; export the model in eval mode")
    value, weight, bias, mean, variance = inputs[:5]
    return normalised(value, mean, variance, weight, bias, attributes.get("epsilon", 1e-5))


def _concat(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    try:
        return concatenate(inputs, attributes["axis"])
    except ValueError as error:
        raise InputError(f"the inputs do not join ({error})") from None


def _slice(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    if opset < 10:
        starts, ends = list(attributes["starts"]), list(attributes["ends"])
        axes = list(attributes.get("axes", range(len(starts))))
        steps = [1] * len(starts)
    else:
        starts, ends = (_integers(value, "the ends of a slice") for value in inputs[1:3])
        axes = _axes(inputs, {}, 3) or list(range(len(starts)))
        has_steps = len(inputs) > 4 and inputs[4] is not None
        steps = _integers(inputs[4], "the steps of a slice") if has_steps else [1] * len(starts)
    cuts = [slice(None)] * len(inputs[0].shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        # The end of a slice that runs backwards to the front is written as a very small number.
        stop = None if step < 0 and end <= -len(range(inputs[0].shape[axis])) - 1 else end
        cuts[axis] = slice(start, stop, step)
    return rearranged(inputs[0], lambda a: a[tuple(cuts)])


def _gather(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    if isinstance(inputs[1], Tensor):
        raise InputError("indices that depend on the input of the network")
    index = np.asarray(inputs[1])
    if not np.issubdtype(index.dtype, np.integer):
        raise InputError("indices that are not whole numbers")
    value, axis = inputs[0], attributes.get("axis", 0)
    checked_size((*value.shape, *index.shape))
    return rearranged(value, lambda a: np.take(a, index, axis=axis))


def _split(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    axis = int(attributes.get("axis", 0))
    length = int(inputs[0].shape[axis])
    if len(inputs) > 1 and inputs[1] is not None:
        sizes = _integers(inputs[1], "the sizes of a split")
    elif "split" in attributes:
        sizes = list(attributes["split"])
    else:
        count = int(attributes["num_outputs"] if "num_outputs" in attributes else attributes["outputs"])
        part = -(-length // count) if count > 0 else 0
        sizes = [min(part, length - i * part) for i in range(count)] if part else []
    if sum(sizes) != length or any(size < 0 for size in sizes):
        raise InputError(f"a split of {length} entries into {sizes}")
    return pieces(inputs[0], sizes, axis)


def _squeeze(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    axes = _axes(inputs, attributes, 1)
    return rearranged(inputs[0], lambda a: np.squeeze(a, None if axes is None else tuple(axes)))


def _unsqueeze(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    axes = _axes(inputs, attributes, 1)
    return rearranged(inputs[0], lambda a: np.expand_dims(a, tuple(axes or ())))


def _constant_of_shape(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    shape = _integers(inputs[0], "the numbers of a shape")
    checked_size(shape)
    return np.full(shape, np.asarray(attributes.get("value", np.zeros(1, dtype=np.float32))).reshape(-1)[0])


def _cast(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    floating, integer = {1, 10, 11, 16}, {2, 3, 4, 5, 6, 7, 12, 13}
    kind = attributes.get("to", 1)
    if isinstance(inputs[0], Tensor):
        if kind not in floating:
            raise InputError("a conversion to whole numbers is not polynomial")
        return inputs[0]
    if kind in floating:
        return np.asarray(inputs[0], dtype=np.float32 if kind == 1 else np.float64)
    if kind in integer:
        return np.trunc(np.asarray(inputs[0], dtype=np.float64)).astype(np.int64)
    if kind == 9:
        return np.asarray(inputs[0]) != 0
    raise InputError(f"a conversion of constants to the element type {kind}")


def _dropout(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    if len(inputs) > 2 and inputs[2] is not None and np.any(inputs[2]):
        raise InputError("dropout in training mode; export the model in eval mode")
    return inputs[0]


def _expand(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    shape = np.broadcast_shapes(inputs[0].shape, tuple(_integers(inputs[1], "the numbers of a shape")))
    checked_size(shape)
    return rearranged(inputs[0], lambda a: np.broadcast_to(a, shape))


def _reduce(mean: bool) -> Callable[..., Any]:
    def run(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
        axes, keep = _axes(inputs, attributes, 1) or None, bool(attributes.get("keepdims", 1))
        if axes is None and attributes.get("noop_with_empty_axes", 0):
            return inputs[0]
        if isinstance(inputs[0], Tensor):
            return sums(inputs[0], axes, keep, mean)
        return (np.mean if mean else np.sum)(inputs[0], axis=None if axes is None else tuple(axes), keepdims=keep)

    return run


def _of_constants(operation: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
        if isinstance(inputs[0], Tensor):
            raise InputError("not polynomial")
        return operation(np.asarray(inputs[0], dtype=np.float64))

    return run


OPERATORS: dict[str, Callable[[list[Any], Attributes, int], Any]] = {
    "Add": lambda i, a, o: add(i[0], i[1]),
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_normalization,
    "Cast": _cast,
    "CastLike": lambda i, a, o: i[0],
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Conv": _conv,
    "Div": _division,
    "Dropout": _dropout,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average_pool,
    "Identity": lambda i, a, o: i[0],
    "MatMul": lambda i, a, o: matmul(i[0], i[1]),
    "Mean": _mean,
    "Mul": lambda i, a, o: multiply(i[0], i[1]),
    "Neg": lambda i, a, o: negate(i[0]),
    "Pow": lambda i, a, o: power(i[0], i[1]),
    "Reciprocal": _of_constants(lambda a: 1.0 / a),
    "ReduceMean": _reduce(mean=True),
    "ReduceSum": _reduce(mean=False),
    "Reshape": _reshape,
    "Shape": lambda i, a, o: np.array(i[0].shape[slice(a.get("start", 0), a.get("end"))], dtype=np.int64),
    "Slice": _slice,
    "Split": _split,
    "Sqrt": _of_constants(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": lambda i, a, o: subtract(i[0], i[1]),
    "Sum": _added_up,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
