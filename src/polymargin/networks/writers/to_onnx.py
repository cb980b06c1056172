"""Networks as ONNX files, for other tools and other verifiers.

A form is one Gemm, or a sum of such where it sees several sources. A power z^d is written as the operator Pow or as products
z·z·…: verifiers differ in which of the two they get right, so both spellings are offered. Other polynomials are sums of such
powers with Pow, Horner's scheme with Mul.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from polymargin.arguments import checked
from polymargin.errors import InputError
from polymargin.networks.forms import Forms, entries
from polymargin.networks.network import Network
from polymargin.networks.readers.foreign import package
from polymargin.networks.recurrences import POWERS
from polymargin.networks.stages import Piecewise, Product, Stage
from polymargin.networks.structures import Attention

OPSET = 13
INPUT, OUTPUT = "input", "logits"


@checked(Network)
def to_onnx(network: Network, path: Any, *, powers: str = "Pow", precision: str | None = None) -> Path:
    """Write a network as an ONNX file with the input (batch, n) and the output (batch, classes).

    precision is "float32" or "float64"; left out, it is float32 if every number of the network fits exactly, else float64,
    so that nothing is rounded.
    """
    if powers not in ("Pow", "Mul"):
        raise InputError(f"powers {powers!r}; expected 'Pow' or 'Mul'")
    if precision not in (None, "float32", "float64"):
        raise InputError(f"precision {precision!r}; expected 'float32' or 'float64'")
    onnx = package("onnx", "onnx")
    writer = _Writer(onnx, precision or ("float32" if _fits_float32(network) else "float64"), powers)
    model = writer.model(network)
    file = Path(path)
    file.write_bytes(model.SerializeToString())
    return file


def _fits_float32(network: Network) -> bool:
    every = [forms for stage in network.stages for forms in stage.forms] + [network.readout]
    arrays = [part for forms in every for part in (forms.bias, *(entries(block) for _, block in forms.blocks))]
    arrays += [np.array(stage.coefficients) for stage in network.stages if not isinstance(stage, (Product, Piecewise))]
    with np.errstate(over="ignore"):
        return all(np.array_equal(array.astype(np.float32).astype(np.float64), array) for array in arrays)


class _Writer:
    def __init__(self, onnx: Any, precision: str, powers: str) -> None:
        self.onnx, self.powers = onnx, powers
        self.dtype = np.dtype(precision)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._scalars: dict[float, str] = {}

    def model(self, network: Network) -> Any:
        helper = self.onnx.helper
        if isinstance(network.structure, Attention):
            self._attention(network.structure)
        else:
            self._stages(network)
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        graph = helper.make_graph(
            self.nodes,
            "polymargin",
            [helper.make_tensor_value_info(INPUT, kind, ["batch", network.dimension])],
            [helper.make_tensor_value_info(OUTPUT, kind, ["batch", network.class_count])],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, producer_name="polymargin", opset_imports=opsets, ir_version=8)
        self.onnx.checker.check_model(model)
        return model

    def _stages(self, network: Network) -> None:
        values = [INPUT]
        for number, stage in enumerate(network.stages, start=1):
            sides = [self._form(f, values, f"form_{number}_{side}") for side, f in enumerate(stage.forms, start=1)]
            values.append(self._stage(stage, sides, f"stage_{number}"))
        self._form(network.readout, values, OUTPUT)

    def _form(self, forms: Forms, values: list[str], name: str) -> str:
        """Return bias + Σ block @ values."""
        blocks = forms.blocks or ((0, np.zeros((len(forms), forms.widths[0]))),)
        total = self._constant(f"{name}_bias", forms.bias)
        for place, (source, _) in enumerate(blocks, start=1):
            weights = self._constant(f"{name}_weights_{source}", forms.block(source))
            last = place == len(blocks)
            total = self._node("Gemm", [values[source], weights, total], name if last else f"{name}_{place}", transB=1)
        return total

    def _stage(self, stage: Stage, sides: list[str], name: str) -> str:
        if isinstance(stage, Product):
            return self._node("Mul", sides, name)
        if isinstance(stage, Piecewise):
            if not stage.is_relu:
                raise InputError("a spline has no ONNX operator; networks with ReLU and polynomials can be written")
            return self._node("Relu", sides, name)
        if stage.recurrence is not POWERS:
            raise InputError(f"a series in the basis {stage.basis} has no ONNX operator; only powers can be written")
        return self._activation(sides[0], stage.coefficients, name)

    def _attention(self, network: Attention) -> None:
        """Write attention with tokens as rows: queries (t × a) by keys (a × t) by values (t × d')."""
        tokens = self._reshaped(INPUT, [-1, network.t, network.d], "tokens")
        maps = (("values", network.V.T), ("keys", network.K), ("queries", network.Q))
        values, keys, queries = (
            self._node("MatMul", [tokens, self._constant(f"{name}_weights", matrix)], name) for name, matrix in maps
        )
        keys = self._node("Transpose", [keys], "keys_turned", perm=[0, 2, 1])
        scores = self._node("MatMul", [queries, keys], "scores")
        attended = self._node("MatMul", [scores, values], "attended")
        flat = self._reshaped(attended, [-1, network.t * network.d_prime], "attended_flat")
        names = [self._constant("readout", network.readout), self._constant("bias", network.bias)]
        self._node("Gemm", [flat, *names], OUTPUT, transB=1)

    def _reshaped(self, value: str, shape: list[int], name: str) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(shape, dtype=np.int64), f"{name}_shape"))
        return self._node("Reshape", [value, f"{name}_shape"], name)

    def _activation(self, z: str, coefficients: tuple[float, ...], name: str) -> str:
        terms = {power: value for power, value in enumerate(coefficients) if value != 0.0}
        if len(terms) == 1 and (degree := next(iter(terms))):
            return self._scaled(self._power(z, degree, name), terms[degree], name)
        if self.powers == "Mul":
            return self._horner(z, coefficients, name)
        total = self._scaled(z, 0.0, f"{name}_zero") if not terms.keys() - {0} else None
        for degree in sorted(terms.keys() - {0}):
            term = self._scaled(self._power(z, degree, f"{name}_{degree}"), terms[degree], f"{name}_{degree}")
            total = term if total is None else self._node("Add", [total, term], f"{name}_up_to_{degree}")
        assert total is not None
        return total if 0 not in terms else self._node("Add", [total, self._scalar(terms[0])], f"{name}_sum")

    def _horner(self, z: str, coefficients: tuple[float, ...], name: str) -> str:
        value = self._scaled(z, coefficients[-1] if len(coefficients) > 1 else 0.0, f"{name}_start")
        for step, coefficient in enumerate(coefficients[-2::-1]):
            if step:
                value = self._node("Mul", [value, z], f"{name}_times_{step}")
            if coefficient != 0.0:
                value = self._node("Add", [value, self._scalar(coefficient)], f"{name}_plus_{step}")
        if len(coefficients) == 1:
            value = self._node("Add", [value, self._scalar(coefficients[0])], f"{name}_plus")
        return value

    def _power(self, z: str, degree: int, name: str) -> str:
        if degree == 1:
            return z
        if self.powers == "Pow":
            return self._node("Pow", [z, self._scalar(float(degree))], f"{name}_power")
        value = z
        for factor in range(2, degree + 1):
            value = self._node("Mul", [value, z], f"{name}_power_{factor}")
        return value

    def _scaled(self, value: str, factor: float, name: str) -> str:
        return value if factor == 1.0 else self._node("Mul", [value, self._scalar(factor)], f"{name}_scaled")

    def _node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [output], name=f"{output}_node", **attributes))
        return output

    def _scalar(self, value: float) -> str:
        if value not in self._scalars:
            self._scalars[value] = self._constant(f"number_{len(self._scalars) + 1}", np.array(value))
        return self._scalars[value]

    def _constant(self, name: str, array: Any) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array, dtype=self.dtype), name))
        return name
