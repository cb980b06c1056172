"""Programs of `torch.export`: what their ATen operators take that the functions of PyTorch take in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.readers.torch_functions import FUNCTIONS, convolve, max_pooling
from polymargin.networks.tape.windows import normalised, rearranged

GUARDS = "_guards_fn"
"""The module of a program that only checks its inputs."""


def exported_shape(graph: Any) -> tuple[int, ...] | None:
    """Return the shape of one input without the batch axis, as the program was exported; None if it does not say."""
    for node in graph.nodes:
        if node.op == "placeholder" and "val" in node.meta:
            shape = tuple(node.meta["val"].shape[1:])
            return tuple(map(int, shape)) if all(isinstance(length, int) for length in shape) else None
    return None


def aten_function(torch: Any, target: Any) -> Callable[..., Any] | None:
    """Return what an ATen operator does to tensors; None if it is no such operator, or is not read."""
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        return None
    name = target.overloadpacket.__name__
    return ATEN.get(name) or FUNCTIONS.get(name)


def _batch_norm(
    value: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float, eps: float, *_: Any
) -> Any:
    if training or mean is None:
        raise InputError("batch normalisation in training mode; call module.eval() before torch.export")
    return normalised(value, mean, variance, weight, bias, eps)


def _convolution(
    value: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output: Any,
    groups: int,
) -> Any:
    if transposed:
        raise InputError("a transposed convolution is not read")
    return convolve(value, weight, bias, stride, padding, dilation, groups)


def _slice(value: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    cuts = [slice(None)] * len(value.shape)
    cuts[dim] = slice(start, end, step)
    return rearranged(value, lambda a: a[tuple(cuts)])


def _number(value: Any, *_: Any, **__: Any) -> Any:
    return np.asarray(value)


def _same(value: Any, *_: Any, **__: Any) -> Any:
    return value


ATEN: dict[str, Callable[..., Any]] = {
    "batch_norm": _batch_norm,
    "_native_batch_norm_legit_no_training": lambda v, w, b, m, s, momentum, eps: [
        _batch_norm(v, w, b, m, s, False, momentum, eps)
    ],
    "convolution": _convolution,
    "slice": _slice,
    "constant_pad_nd": lambda v, pad, value=0.0: FUNCTIONS["pad"](v, pad, "constant", value),
    "max_pool2d_with_indices": lambda v, *given: [max_pooling(2)(v, *given)],
    "sym_size": lambda v, dim: v.shape[dim],
    "scalar_tensor": _number,
    "ones": lambda shape, **_: np.ones(shape),
    "zeros": lambda shape, **_: np.zeros(shape),
    "full": lambda shape, number, **_: np.full(shape, number),
    "eye": lambda *sizes, **_: np.eye(*sizes),
    "arange": lambda *ends, **_: np.arange(*ends),
    "lift_fresh_copy": _same,
    "_to_copy": _same,
    "alias": _same,
    "_assert_tensor_metadata": lambda *_, **__: None,
    "_adaptive_avg_pool2d": FUNCTIONS["adaptive_avg_pool2d"],
}
