"""Padding: entries beyond the edges, zero, constant, or copies of entries inside."""

from __future__ import annotations

from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.tape.arithmetic import add
from polymargin.networks.tape.operations import Pads, Tensor, Value, checked_size

# Names in ONNX and PyTorch, and NumPy's.
MODES = {
    "constant": "constant",
    "reflect": "reflect",
    "edge": "edge",
    "replicate": "edge",
    "wrap": "wrap",
    "circular": "wrap",
}


def padded(value: Value, pads: Pads, mode: str = "constant", fill: float = 0.0) -> Value:
    """Return a tensor or a constant with so many entries before and after it along each axis; negative numbers cut off."""
    if mode not in MODES:
        raise InputError(f"padding mode {mode!r}; expected {', '.join(MODES)}")
    numbers = value.numbers if isinstance(value, Tensor) else np.asarray(value)
    if len(pads) != numbers.ndim:
        raise InputError(f"padding for {len(pads)} axes of a tensor of shape {numbers.shape}")
    checked_size([max(length + a + b, 0) for length, (a, b) in zip(numbers.shape, pads, strict=True)])
    cut = tuple(slice(max(-a, 0), length - max(-b, 0)) for length, (a, b) in zip(numbers.shape, pads, strict=True))
    wide = [(max(a, 0), max(b, 0)) for a, b in pads]
    constant = mode == "constant"
    options: dict[str, Any] = {"constant_values": -1 if isinstance(value, Tensor) else fill} if constant else {}
    try:
        result = np.pad(numbers[cut], wide, mode=MODES[mode], **options)  # type: ignore[call-overload]
    except ValueError as error:
        raise InputError(f"padding {list(pads)} of a tensor of shape {numbers.shape} ({error})") from None
    if not isinstance(value, Tensor):
        return result
    taken = value.take(result)
    return add(taken, np.where(result < 0, fill, 0.0)) if constant and fill else taken
