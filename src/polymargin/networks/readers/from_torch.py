"""PyTorch modules as networks: `from_torch`.

The module's own `forward` runs once on what stands for a tensor (`torch_values.py`) and leaves its logits on a tape. Weights keep
their exact values (float32 fits in float64); what is multiplied out (a convolution after a linear layer, batch normalisation, …)
is rounded to float64. Loops, conditions on shapes and operations in place are those of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.readers.foreign import Foreign, first_line, package

# Random inputs on which a module is compared with what was read, and how well both must agree; modules mostly are float32.
SAMPLES = 3
AGREEMENT = 1e-3


def from_torch(module: Foreign, input_shape: tuple[int, ...] | None = None) -> Network:
    """Return the network of a torch.nn.Module, or of a program of `torch.export`, made of affine and piecewise polynomial parts.

    Reads Linear, Conv, AvgPool, BatchNorm and Dropout in eval mode, Flatten, reshaping, slices, concatenation, padding,
    sums, whole powers and products of any expressions: activations (x**d, Horner schemes, modules with coefficients), gates,
    residual sums, products of matrices; ReLU and its relatives, clamps, maxima, MaxPool.

    `input_shape` is the shape of one input without the batch axis; it is found by itself where the first weights are those of a
    Linear layer, or of one on tokens whose number a later layer tells, and in programs. The network's inputs are the entries of
    that shape in row-major order. A module with one output f becomes the logits (0, f). A module that is lightning attention with
    a linear read-out has that as its `structure`.
    """
    torch = package("torch", "torch")
    from polymargin.networks.readers.torch_values import outputs_of
    from polymargin.networks.tape.fold import network_of
    from polymargin.networks.tape.operations import ShapeError

    if isinstance(module, torch.export.ExportedProgram):
        module = module.module()
    module = getattr(module, "_orig_mod", module)  # of torch.compile
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"from_torch takes a torch.nn.Module or an ExportedProgram, got {type(module).__name__}")
    if isinstance(module, torch.jit.ScriptModule):
        raise InputError("a scripted module cannot be read; give the original module, or export it to ONNX")
    given = _exported_shape(module) if input_shape is None else tuple(int(n) for n in input_shape)
    shape = _inferred_shape(torch, module) if given is None else given
    try:
        with np.errstate(all="ignore"):
            network: Network = network_of(lambda tape: outputs_of(module, tape.input((1, *shape))))
    except ShapeError as error:
        origin = "was read off its first layer" if input_shape is None else "was given"
        raise InputError(
            f"{error}; the shape of one input, {shape}, {origin}: if the module expects another, name it with input_shape="
        ) from None
    _compare(torch, module, network, shape)
    return network


def _compare(torch: Foreign, module: Foreign, network: Network, shape: tuple[int, ...]) -> None:
    """Refuse a module whose own outputs differ from what was read: operations in place on views, for one, are not seen."""
    kind = next((parameter.dtype for parameter in module.parameters()), torch.float32)
    inputs = torch.randn((SAMPLES, *shape), generator=torch.Generator().manual_seed(0), dtype=kind)
    outputs = _outputs(torch, module, inputs)
    with np.errstate(all="ignore"):
        read = network(inputs.reshape(SAMPLES, -1).to(torch.float64).numpy())
    if outputs.shape[1] == 1:
        read = read[:, 1:] - read[:, :1]
    if not np.allclose(read, outputs, rtol=AGREEMENT, atol=AGREEMENT * np.abs(outputs).max(initial=1.0)):
        raise InputError(
            f"{type(module).__name__} computes something else than what was read, perhaps by operations in place "
            "on parts of tensors (x.view(…).mul_(…)); write them as y = x * …"
        )


def _outputs(torch: Foreign, module: Foreign, inputs: Any) -> Any:
    """Return the module's own outputs (samples, logits): in one batch, in batches of one, or without a batch axis."""
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
                reason = reason or first_line(error)
    raise InputError(
        f"{type(module).__name__} cannot be evaluated at inputs of shape {tuple(inputs.shape[1:])} ({reason}); "
        "if one input has another shape, name it with input_shape="
    )


def _exported_shape(module: Foreign) -> tuple[int, ...] | None:
    """Return the shape of one input without the batch axis, as a program of torch.export says it."""
    for node in getattr(getattr(module, "graph", None), "nodes", ()):
        if node.op == "placeholder" and "val" in node.meta:
            shape = tuple(node.meta["val"].shape[1:])
            return tuple(map(int, shape)) if all(isinstance(length, int) for length in shape) else None
    return None


def _inferred_shape(torch: Foreign, module: Foreign) -> tuple[int, ...]:
    """Return (n,) if the module runs with n values for one of its matrices, (tokens, n) if it expects tokens."""
    weights = [tuple(part.shape) for part in module.parameters() if part.ndim >= 2]
    if weights and len(weights[0]) == 2:
        lengths = dict.fromkeys(shape[1] for shape in weights if len(shape) == 2)
        for length in lengths:
            if _runs(torch, module, (length,)):
                return (length,)
        # Two and three tokens are tried as well: where both fit, any number does.
        counts = {taken // width for taken in lengths for shape in weights for width in shape if taken % width == 0}
        for length in lengths:
            fitting = [count for count in sorted(counts | {2, 3} - {1}) if _runs(torch, module, (count, length))]
            if len(fitting) == 1:
                return (fitting[0], length)
            if fitting:
                break
        else:
            return (next(iter(lengths)),)  # reading it has a better sentence for what is wrong
    raise InputError(
        f"the shape of the input of {type(module).__name__} cannot be seen from its first layer; read it with "
        "pm.from_torch(model, input_shape=(channels, height, width)), input_shape=(features,) or "
        "input_shape=(tokens, numbers per token)"
    )


def _runs(torch: Foreign, module: Foreign, shape: tuple[int, ...]) -> bool:
    """Return whether the module makes one vector of logits of one input of that shape."""
    kind = next((parameter.dtype for parameter in module.parameters()), torch.float32)
    with _evaluating(module), torch.no_grad():
        try:
            result = module(torch.zeros((2, *shape), dtype=kind))
        except Exception:  # whatever the module's own code raises at shapes that do not fit
            return False
    return isinstance(result, torch.Tensor) and result.ndim == 2 and len(result) == 2


@contextmanager
def _evaluating(module: Foreign) -> Iterator[None]:
    """Put the module in eval mode within the block."""
    modes = [(part, part.training) for part in module.modules()]
    with suppress(NotImplementedError):  # exported programs have one mode
        module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
