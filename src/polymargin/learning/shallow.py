"""The shallow network with activation x²: Linear, Square, Linear.

    f(x) = W₂ (W₁ x + b₁)² + b₂

Every class pair of it meets in a quadric.
"""

from __future__ import annotations

from typing import Any

from polymargin.errors import InputError
from polymargin.learning.extra import torch_package


def shallow_network(inputs: int, hidden: int, classes: int, *, seed: int, bias: bool = True, dtype: Any = None) -> Any:
    """Return a Sequential(Linear, Square, Linear) with torch's own initialisation, drawn from `seed`.

    The global generator of torch is left as it was. `dtype` is torch's default unless given.
    """
    if min(inputs, hidden) < 1 or classes < 2:
        raise InputError(f"widths {inputs}, {hidden}, {classes}: expected inputs and hidden >= 1 and classes >= 2")
    torch = torch_package()
    from polymargin.learning.square import Square

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        first = torch.nn.Linear(inputs, hidden, bias=bias, dtype=dtype)
        second = torch.nn.Linear(hidden, classes, bias=bias, dtype=dtype)
    return torch.nn.Sequential(first, Square(), second)


def layer_tensors(network: Any) -> tuple[Any, Any, Any, Any]:
    """Return W₁, b₁, W₂, b₂ of a Sequential(Linear, x², Linear), or of these four tensors; a missing bias is zero."""
    torch = torch_package()
    if isinstance(network, torch.nn.Module):
        first, second = _linear_layers(network)
        layers = (first.weight, first.bias, second.weight, second.bias)
    else:
        layers = _four(network)
    weights, bias, readout, shift = layers
    bias = weights.new_zeros(weights.shape[0]) if bias is None else bias
    shift = readout.new_zeros(readout.shape[0]) if shift is None else shift
    if (
        weights.ndim != 2
        or bias.shape != weights.shape[:1]
        or readout.shape[1:] != bias.shape
        or shift.shape != readout.shape[:1]
    ):
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in (weights, bias, readout, shift))
        raise InputError(f"shapes {shapes}: expected (h, n), (h,), (k, h), (k,) for W₁, b₁, W₂, b₂")
    return weights, bias, readout, shift


def _four(network: Any) -> tuple[Any, Any, Any, Any]:
    try:
        weights, bias, readout, shift = network
    except (TypeError, ValueError):
        raise InputError(
            f"a {type(network).__name__}: expected a Sequential(Linear, x², Linear) or the tensors (W₁, b₁, W₂, b₂)"
        ) from None
    return weights, bias, readout, shift


def _linear_layers(network: Any) -> tuple[Any, Any]:
    torch = torch_package()
    modules = list(network) if isinstance(network, torch.nn.Sequential) else []
    linear = [isinstance(module, torch.nn.Linear) for module in modules]
    if linear != [True, False, True]:
        found = ", ".join(type(module).__name__ for module in modules) or type(network).__name__
        raise InputError(f"a network of {found}: expected Sequential(Linear, x², Linear)")
    if not _is_square(modules[1]):
        raise InputError(f"the activation {type(modules[1]).__name__} is not x²: it differs from it at a test value")
    return modules[0], modules[2]


def _is_square(module: Any) -> bool:
    """Return True for a module that gives exactly x² at many values; this is a test, not a proof."""
    torch = torch_package()
    if list(module.parameters()):
        return False
    generator = torch.Generator().manual_seed(0)
    values = 3 * torch.randn(4, 64, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        try:
            found = module(values)
        except (RuntimeError, TypeError):
            return False
    return bool(found.shape == values.shape and (found == values * values).all())
