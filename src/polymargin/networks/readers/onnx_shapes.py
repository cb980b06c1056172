"""ONNX operators that rearrange: shapes, slices, joins, padding, partial sums; also on shapes, which exporters compute."""

from __future__ import annotations

from math import prod

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.tape.arithmetic import concatenate, multiply
from polymargin.networks.tape.einsum import matmul
from polymargin.networks.tape.operations import Argument, Operation, Tensor, Value, checked_size
from polymargin.networks.tape.padding import padded
from polymargin.networks.tape.windows import pieces, rearranged

SHAPE = "the numbers of a shape"


def whole_numbers(value: Value, what: str) -> list[int]:
    """Return a constant input or attribute as whole numbers."""
    if isinstance(value, Tensor):
        raise InputError(f"{what} depend on the input of the network")
    return [int(item) for item in np.asarray(value).reshape(-1).tolist()]


def _flatten(x: Value, axis: int = 1) -> Value:
    shape = x.shape
    if not -len(shape) <= axis <= len(shape):
        raise InputError(f"axis {axis} of a tensor of shape {shape}")
    axis = axis % len(shape) if axis < 0 else axis
    return rearranged(x, lambda a: a.reshape(prod(shape[:axis]), -1))


def _reshape(x: Value, shape: Argument, *, allowzero: int = 0) -> Value:
    new, old = whole_numbers(shape, SHAPE), x.shape
    if not allowzero:
        if any(n == 0 and i >= len(old) for i, n in enumerate(new)):
            raise InputError(f"a new shape {new} does not fit a tensor of shape {old}")
        new = [old[i] if n == 0 else n for i, n in enumerate(new)]
    return rearranged(x, lambda a: a.reshape(new))


def _concat(*values: Value, axis: int) -> Value:
    try:
        return concatenate(values, axis)
    except ValueError as error:
        raise InputError(f"the inputs do not join ({error})") from None


def _slice(x: Value, starts: Argument, ends: Argument, axes: Argument = None, steps: Value = None) -> Value:
    first, last = (whole_numbers(value, "the ends of a slice") for value in (starts, ends))
    places = range(len(first)) if axes is None else whole_numbers(axes, "axes")
    every = [1] * len(first) if steps is None else whole_numbers(steps, "the steps of a slice")
    cuts = [slice(None)] * len(x.shape)
    for axis, start, end, step in zip(places, first, last, every, strict=True):
        # The end of a slice that runs backwards to the front is written as a very small number.
        stop = None if step < 0 and end <= -x.shape[axis] - 1 else end
        cuts[axis] = slice(start, stop, step)
    return rearranged(x, lambda a: a[tuple(cuts)])


def _gather(x: Value, indices: Argument, *, axis: int = 0) -> Value:
    if isinstance(indices, Tensor):
        raise InputError("indices that depend on the input of the network")
    index = np.asarray(indices)
    if not np.issubdtype(index.dtype, np.integer):
        raise InputError("indices that are not whole numbers")
    checked_size((*x.shape, *index.shape))
    return rearranged(x, lambda a: np.take(a, index, axis=axis))


