"""PyTorch modules as networks: `from_torch`.

The module is traced with torch.fx and the graph is run on tensors of `operations` instead of torch's. Weights keep their
exact values (float32 fits in float64); what is multiplied out (a convolution after a linear layer, batch normalisation, …) is
rounded to float64. Parameters are constants for the trace, so a module may loop over its own coefficients.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.readers.foreign import package, why_not

if TYPE_CHECKING:
    from polymargin.networks.tape.operations import OperationTape

# Random inputs on which a module is compared with what was read, and how well both must agree; modules mostly are float32.
SAMPLES = 3
AGREEMENT = 1e-3


def from_torch(module: Any, input_shape: tuple[int, ...] | None = None) -> Network:
    """Return the network of a torch.nn.Module, or of a program of `torch.export`, made of affine and piecewise polynomial parts.

    Reads Linear, Conv, AvgPool, BatchNorm and Dropout in eval mode, Flatten, reshaping, slices, concatenation, padding,
    sums, whole powers and products of any expressions: activations (x**d, Horner schemes, modules with coefficients), gates,
    residual sums, products of matrices; ReLU and its relatives, clamps, maxima, MaxPool.

    `input_shape` is the shape of one input without the batch axis; it is found by itself where the first layer is Linear, or
    Linear on tokens whose number a later layer tells, and in programs. The network's inputs are the entries of that shape in
    row-major order. A module with one output f becomes the logits (0, f). A module that is lightning attention with a linear
    read-out has that as its `structure`.
    """
    torch = package("torch", "torch")
    from polymargin.networks.readers.torch_attention import attention_from_torch
    from polymargin.networks.readers.torch_exported import exported_shape
    from polymargin.networks.tape.fold import network_of
    from polymargin.networks.tape.operations import ShapeError

    if isinstance(module, torch.export.ExportedProgram):
        module = module.module()
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"from_torch takes a torch.nn.Module or an ExportedProgram, got {type(module).__name__}")
    if isinstance(module, torch.jit.ScriptModule):
        raise InputError("a scripted module cannot be traced again; give the original module, or export it to ONNX")
    attention = None if isinstance(module, torch.fx.GraphModule) else attention_from_torch(module)
    if attention is not None:
        return attention
    graph = module.graph if isinstance(module, torch.fx.GraphModule) else _trace(torch, module)
    given = exported_shape(graph) if input_shape is None else tuple(int(n) for n in input_shape)
    shape = _inferred_shape(torch, module, graph) if given is None else given
    try:
        with np.errstate(all="ignore"):
            network: Network = network_of(lambda tape: _run(torch, module, graph, shape, tape))
    except ShapeError as error:
        origin = "was read off its first layer" if input_shape is None else "was given"
        raise InputError(
            f"{error}; the shape of one input, {shape}, {origin}: if the module expects another, name it with input_shape="
        ) from None
    _compare(torch, module, network, shape)
    return network


def _compare(torch: Any, module: Any, network: Network, shape: tuple[int, ...]) -> None:
    """Refuse a module whose own outputs differ from what was read: operations in place, for one, can escape a trace."""
    kind = next((parameter.dtype for parameter in module.parameters()), torch.float32)
    inputs = torch.randn((SAMPLES, *shape), generator=torch.Generator().manual_seed(0), dtype=kind)
    outputs = _outputs(torch, module, inputs)
    with np.errstate(all="ignore"):
        read = network(inputs.reshape(SAMPLES, -1).to(torch.float64).numpy())
    if outputs.shape[1] == 1:
        read = read[:, 1:] - read[:, :1]
    if not np.allclose(read, outputs, rtol=AGREEMENT, atol=AGREEMENT * np.abs(outputs).max(initial=1.0)):
        raise InputError(
            f"{type(module).__name__} computes something else than its trace shows, perhaps by operations in place "
            "(x.mul_, x += …); write them as y = x * …"
        )


def _outputs(torch: Any, module: Any, inputs: Any) -> Any:
    """The module's own outputs (samples, logits): in one batch, in batches of one as it was traced, or without a batch axis."""
    ways: tuple[Callable[[], Any], ...] = (
        lambda: module(inputs.clone()),
        lambda: torch.stack([module(row[None].clone()) for row in inputs]),
        lambda: torch.stack([module(row.clone()) for row in inputs]),
    )
    reason = ""
    with _evaluating(module), torch.no_grad():
        for way in ways:
            try:
                return way().reshape(len(inputs), -1).to(torch.float64).numpy()
            except Exception as error:  # whatever the module's own code raises at shapes it was not made for
                reason = reason or _first_line(error)
    raise InputError(
        f"{type(module).__name__} cannot be evaluated at inputs of shape {tuple(inputs.shape[1:])} ({reason}); "
        "if one input has another shape, name it with input_shape="
    )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _trace(torch: Any, module: Any) -> Any:
    from polymargin.networks.readers.torch_layers import Chebyshev, Series

    class Proxy(torch.fx.Proxy):  # type: ignore[misc]
        # NumPy leaves `np.float64(0.5) * x` to this class instead of asking for an array.
        __array_ufunc__ = None

    class Tracer(torch.fx.Tracer):  # type: ignore[misc]
        def proxy(self, node: Any) -> Any:
            return Proxy(node, self)

        def create_arg(self, a: Any) -> Any:
            if isinstance(a, (np.generic, np.ndarray)):
                a = a.tolist()  # a number or nested lists of numbers, with the same values
            return super().create_arg(a)

        def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
            return attr_val

        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return type(m) in (Chebyshev, Series) or bool(super().is_leaf_module(m, module_qualified_name))

    try:
        return Tracer().trace(module)
    except Exception as error:  # whatever the module's own code raises when it meets a symbolic tensor
        raise InputError(
            f"{type(module).__name__} cannot be traced by torch.fx ({_first_line(error)}); its forward must not depend on the "
            "values of tensors"
        ) from None


