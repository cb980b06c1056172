"""PyTorch's modules and functions, as far as they are polynomial, on tensors of `operations`.

Functions are found by name: `x + y`, `torch.add` and `x.add(y)` are one entry here. Arguments are what PyTorch passes;
constants arrive as NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.tape.arithmetic import add, concatenate, divide, multiply, negate, power, subtract
from polymargin.networks.tape.einsum import einsum
from polymargin.networks.tape.operations import Tensor
from polymargin.networks.tape.padding import padded
from polymargin.networks.tape.series import chebyshev
from polymargin.networks.tape.windows import (
    adaptive_average,
    average_pool,
    convolution,
    matmul,
    normalised,
    per_axis,
    pieces,
    rearranged,
    sums,
)

# -- functions -------------------------------------------------------------------------------------


def _scaled_add(left: Any, right: Any, *, alpha: Any = 1) -> Any:
    return add(left, right if alpha == 1 else multiply(right, alpha))


def _scaled_subtract(left: Any, right: Any, *, alpha: Any = 1) -> Any:
    return subtract(left, right if alpha == 1 else multiply(right, alpha))


def _divide(left: Any, right: Any, *, rounding_mode: Any = None) -> Any:
    if rounding_mode is not None:
        raise InputError(f"a division that rounds ({rounding_mode}) is not polynomial")
    return divide(left, right)


def _linear(value: Any, weight: Any, bias: Any = None) -> Any:
    product = matmul(value, np.swapaxes(np.asarray(weight), -1, -2))
    return product if bias is None else add(product, bias)


def _pad(value: Any, pad: Any, mode: str = "constant", value_: Any = None) -> Any:
    """Pairs for the last axes, the last axis first."""
    numbers = [int(n) for n in pad]
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))[::-1]
    return padded(value, [(0, 0)] * (len(value.shape) - len(pairs)) + pairs, mode, float(value_ or 0.0))


def _pad_function(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    return _pad(input, pad, mode, value)


def _einsum(equation: str, *operands: Any) -> Any:
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return einsum(equation, given)


def _bilinear(left: Any, right: Any, weight: Any, bias: Any = None) -> Any:
    product = einsum("...i,oij,...j->...o", [left, np.asarray(weight), right])
    return product if bias is None else add(product, bias)


def _flatten(value: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    axes = len(value.shape)
    start, end = start_dim % max(axes, 1), end_dim % max(axes, 1)
    return rearranged(value, lambda a: a.reshape(*a.shape[:start], -1, *a.shape[end + 1 :]))


def _reshape(value: Any, *shape: Any) -> Any:
    return rearranged(value, lambda a: a.reshape(_integers(shape)))


def _permute(value: Any, *axes: Any) -> Any:
    return rearranged(value, lambda a: a.transpose(_integers(axes)))


def _sum(mean: bool) -> Callable[..., Any]:
    def run(value: Any, dim: Any = None, keepdim: bool = False) -> Any:
        axes = None if dim is None else np.atleast_1d(dim).tolist()
        if not isinstance(value, Tensor):
            return (np.mean if mean else np.sum)(value, axis=None if axes is None else tuple(axes), keepdims=keepdim)
        return sums(value, axes, keepdim, mean)

    return run


def _split(value: Any, size: Any, dim: int = 0) -> Any:
    length = value.shape[dim]
    sizes = [size] * (length // size) + [length % size] * bool(length % size) if isinstance(size, int) else list(size)
    return pieces(value, sizes, dim)


def _chunk(value: Any, chunks: int, dim: int = 0) -> Any:
    return _split(value, -(-value.shape[dim] // chunks), dim)


def _unbind(value: Any, dim: int = 0) -> Any:
    return [rearranged(part, lambda a: np.squeeze(a, dim)) for part in pieces(value, [1] * value.shape[dim], dim)]


def _stack(values: Any, dim: int = 0) -> Any:
    return concatenate([rearranged(value, lambda a: np.expand_dims(a, dim)) for value in values], dim)


def _squeeze(value: Any, dim: Any = None) -> Any:
    axes = [
        a for a in ([*range(len(value.shape))] if dim is None else np.atleast_1d(dim).tolist()) if value.shape[a] == 1
    ]
    return rearranged(value, lambda a: np.squeeze(a, tuple(axes)))


def _getitem(value: Any, index: Any) -> Any:
    return rearranged(value, lambda a: a[index]) if isinstance(value, Tensor) else value[index]


def _getattr(value: Any, name: str) -> Any:
    known = {"shape": lambda: value.shape, "T": lambda: _permute(value, *reversed(range(len(value.shape))))}
    if name not in known:
        raise InputError(f"the attribute {name!r} of a tensor is not read")
    return known[name]()


def _dropout(value: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if training:
        raise InputError("dropout in training mode; call module.eval() first")
    return value


def _batch_norm(
    value: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if training or running_mean is None or running_var is None:
        raise InputError("batch normalisation in training mode; call module.eval() first")
    return normalised(value, running_mean, running_var, weight, bias, eps)


def _convolution(
    value: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    space = len(np.shape(weight)) - 2
    images = value if len(value.shape) == space + 2 else rearranged(value, lambda a: a[None])
    if isinstance(padding, str):
        spans = [(k - 1) * d for k, d in zip(np.shape(weight)[2:], per_axis(dilation, space, "dilation"), strict=True)]
        pads = [(span // 2, span - span // 2) if padding == "same" else (0, 0) for span in spans]
    else:
        pads = [(p, p) for p in per_axis(padding, space, "padding", at_least=0)]
    result = convolution(images, weight, bias, stride, pads, dilation, groups)
    return result if images is value else rearranged(result, lambda a: a[0])


def _average_pool(space: int) -> Callable[..., Any]:
    def run(
        value: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        kernel = per_axis(kernel_size, space, "kernel size")
        pads = [(p, p) for p in per_axis(padding, space, "padding", at_least=0)]
        step = kernel if stride is None or np.size(stride) == 0 else stride
        return average_pool(
            value, kernel, step, pads, ceil=ceil_mode, count_padding=count_include_pad, divisor=divisor_override
        )

    return run


def _adaptive_pool(space: int) -> Callable[..., Any]:
    def run(value: Any, output_size: Any) -> Any:
        sizes = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * space
        return adaptive_average(value, sizes)

    return run


def _same(value: Any, *_: Any, **__: Any) -> Any:
    return value


def _filled(number: float) -> Callable[..., Any]:
    return lambda value, **_: np.full(value.shape, number)


def _integers(arguments: tuple[Any, ...]) -> tuple[int, ...]:
    items = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)) else arguments
    return tuple(int(item) for item in items)


def _size(value: Any, dim: Any = None) -> Any:
    return value.shape if dim is None else value.shape[dim]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": _scaled_add, "iadd": add, "radd": lambda a, b: add(b, a), "add_": _scaled_add,
    "sub": _scaled_subtract, "isub": subtract, "subtract": _scaled_subtract, "rsub": lambda a, b: subtract(b, a),
    "mul": multiply, "imul": multiply, "multiply": multiply, "mul_": multiply, "neg": negate, "negative": negate, "pos": _same,
    "truediv": divide, "itruediv": divide, "div": _divide, "divide": _divide, "true_divide": divide,
    "pow": power, "ipow": power, "pow_": power, "float_power": power,
    "square": lambda a: power(a, 2), "square_": lambda a: power(a, 2),
    "matmul": matmul, "mm": matmul, "mv": matmul, "bmm": matmul, "linear": _linear,
    "bilinear": _bilinear, "einsum": _einsum, "pad": _pad_function,
    "addmm": lambda c, a, b: add(matmul(a, b), c),
    "flatten": _flatten, "reshape": _reshape, "view": _reshape, "permute": _permute, "ravel": _flatten,
    "transpose": lambda v, a, b: rearranged(v, lambda x: np.swapaxes(x, a, b)),
    "swapaxes": lambda v, a, b: rearranged(v, lambda x: np.swapaxes(x, a, b)),
    "t": lambda v: _permute(v, *reversed(range(len(v.shape)))),
    "squeeze": _squeeze, "unsqueeze": lambda v, dim: rearranged(v, lambda x: np.expand_dims(x, dim)),
    "sum": _sum(mean=False), "mean": _sum(mean=True),
    "cat": lambda v, dim=0: concatenate(v, dim), "concat": lambda v, dim=0: concatenate(v, dim), "stack": _stack,
    "split": _split, "chunk": _chunk, "unbind": _unbind, "getitem": _getitem, "getattr": _getattr,
    "select": lambda v, dim, index: rearranged(v, lambda x: np.take(x, index, axis=dim)),
    "narrow": lambda v, dim, start, length: rearranged(v, lambda x: np.take(x, range(start, start + length), axis=dim)),
    "size": _size, "dim": lambda v: len(v.shape), "numel": lambda v: int(np.prod(v.shape)), "expand": lambda v, *s: _expand(v, s),
    "contiguous": _same, "clone": _same, "detach": _same, "float": _same, "double": _same, "to": _same, "type": _same,
    "zeros_like": _filled(0.0), "ones_like": _filled(1.0),
    "dropout": _dropout, "dropout1d": _dropout, "dropout2d": _dropout, "dropout3d": _dropout, "batch_norm": _batch_norm,
    "conv1d": _convolution, "conv2d": _convolution, "conv3d": _convolution,
    "avg_pool1d": _average_pool(1), "avg_pool2d": _average_pool(2), "avg_pool3d": _average_pool(3),
    "adaptive_avg_pool1d": _adaptive_pool(1), "adaptive_avg_pool2d": _adaptive_pool(2), "adaptive_avg_pool3d": _adaptive_pool(3),
    # Python's own arithmetic on shapes.
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "eq": lambda a, b: bool(np.all(a == b)),
    "len": lambda v: v.shape[0],
}  # fmt: skip


def _expand(value: Any, shape: tuple[Any, ...]) -> Any:
    lengths = _integers(shape)
    old = [1] * (len(lengths) - len(value.shape)) + list(value.shape)
    wide = tuple(have if want == -1 else want for have, want in zip(old, lengths, strict=True))
    return rearranged(value, lambda a: np.broadcast_to(a, wide))


PADDINGS = {
    "Zero": "constant",
    "Constant": "constant",
    "Reflection": "reflect",
    "Replication": "replicate",
    "Circular": "circular",
}


# -- modules ---------------------------------------------------------------------------------------


def _linear_module(module: Any, value: Any) -> Any:
    return _linear(value, numbers(module.weight), numbers(module.bias))


def _convolution_module(module: Any, value: Any) -> Any:
    if module.padding_mode != "zeros":
        raise InputError(f"padding mode {module.padding_mode!r}; only 'zeros' is read")
    arguments = (module.stride, module.padding, module.dilation, module.groups)
    return _convolution(value, numbers(module.weight), numbers(module.bias), *arguments)


def _batch_norm_module(module: Any, value: Any) -> Any:
    if module.training or module.running_mean is None:
        raise InputError("batch normalisation in training mode; call module.eval() first")
    mean, variance = numbers(module.running_mean), numbers(module.running_var)
    return normalised(value, mean, variance, numbers(module.weight), numbers(module.bias), module.eps)


def _bilinear_module(module: Any, left: Any, right: Any) -> Any:
    return _bilinear(left, right, numbers(module.weight), numbers(module.bias))


def _pad_module(mode: str) -> Callable[..., Any]:
    return lambda module, value: _pad(value, module.padding, mode, getattr(module, "value", 0.0))


def chebyshev_module(module: Any, value: Any) -> Any:
    """The one activation that is not traced: its basis would be lost."""
    centred = subtract(multiply(value, 2.0), module.low + module.high)
    return chebyshev(divide(centred, module.high - module.low), numbers(module.coefficients).tolist())


def _dropout_module(module: Any, value: Any) -> Any:
    return _dropout(value, module.p, module.training)


def _pool_module(space: int) -> Callable[..., Any]:
    def run(module: Any, value: Any) -> Any:
        divisor = getattr(module, "divisor_override", None)
        arguments = (
            module.kernel_size,
            module.stride,
            module.padding,
            module.ceil_mode,
            module.count_include_pad,
            divisor,
        )
        return _average_pool(space)(value, *arguments)

    return run


MODULES: dict[str, Callable[..., Any]] = {
    "Linear": _linear_module,
    "Bilinear": _bilinear_module,
    **{f"{name}Pad{space}d": _pad_module(mode) for name, mode in PADDINGS.items() for space in (1, 2, 3)},
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), _convolution_module),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"), _batch_norm_module),
    **dict.fromkeys(("Dropout", "Dropout1d", "Dropout2d", "Dropout3d"), _dropout_module),
    "Identity": lambda module, value: value,
    "Flatten": lambda module, value: _flatten(value, module.start_dim, module.end_dim),
    "Unflatten": lambda module, value: _unflatten(value, module.dim, module.unflattened_size),
    "AvgPool1d": _pool_module(1),
    "AvgPool2d": _pool_module(2),
    "AvgPool3d": _pool_module(3),
    "AdaptiveAvgPool1d": lambda module, value: _adaptive_pool(1)(value, module.output_size),
    "AdaptiveAvgPool2d": lambda module, value: _adaptive_pool(2)(value, module.output_size),
    "AdaptiveAvgPool3d": lambda module, value: _adaptive_pool(3)(value, module.output_size),
}


def _unflatten(value: Any, dim: int, sizes: Any) -> Any:
    axis = dim % len(value.shape)
    return rearranged(value, lambda a: a.reshape(*a.shape[:axis], *_integers((tuple(sizes),)), *a.shape[axis + 1 :]))


def numbers(tensor: Any) -> Any:
    """A parameter as float64, exactly; None stays None."""
    return None if tensor is None else tensor.detach().cpu().double().numpy()