def _split(x: Value, split: Value = None, *, axis: int = 0, num_outputs: int | None = None, outputs: int = 1) -> Value:
    length = int(x.shape[axis])
    if split is not None:
        sizes = whole_numbers(split, "the sizes of a split")
    else:
        count = outputs if num_outputs is None else num_outputs
        part = -(-length // count) if count > 0 else 0
        sizes = [min(part, length - i * part) for i in range(count)] if part else []
    if sum(sizes) != length or any(size < 0 for size in sizes):
        raise InputError(f"a split of {length} entries into {sizes} does not add up")
    return pieces(x, sizes, axis)


def _squeeze(x: Value, axes: Argument = None) -> Value:
    chosen = None if axes is None else tuple(whole_numbers(axes, "axes"))
    return rearranged(x, lambda a: np.squeeze(a, chosen))


def _unsqueeze(x: Value, axes: Argument = ()) -> Value:
    return rearranged(x, lambda a: np.expand_dims(a, tuple(whole_numbers(axes, "axes"))))


def _constant_of_shape(shape: Argument, *, value: Value = 0.0) -> Value:
    lengths = whole_numbers(shape, SHAPE)
    checked_size(lengths)
    return np.full(lengths, np.asarray(value).reshape(-1)[0])


def _cast(x: Value, *, to: int = 1) -> Value:
    floating, integer = {1, 10, 11, 16}, {2, 3, 4, 5, 6, 7, 12, 13}
    if isinstance(x, Tensor):
        if to not in floating:
            raise InputError("a conversion to whole numbers is not polynomial")
        return x
    if to in floating:
        return np.asarray(x, dtype=np.float32 if to == 1 else np.float64)
    if to in integer:
        return np.trunc(np.asarray(x, dtype=np.float64)).astype(np.int64)
    if to == 9:
        return np.asarray(x) != 0
    raise InputError(f"a conversion of constants to the element type {to}")


def _expand(x: Value, shape: Argument) -> Value:
    wide = np.broadcast_shapes(x.shape, tuple(whole_numbers(shape, SHAPE)))
    checked_size(wide)
    return rearranged(x, lambda a: np.broadcast_to(a, wide))


def _pad(x: Value, pads: Argument, value: Value = 0.0, axes: Argument = None, *, mode: bytes = b"constant") -> Value:
    numbers, count = whole_numbers(pads, "pads"), len(x.shape)
    if isinstance(value, Tensor):
        raise InputError("a padding that depends on the input of the network")
    chosen = list(range(count)) if axes is None else whole_numbers(axes, "axes")
    if len(numbers) != 2 * len(chosen):
        raise InputError(f"pads {numbers}; expected {2 * len(chosen)} numbers")
    every = [(0, 0)] * count
    for axis, before, after in zip(chosen, numbers, numbers[len(chosen) :], strict=False):
        every[axis] = (before, after)
    fill = 0.0 if value is None else float(np.asarray(value).reshape(-1)[0])
    return padded(x, every, mode.decode("utf-8", "replace"), fill)


def _tile(x: Value, repeats: Argument) -> Value:
    times = whole_numbers(repeats, "the repeats of a tile")
    checked_size([n * m for n, m in zip(x.shape, times, strict=True)])
    return rearranged(x, lambda a: np.tile(a, times))


def _gather_elements(x: Value, indices: Argument, *, axis: int = 0) -> Value:
    index = np.asarray(whole_numbers(indices, "indices")).reshape(np.shape(indices))
    return rearranged(x, lambda a: np.take_along_axis(a, index, axis))


def _trilu(x: Value, k: Argument = 0, *, upper: int = 1) -> Value:
    kept = (np.triu if upper else np.tril)(np.ones(x.shape[-2:]), int(np.asarray(k).reshape(())))
    return multiply(x, kept)


def _cumulated(x: Value, axis: Argument, *, exclusive: int = 0, reverse: int = 0) -> Value:
    place, length = int(np.asarray(axis).reshape(())), x.shape[int(np.asarray(axis).reshape(()))]
    seen = np.triu(np.ones((length, length)), exclusive)
    moved = matmul(rearranged(x, lambda a: np.moveaxis(a, place, -1)), seen.T if reverse else seen)
    return rearranged(moved, lambda a: np.moveaxis(a, -1, place))


def _depth_to_space(x: Value, *, blocksize: int, mode: bytes = b"DCR") -> Value:
    n, c, h, w = x.shape
    b, deep = blocksize, c // blocksize**2
    if mode == b"CRD":
        return rearranged(
            x, lambda a: a.reshape(n, deep, b, b, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, deep, h * b, w * b)
        )
    return rearranged(
        x, lambda a: a.reshape(n, b, b, deep, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, deep, h * b, w * b)
    )


def _space_to_depth(x: Value, *, blocksize: int) -> Value:
    n, c, h, w = x.shape
    b = blocksize
    return rearranged(
        x, lambda a: a.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4).reshape(n, -1, h // b, w // b)
    )


SHAPES: dict[str, Operation] = {
    "Cast": _cast,
    "CastLike": lambda x, _: x,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "CumSum": _cumulated,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Identity": lambda x: x,
    "Pad": _pad,
    "Reshape": _reshape,
    "Shape": lambda x, start=0, end=None: np.array(x.shape[slice(start, end)], dtype=np.int64),
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": lambda x, perm=None: rearranged(x, lambda a: np.transpose(a, perm)),
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
}