def _run(torch: Any, module: Any, graph: Any, shape: tuple[int, ...], tape: OperationTape) -> Any:
    values: dict[str, Any] = {}

    def argument(node: Any) -> Any:
        return values[node.name]

    outputs: Any = None
    for node in graph.nodes:
        if node.op == "placeholder":
            if tape.levels:
                if not node.args:
                    raise InputError(f"the module has a second input {node.target!r}; expected one")
                values[node.name] = node.args[0]
                continue
            values[node.name] = tape.input((1, *shape))
            continue
        arguments = torch.fx.node.map_arg(node.args, argument)
        options = torch.fx.node.map_arg(node.kwargs, argument)
        try:
            values[node.name] = outputs = _step(torch, module, node, arguments, options)
        except InputError as error:
            # The same kind of error: one about shapes has a remedy of its own.
            raise type(error)(f"{_described(torch, module, node)} (node {node.name!r}): {error}") from None
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, ZeroDivisionError) as error:
            raise InputError(
                f"{_described(torch, module, node)} (node {node.name!r}) is used in a way that is not read ({error})"
            ) from None
    return outputs


def _step(torch: Any, module: Any, node: Any, arguments: Any, options: Any) -> Any:
    from polymargin.networks.readers.torch_exported import GUARDS, aten_function
    from polymargin.networks.readers.torch_functions import FUNCTIONS
    from polymargin.networks.readers.torch_layers import Chebyshev, Series
    from polymargin.networks.readers.torch_modules import MODULES, numbers, series_module

    if node.op == "output":
        outputs = arguments[0]
        return outputs[0] if isinstance(outputs, (tuple, list)) and len(outputs) == 1 else outputs
    if node.op == "get_attr":
        value = _attribute(module, node.target)
        return numbers(value) if isinstance(value, torch.Tensor) else value
    if node.op == "call_module":
        if node.target == GUARDS:
            return None
        inner = module.get_submodule(node.target)
        name = type(inner).__name__
        if type(inner) in (Chebyshev, Series):
            return series_module(inner, *arguments)
        if name not in MODULES or getattr(torch.nn, name, None) is not type(inner):
            raise InputError(why_not(name))
        return MODULES[name](inner, *arguments, **options)
    aten = aten_function(torch, node.target)
    if aten is not None:
        return aten(*arguments, **options)
    if node.op == "call_method":
        name = str(node.target)
    else:
        name = str(getattr(node.target, "__name__", node.target))
        homes = (operator, torch, torch.nn.functional, torch.Tensor, builtins)
        if not any(getattr(home, name, None) is node.target for home in homes):
            raise InputError("not a function of PyTorch that is read")
    if name not in FUNCTIONS:
        raise InputError(why_not(name))
    return FUNCTIONS[name](*arguments, **options)


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _described(torch: Any, module: Any, node: Any) -> str:
    if node.op == "call_module":
        return f"{type(module.get_submodule(node.target)).__name__} {node.target!r}"
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
    return f"the operation {name}"


def _inferred_shape(torch: Any, module: Any, graph: Any) -> tuple[int, ...]:
    """(n,) where the first layer that cares about shapes takes n values; (tokens, n) where the module wants tokens of them."""
    length = _first_length(torch, module, graph)
    if length is not None:
        linear = [part for part in module.modules() if isinstance(part, torch.nn.Linear)]
        told = {int(part.in_features) // length for part in linear if part.in_features % length == 0} - {1}
        # Two and three tokens are tried as well: where both fit, any number does.
        counts = [] if _runs(torch, module, (length,)) else sorted(told | {2, 3})
        fitting = [count for count in counts if _runs(torch, module, (count, length))]
        if len(fitting) < 2:  # with none the trace has a better sentence for what is wrong
            return (*fitting, length)
    raise InputError(
        f"the shape of the input of {type(module).__name__} cannot be seen from its first layer; read it with "
        "pm.from_torch(model, input_shape=(channels, height, width)), input_shape=(features,) or "
        "input_shape=(tokens, numbers per token)"
    )


def _runs(torch: Any, module: Any, shape: tuple[int, ...]) -> bool:
    """Whether the module makes one vector of logits of one input of that shape."""
    kind = next((parameter.dtype for parameter in module.parameters()), torch.float32)
    with _evaluating(module), torch.no_grad():
        try:
            result = module(torch.zeros((2, *shape), dtype=kind))
        except (
            RuntimeError,
            ValueError,
            IndexError,
            TypeError,
        ):  # what PyTorch and Python say to shapes that do not fit
            return False
    return isinstance(result, torch.Tensor) and result.ndim == 2 and len(result) == 2


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """In eval mode, and afterwards as before."""
    modes = [(part, part.training) for part in module.modules()]
    with suppress(NotImplementedError):  # exported programs have one mode
        module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _first_length(torch: Any, module: Any, graph: Any) -> int | None:
    for node in graph.nodes:
        if node.op == "call_module":
            inner = module.get_submodule(node.target)
            if isinstance(inner, torch.nn.Linear):
                return int(inner.in_features)
            if not isinstance(inner, (torch.nn.Flatten, torch.nn.Identity, torch.nn.Dropout)):
                break
        elif node.op == "call_function" and getattr(node.target, "__name__", "") == "linear":
            weight = node.args[1] if len(node.args) > 1 else node.kwargs.get("weight")
            if getattr(weight, "op", "") == "get_attr":
                return int(_attribute(module, weight.target).shape[1])
            break
    return None
