"""ONNX files as networks.

The file is read with `onnx` and nothing in it is run: the nodes are evaluated on tensors of `operations`. Files may come
from strangers, so sizes are bounded, data outside the file must lie beside it, and every defect is one sentence that names
the operator and the node.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.readers.foreign import Foreign, first_line, package, why_not
from polymargin.networks.readers.onnx_files import numbers, read_message
from polymargin.networks.readers.onnx_operators import OPERATORS, evaluated
from polymargin.networks.tape.fold import network_of
from polymargin.networks.tape.operations import OperationTape

OLDEST_OPSET = 7
_NAMES = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16", 6: "int32", 7: "int64"}


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A network with the names, shapes and element types of its input and output in the file."""

    network: Network
    input_name: str
    input_shape: tuple[int, ...]
    input_type: str
    output_name: str
    output_shape: tuple[int, ...]
    output_type: str


def read_onnx(path: Any) -> OnnxModel:
    """Read an ONNX file with one input and one vector of logits."""
    onnx = package("onnx", "onnx")
    file = Path(path)
    model = read_message(file)
    try:
        with np.errstate(all="ignore"):
            return _read(onnx, model, file.parent)
    except InputError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None  # names in the file may hold anything
    except (MemoryError, RecursionError):
        raise InputError(f"{path}: too large for this reader") from None


def _read(onnx: Foreign, model: Foreign, folder: Path) -> OnnxModel:
    readers: list[_GraphReader] = []

    def compute(tape: OperationTape) -> Any:
        readers.append(_GraphReader(onnx, model, folder, tape))
        return readers[-1].run()

    network = network_of(compute)
    return readers[-1].described(network)


class _GraphReader:
    def __init__(self, onnx: Foreign, model: Foreign, folder: Path, tape: OperationTape) -> None:
        self.onnx, self.graph, self.folder = onnx, model.graph, folder
        self.tape = tape
        self.values: dict[str, Any] = {"": None}
        versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
        if len(versions) != 1 or not OLDEST_OPSET <= versions[0] <= onnx.defs.onnx_opset_version():
            newest = onnx.defs.onnx_opset_version()
            raise InputError(f"opset version {versions or 'missing'}; expected one from {OLDEST_OPSET} to {newest}")
        if model.functions:
            raise InputError("the file defines functions of its own; export it with its functions inlined")
        if model.graph.sparse_initializer:
            raise InputError("sparse initializers are not read; export the weights as dense tensors")
        self.opset = versions[0]

    def run(self) -> Any:
        """Return the output, computed on the tape."""
        graph = self.graph
        for tensor in graph.initializer:
            self._define(tensor.name, self._constant(tensor, f"the initializer {tensor.name!r}"))
        inputs = [value for value in graph.input if value.name not in self.values]
        if len(inputs) != 1 or len(graph.output) != 1:
            raise InputError(f"{len(inputs)} inputs and {len(graph.output)} outputs; expected one of each")
        self.input, self.input_shape = inputs[0], self._input_shape(inputs[0])
        self._define(self.input.name, self.tape.input(self.input_shape))
        for node in graph.node:
            self._evaluate(node)
        name = graph.output[0].name
        if name not in self.values or not name:
            raise InputError(f"the output {name!r} is computed by no node")
        return self.values[name]

    def described(self, network: Network) -> OnnxModel:
        output = self.graph.output[0]
        return OnnxModel(
            network=network,
            input_name=self.input.name,
            input_shape=self.input_shape,
            input_type=self._type(self.input),
            output_name=output.name,
            output_shape=self.values[output.name].shape,
            output_type=self._type(output),
        )

    def _define(self, name: str, value: Any) -> None:
        if name in self.values:
            raise InputError(f"the name {name!r} is given twice")
        self.values[name] = value

    def _evaluate(self, node: Foreign) -> None:
        # Strings that are not valid UTF-8 come as bytes.
        called = f"operator {node.op_type} (node {node.name or ', '.join(map(str, node.output))!r})"
        if node.domain not in ("", "ai.onnx"):
            raise InputError(f"{called} of domain {node.domain!r} is not read")
        if node.op_type != "Constant" and node.op_type not in OPERATORS:
            raise InputError(f"{called} is {why_not(node.op_type)}")
        missing = [name for name in node.input if name not in self.values]
        if missing:
            raise InputError(f"{called} takes {missing[0]!r}, which nothing before it computes")
        try:
            attributes = {entry.name: self._attribute(entry) for entry in node.attribute}
            if node.op_type == "Constant":
                result = _constant_node(attributes)
            else:
                if node.op_type != "BatchNormalization" or self.opset < 14:
                    attributes["outputs"] = len(node.output)
                inputs = [self.values[name] for name in node.input]
                self.tape.spend(sum(value.size for value in inputs if isinstance(value, np.ndarray)))
                result = evaluated(node.op_type, inputs, attributes)
        except InputError as error:
            raise InputError(f"{called}: {error}") from None
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError) as error:
            raise InputError(f"{called} is used in a way that is not read ({first_line(error)})") from None
        results = result if isinstance(result, list) else [result]
        for name, value in zip(node.output, results, strict=False):
            if name:
                self._define(name, value)

    def _attribute(self, entry: Foreign) -> Any:
        kinds = self.onnx.AttributeProto
        if entry.type == kinds.TENSOR:
            return self._constant(entry.t, f"the attribute {entry.name!r}")
        plain = {kinds.FLOAT: "f", kinds.INT: "i", kinds.STRING: "s", kinds.FLOATS: "floats", kinds.INTS: "ints"}
        if entry.type not in plain:
            raise InputError(f"the attribute {entry.name!r} is of a kind that is not read")
        value = getattr(entry, plain[entry.type])
        return list(value) if entry.type in (kinds.FLOATS, kinds.INTS) else value

    def _constant(self, tensor: Foreign, name: str) -> Any:
        """Return the numbers of a TensorProto, from the file or from a file beside it."""
        array = numbers(tensor, name, self.folder)
        if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
            raise InputError(f"{name} has the type {array.dtype}; expected numbers")
        self.tape.spend(array.size)
        return array if array.dtype.kind in "iub" else array.astype(np.float64)

    def _input_shape(self, value: Any) -> tuple[int, ...]:
        """Return the shape of one input: a symbolic first length is the batch and becomes 1."""
        if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
            raise InputError(f"the input {value.name!r} has no shape; export the model with the shape of its input")
        lengths = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in value.type.tensor_type.shape.dim]
        shape = tuple(1 if length == 0 and place == 0 else length for place, length in enumerate(lengths))
        if any(length < 1 for length in shape):
            raise InputError(f"the input {value.name!r} has shape {shape}; only the first length may be open")
        return shape

    def _type(self, value: Any) -> str:
        return _NAMES.get(value.type.tensor_type.elem_type, "another type")


def _constant_node(attributes: dict[str, Any]) -> Any:
    for name in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        if name in attributes:
            return np.asarray(attributes[name])
    raise InputError("a constant without a value")
