"""ReLU networks from PyTorch modules and ONNX files.

Both are read as a chain of affine maps and ReLUs; everything else is refused by name. float32 weights become float64 without
rounding, so the margin speaks of the real function with exactly the stored weights, which float32 inference approximates.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError, MissingExtraError
from polymargin.networks.readers.onnx_files import numbers, read_message
from polymargin.piecewise.relu.network import ReLUNetwork

Array = NDArray[np.float64]
# An affine map (W, b), or None for a ReLU.
Step = tuple[Array, Array] | None

WITHOUT_EFFECT = ("Identity", "Flatten", "Dropout")


def relu_from_torch(module: Any) -> ReLUNetwork:
    """A network from torch.nn.Sequential of Linear and ReLU (nested or not; Identity, Flatten, Dropout are passed over)."""
    try:
        from torch import nn
    except ImportError:
        raise MissingExtraError(
            "PyTorch modules need torch; install it with: pip install 'polymargin[torch]'"
        ) from None

    def steps(part: Any) -> list[Step]:
        if isinstance(part, nn.Sequential):
            return [step for inner in part for step in steps(inner)]
        if isinstance(part, nn.Linear):
            weights = part.weight.detach().cpu().numpy().astype(np.float64)
            bias = np.zeros(len(weights)) if part.bias is None else part.bias.detach().cpu().numpy()
            return [(weights, bias.astype(np.float64))]
        if isinstance(part, nn.ReLU):
            return [None]
        if type(part).__name__ in WITHOUT_EFFECT:
            return []
        raise InputError(
            f"module {type(part).__name__}: expected torch.nn.Sequential of Linear and ReLU; rewrite the network as one"
        )

    return _network(steps(module), "the module")


def relu_from_onnx(path: Any) -> ReLUNetwork:
    """A network from an ONNX file with Gemm, MatMul, Add and Relu in a chain (Identity, Flatten, Dropout are passed over)."""
    graph = read_message(path).graph
    constants = {entry.name: _numbers(entry, path) for entry in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = _numbers(node.attribute[0].t, path)
    inputs = [entry.name for entry in graph.input if entry.name not in constants]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise InputError(f"{path}: {len(inputs)} inputs and {len(graph.output)} outputs; expected one of each")
    steps: list[Step] = []
    current = inputs[0]
    for node in graph.node:
        if node.op_type == "Constant":
            continue
        if current not in node.input:
            raise InputError(
                f"{path}: {node.op_type} does not continue the chain of layers; only a plain chain is read"
            )
        _append(steps, node, current, constants, path)
        current = node.output[0]
    if current != graph.output[0].name:
        raise InputError(f"{path}: the chain of layers does not end at the output")
    return _network(steps, str(path))


def has_relu(path: Any) -> bool:
    """Whether an ONNX file has a Relu node: such a network is piecewise linear, not polynomial."""
    return any(node.op_type == "Relu" for node in read_message(path).graph.node)


def _numbers(tensor: Any, path: Any) -> Any:
    try:
        return numbers(tensor, f"the constant {tensor.name!r}", Path(path).parent)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _append(steps: list[Step], node: Any, current: str, constants: dict[str, Any], path: Any) -> None:
    """Add what the ONNX node does to the steps."""
    others = [name for name in node.input if name and name != current]
    unknown = [name for name in others if name not in constants]
    if unknown:
        raise InputError(
            f"{path}: {node.op_type} uses {unknown[0]!r}, which is not a constant; only a plain chain is read"
        )
    values = [np.asarray(constants[name], dtype=np.float64) for name in others]
    options = {entry.name: entry.f if entry.type == 1 else entry.i for entry in node.attribute}
    if node.op_type == "Gemm" and node.input[0] == current and not options.get("transA", 0):
        weights = values[0] if options.get("transB", 0) else np.ascontiguousarray(values[0].T)
        bias = np.broadcast_to(values[1].ravel(), len(weights)) if len(values) > 1 else np.zeros(len(weights))
        steps.append((options.get("alpha", 1.0) * weights, options.get("beta", 1.0) * bias))
    elif node.op_type == "MatMul" and node.input[0] == current:
        steps.append((np.ascontiguousarray(values[0].T), np.zeros(values[0].shape[1])))
    elif node.op_type == "Add" and steps and steps[-1] is not None and not steps[-1][1].any():
        weights = steps[-1][0]
        steps[-1] = (weights, np.broadcast_to(values[0].ravel(), len(weights)))
    elif node.op_type == "Relu":
        steps.append(None)
    elif node.op_type not in WITHOUT_EFFECT:
        raise InputError(f"{path}: cannot read {node.op_type} here; expected Gemm, MatMul, Add and Relu in a chain")


def _network(steps: Sequence[Step], name: str) -> ReLUNetwork:
    """Affine maps with one ReLU between any two."""
    layers = [step for step in steps if step is not None]
    wanted: list[bool] = [index % 2 == 0 for index in range(2 * len(layers) - 1)]
    if not layers or [step is not None for step in steps] != wanted:
        shown = " ".join("ReLU" if step is None else "affine" for step in steps) or "nothing"
        raise InputError(f"{name} reads as: {shown}; expected affine maps with one ReLU between any two")
    return ReLUNetwork(layers)
