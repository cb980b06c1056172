"""ONNX operators that rearrange: shapes, slices, joins, padding; also on the shapes themselves, which exporters compute."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.tape.arithmetic import concatenate
from polymargin.networks.tape.operations import Tensor, checked_size
from polymargin.networks.tape.padding import padded
from polymargin.networks.tape.windows import pieces, rearranged

Attributes = dict[str, Any]


def whole_numbers(value: Any, what: str) -> list[int]:
    """A constant input or attribute as whole numbers."""
    if isinstance(value, Tensor):
        raise InputError(f"{what} depend on the input of the network")
    return [int(item) for item in np.asarray(value).reshape(-1).tolist()]


def axes(inputs: list[Any], attributes: Attributes, place: int) -> list[int] | None:
    """Axes are an attribute in old opsets and an input in new ones."""
    if len(inputs) > place and inputs[place] is not None:
        return whole_numbers(inputs[place], "axes")
    return list(attributes["axes"]) if "axes" in attributes else None


def flatten(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    shape = inputs[0].shape
    axis = attributes.get("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise InputError(f"axis {axis} of a tensor of shape {shape}")
    axis = axis % len(shape) if axis < 0 else axis
    return rearranged(inputs[0], lambda a: a.reshape(prod(shape[:axis]), -1))


def reshape(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    shape = whole_numbers(inputs[1], "the numbers of a shape")
    if not attributes.get("allowzero", 0):
        old = inputs[0].shape
        if any(n == 0 and i >= len(old) for i, n in enumerate(shape)):
            raise InputError(f"a new shape {shape} does not fit a tensor of shape {old}")
        shape = [old[i] if n == 0 else n for i, n in enumerate(shape)]
    return rearranged(inputs[0], lambda a: a.reshape(shape))


def transpose(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    return rearranged(inputs[0], lambda a: np.transpose(a, attributes.get("perm")))


def concat(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    try:
        return concatenate(inputs, attributes["axis"])
    except ValueError as error:
        raise InputError(f"the inputs do not join ({error})") from None


def sliced(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    if opset < 10:
        starts, ends = list(attributes["starts"]), list(attributes["ends"])
        chosen = list(attributes.get("axes", range(len(starts))))
        steps = [1] * len(starts)
    else:
        starts, ends = (whole_numbers(value, "the ends of a slice") for value in inputs[1:3])
        chosen = axes(inputs, {}, 3) or list(range(len(starts)))
        has_steps = len(inputs) > 4 and inputs[4] is not None
        steps = whole_numbers(inputs[4], "the steps of a slice") if has_steps else [1] * len(starts)
    cuts = [slice(None)] * len(inputs[0].shape)
    for axis, start, end, step in zip(chosen, starts, ends, steps, strict=True):
        # The end of a slice that runs backwards to the front is written as a very small number.
        stop = None if step < 0 and end <= -len(range(inputs[0].shape[axis])) - 1 else end
        cuts[axis] = slice(start, stop, step)
    return rearranged(inputs[0], lambda a: a[tuple(cuts)])


def gather(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    if isinstance(inputs[1], Tensor):
        raise InputError("indices that depend on the input of the network")
    index = np.asarray(inputs[1])
    if not np.issubdtype(index.dtype, np.integer):
        raise InputError("indices that are not whole numbers")
    value, axis = inputs[0], attributes.get("axis", 0)
    checked_size((*value.shape, *index.shape))
    return rearranged(value, lambda a: np.take(a, index, axis=axis))


def split(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    axis = int(attributes.get("axis", 0))
    length = int(inputs[0].shape[axis])
    if len(inputs) > 1 and inputs[1] is not None:
        sizes = whole_numbers(inputs[1], "the sizes of a split")
    elif "split" in attributes:
        sizes = list(attributes["split"])
    else:
        count = int(attributes["num_outputs"] if "num_outputs" in attributes else attributes["outputs"])
        part = -(-length // count) if count > 0 else 0
        sizes = [min(part, length - i * part) for i in range(count)] if part else []
    if sum(sizes) != length or any(size < 0 for size in sizes):
        raise InputError(f"a split of {length} entries into {sizes} does not add up")
    return pieces(inputs[0], sizes, axis)


def squeeze(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    chosen = axes(inputs, attributes, 1)
    return rearranged(inputs[0], lambda a: np.squeeze(a, None if chosen is None else tuple(chosen)))


def unsqueeze(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    chosen = axes(inputs, attributes, 1)
    return rearranged(inputs[0], lambda a: np.expand_dims(a, tuple(chosen or ())))


def constant_of_shape(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    shape = whole_numbers(inputs[0], "the numbers of a shape")
    checked_size(shape)
    return np.full(shape, np.asarray(attributes.get("value", np.zeros(1, dtype=np.float32))).reshape(-1)[0])


def cast(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
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


def expand(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    shape = np.broadcast_shapes(inputs[0].shape, tuple(whole_numbers(inputs[1], "the numbers of a shape")))
    checked_size(shape)
    return rearranged(inputs[0], lambda a: np.broadcast_to(a, shape))


def pad(inputs: list[Any], attributes: Attributes, opset: int) -> Any:
    """Pads, the value and the axes are attributes in old opsets and inputs in new ones."""
    value = inputs[0]
    pads = whole_numbers(inputs[1] if opset >= 11 else attributes["pads"], "pads")
    given = inputs[2] if opset >= 11 and len(inputs) > 2 and inputs[2] is not None else attributes.get("value", 0.0)
    if isinstance(given, Tensor):
        raise InputError("a padding that depends on the input of the network")
    count = len(value.shape)
    chosen = axes(inputs, {}, 3) or list(range(count))
    if len(pads) != 2 * len(chosen):
        raise InputError(f"pads {pads}; expected {2 * len(chosen)} numbers")
    every = [(0, 0)] * count
    for place, axis in enumerate(chosen):
        every[axis] = (pads[place], pads[len(chosen) + place])
    mode = attributes.get("mode", b"constant")
    name = mode.decode("utf-8", "replace") if isinstance(mode, bytes) else str(mode)
    return padded(value, every, name, float(np.asarray(given).reshape(-1)[0]))
