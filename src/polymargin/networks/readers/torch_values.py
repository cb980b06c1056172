"""What PyTorch's functions are given instead of their tensors, while a module computes its logits on a tape.

PyTorch hands a call with a `Traced` argument to `__torch_function__`, which finds the function by name in `torch_functions.py`.
So the module's own code runs once, with shapes that are plain numbers. Imported only where torch is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from polymargin.errors import InputError
from polymargin.networks.readers.foreign import Foreign, why_not
from polymargin.networks.readers.torch_functions import ATEN, FUNCTIONS
from polymargin.networks.tape.attention import MatrixProduct
from polymargin.networks.tape.operations import Tensor

_DEPENDS = "its forward must not depend on the values of tensors"
_COMPARISONS = ("lt", "le", "gt", "ge")
_VALUES = ("item", "tolist", "numpy", "nonzero", "argmax", "argmin", "argsort", "topk")
_MISUSE = (TypeError, ValueError, IndexError, KeyError, AttributeError, ZeroDivisionError)


class Traced:
    """A tensor on a tape, or a constant array, that behaves as a torch.Tensor of shape (1, …)."""

    __array_ufunc__ = None  # NumPy leaves `np.float64(0.5) * x` to this class instead of asking for an array
    dtype, device, requires_grad, is_cuda = torch.float64, torch.device("cpu"), False, False

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(function.__name__)
        if isinstance(function, torch._ops.OpOverload):
            name = name.split(".")[0]
            if name in ATEN:
                return _applied(name, ATEN[name], args, kwargs or {})
        return _called(name.strip("_") if name.startswith("__") else name, args, kwargs or {})

    @property
    def shape(self) -> Any:
        """Return the shape of the value."""
        return torch.Size(self.value.shape)

    ndim = property(lambda self: len(self.shape))
    T = property(lambda self: self.permute(*reversed(range(self.ndim))))
    mT = property(lambda self: self.transpose(-1, -2))  # noqa: N815

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(torch.Tensor, name):
            raise AttributeError(f"a tensor has no attribute {name!r}")
        return lambda *args, **kwargs: _called(name, (self, *args), kwargs)

    def __getitem__(self, index: Any) -> Any:
        return _called("getitem", (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        raise InputError("entries that are set in place; write the new tensor with torch.cat or torch.where")

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return iter(_called("unbind", (self,), {}))

    def __bool__(self) -> bool:
        raise InputError(_DEPENDS)


def _operator(name: str, order: int) -> Callable[..., Any]:
    return lambda self, *other: _called(name, (self, *other)[::order], {})


for _name in (*_COMPARISONS, "neg"):
    setattr(Traced, f"__{_name}__", _operator(_name, 1))
for _name in ("add", "sub", "mul", "truediv", "pow", "matmul"):
    setattr(Traced, f"__{_name}__", _operator(_name, 1))
    setattr(Traced, f"__r{_name}__", _operator(_name, -1))
    setattr(Traced, f"__i{_name}__", _operator(f"{_name}_", 1))


def _called(name: str, args: Any, kwargs: Any) -> Any:
    """Return a function or a method by its name; those that end in _ change their first argument."""
    in_place = name.endswith("_") or bool(kwargs.pop("inplace", False))
    name = name.rstrip("_").lstrip("_")
    result = _applied(name, FUNCTIONS.get(name), args, kwargs)
    if in_place and isinstance(args[0], Traced):
        args[0].value = result.value
        return args[0]
    return result


def _applied(name: str, function: Callable[..., Any] | None, args: Any, kwargs: Any) -> Any:
    if function is None:
        raise InputError(f"the operation {name}: {_DEPENDS if name in (*_COMPARISONS, *_VALUES) else why_not(name)}")
    try:
        return _wrapped(function(*_plain(args), **_plain(kwargs)))
    except InputError as error:
        raise type(error)(f"the operation {name}: {error}") from None
    except _MISUSE as error:
        raise InputError(f"the operation {name} is used in a way that is not read ({error})") from None


def _plain(value: Any) -> Any:
    """Return a value of a tape: its tensors, and NumPy arrays."""
    if isinstance(value, Traced):
        return value.value
    if isinstance(value, torch.Tensor):
        return numbers(value)
    if isinstance(value, (tuple, list)):
        entries = [_plain(entry) for entry in value]
        return tuple(entries) if isinstance(value, tuple) else entries
    return {name: _plain(entry) for name, entry in value.items()} if isinstance(value, dict) else value


def _wrapped(value: Any) -> Any:
    if isinstance(value, (Tensor, MatrixProduct, np.ndarray)):
        return Traced(value)
    return tuple(_wrapped(entry) for entry in value) if isinstance(value, list) else value


def numbers(tensor: Foreign) -> Any:
    """Return a tensor as float64, exactly; whole numbers and truth values, which may be indices, as they are."""
    held = tensor.detach().cpu()
    if held.is_complex():
        raise InputError("a complex constant; expected real weights")
    return held.double().numpy() if held.is_floating_point() else held.numpy()


class _Unguarded(torch.fx.Interpreter):  # type: ignore[misc]
    """A program of torch.export without the module that only checks its inputs."""

    extra_traceback = False

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        return None if target == "_guards_fn" else super().call_module(target, args, kwargs)


def outputs_of(module: Foreign, inputs: Tensor) -> Any:
    """Return what a module computes on a tape; an error names the layer in which it happened."""
    where: list[str] = []

    def entered(name: str) -> Callable[..., None]:
        def hook(part: Foreign, given: Any) -> None:
            where.append(f"{type(part).__name__} {name!r}: " if name else "")
            if part.training and isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
                raise InputError("batch normalisation in training mode; call module.eval() first")

        return hook

    def left(part: Foreign, given: Any, result: Any) -> None:
        where.pop()

    hooks = []
    for name, part in module.named_modules():
        hooks += [part.register_forward_pre_hook(entered(name)), part.register_forward_hook(left)]
    run = _Unguarded(module).run if hasattr(module, "_guards_fn") else module
    try:
        with torch.no_grad():
            result = run(Traced(inputs))
    except InputError as error:
        raise type(error)(f"{where[-1] if where else ''}{error}") from None
    except Exception as error:  # whatever the module's own code raises when it meets a tensor without values
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"{type(module).__name__} cannot be read ({reason}); {_DEPENDS}") from None
    finally:
        for hook in hooks:
            hook.remove()
    if isinstance(result, (tuple, list)) and len(result) == 1:
        result = result[0]
    return _plain(result)
