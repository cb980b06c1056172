"""PyTorch's modules, as far as they are polynomial: what their `forward` does with the parameters they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polymargin.errors import InputError
from polymargin.networks.readers.torch_functions import (
    adaptive_pooling,
    around,
    average_pooling,
    bilinear,
    convolve,
    dropout,
    flatten,
    integers,
    linear,
    max_pooling,
    pad_last_axes,
    per_channel,
)
from polymargin.networks.tape import piecewise as bent
from polymargin.networks.tape.padding import MODES, padded
from polymargin.networks.tape.series import series
from polymargin.networks.tape.windows import normalised, rearranged

PADDINGS = {
    "Zero": "constant",
    "Constant": "constant",
    "Reflection": "reflect",
    "Replication": "replicate",
    "Circular": "circular",
}


def numbers(tensor: Any) -> Any:
    """A parameter as float64, exactly; whole numbers and truth values, which may be indices, as they are; None stays None."""
    if tensor is None:
        return None
    held = tensor.detach().cpu()
    if held.is_complex():
        raise InputError("a complex constant; expected real weights")
    return held.double().numpy() if held.is_floating_point() else held.numpy()


def _linear_module(module: Any, value: Any) -> Any:
    return linear(value, numbers(module.weight), numbers(module.bias))


def _convolution_module(module: Any, value: Any) -> Any:
    """With padding modes other than zeros the entries around the image are copies of entries inside."""
    weight, bias, padding = numbers(module.weight), numbers(module.bias), module.padding
    if module.padding_mode != "zeros":
        if module.padding_mode not in MODES:
            raise InputError(f"padding mode {module.padding_mode!r}; expected zeros, reflect, replicate or circular")
        space = weight.ndim - 2
        pads = around(padding, weight.shape[2:], module.dilation)
        value = padded(value, [(0, 0)] * (len(value.shape) - space) + pads, module.padding_mode)
        padding = 0
    return convolve(value, weight, bias, module.stride, padding, module.dilation, module.groups)


def _batch_norm_module(module: Any, value: Any) -> Any:
    if module.training or module.running_mean is None:
        raise InputError("batch normalisation in training mode; call module.eval() first")
    mean, variance = numbers(module.running_mean), numbers(module.running_var)
    return normalised(value, mean, variance, numbers(module.weight), numbers(module.bias), module.eps)


def _bilinear_module(module: Any, left: Any, right: Any) -> Any:
    return bilinear(left, right, numbers(module.weight), numbers(module.bias))


def _pad_module(mode: str) -> Callable[..., Any]:
    return lambda module, value: pad_last_axes(value, module.padding, mode, getattr(module, "value", 0.0))


def series_module(module: Any, value: Any) -> Any:
    """The one activation that is not traced: its basis would be lost."""
    low, high = numbers(module.domain).tolist()
    return series(value, numbers(module.coefficients).tolist(), module.basis, (low, high))


def _dropout_module(module: Any, value: Any) -> Any:
    return dropout(value, module.p, module.training)


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
        return average_pooling(space)(value, *arguments)

    return run


def _max_pool_module(space: int) -> Callable[..., Any]:
    def run(module: Any, value: Any) -> Any:
        given = (module.kernel_size, module.stride, module.padding, module.dilation, module.ceil_mode)
        return max_pooling(space)(value, *given, module.return_indices)

    return run


def _unflatten(value: Any, dim: int, sizes: Any) -> Any:
    axis = dim % len(value.shape)
    return rearranged(value, lambda a: a.reshape(*a.shape[:axis], *integers((tuple(sizes),)), *a.shape[axis + 1 :]))


MODULES: dict[str, Callable[..., Any]] = {
    "Linear": _linear_module,
    "Bilinear": _bilinear_module,
    **{f"{name}Pad{space}d": _pad_module(mode) for name, mode in PADDINGS.items() for space in (1, 2, 3)},
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), _convolution_module),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"), _batch_norm_module),
    **dict.fromkeys(("Dropout", "Dropout1d", "Dropout2d", "Dropout3d"), _dropout_module),
    "ReLU": lambda module, value: bent.relu(value),
    "ReLU6": lambda module, value: bent.clip(value, 0.0, 6.0),
    "LeakyReLU": lambda module, value: bent.leaky_relu(value, module.negative_slope),
    "PReLU": lambda module, value: bent.parametric_relu(value, per_channel(value, numbers(module.weight))),
    "Hardtanh": lambda module, value: bent.clip(value, module.min_val, module.max_val),
    "Hardsigmoid": lambda module, value: bent.hard_sigmoid(value),
    "Hardswish": lambda module, value: bent.hard_swish(value),
    "Threshold": lambda module, value: bent.threshold(value, module.threshold, module.value),
    "Softshrink": lambda module, value: bent.softshrink(value, module.lambd),
    **{f"MaxPool{space}d": _max_pool_module(space) for space in (1, 2, 3)},
    "Identity": lambda module, value: value,
    "Flatten": lambda module, value: flatten(value, module.start_dim, module.end_dim),
    "Unflatten": lambda module, value: _unflatten(value, module.dim, module.unflattened_size),
    "AvgPool1d": _pool_module(1),
    "AvgPool2d": _pool_module(2),
    "AvgPool3d": _pool_module(3),
    "AdaptiveAvgPool1d": lambda module, value: adaptive_pooling(1)(value, module.output_size),
    "AdaptiveAvgPool2d": lambda module, value: adaptive_pooling(2)(value, module.output_size),
    "AdaptiveAvgPool3d": lambda module, value: adaptive_pooling(3)(value, module.output_size),
}
