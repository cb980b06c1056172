"""Random ONNX graphs of affine, polynomial and piecewise operators: what is read computes what ONNX Runtime computes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin as pm

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
make, array = onnx.helper.make_node, onnx.numpy_helper.from_array

WIDTH = 4
UNARY = ("Relu", "LeakyRelu", "Abs", "Neg", "Square", "Clip")
BINARY = ("Add", "Sub", "Mul", "Max", "Min")


class _Graph:
    """Nodes over values of shape (1, WIDTH), each with the degree that its logits may have."""

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.values = [("x", 1)]

    def constant(self, values: Any) -> str:
        self.constants.append(array(np.asarray(values, dtype=np.float64), f"c{len(self.constants)}"))
        return str(self.constants[-1].name)

    def node(self, kind: str, inputs: list[str], degree: int, **attributes: Any) -> None:
        self.values.append((f"v{len(self.values)}", degree))
        self.nodes.append(make(kind, inputs, [self.values[-1][0]], **attributes))

    def grow(self) -> None:
        chosen = [self.values[k] for k in self.draw.integers(0, len(self.values), 2)]
        (name, degree), (other, degree_of_other) = chosen
        kind = str(self.draw.choice(["Gemm", "Gemm", *UNARY, *BINARY]))
        if kind == "Gemm":
            weights = self.draw.integers(-4, 5, (WIDTH, WIDTH)) / 4
            self.node(
                "Gemm", [name, self.constant(weights), self.constant(self.draw.integers(-4, 5, WIDTH) / 4)], degree
            )
        elif kind == "Square":
            if degree <= 3:
                self.node("Pow", [name, self.constant(2.0)], 2 * degree)
        elif kind == "Clip":
            self.node("Clip", [name, self.constant(-1.0), self.constant(0.5)], degree)
        elif kind in UNARY:
            self.node(kind, [name], degree, **({"alpha": 0.25} if kind == "LeakyRelu" else {}))
        elif kind != "Mul":
            self.node(kind, [name, other], max(degree, degree_of_other))
        elif degree + degree_of_other <= 6:
            self.node("Mul", [name, other], degree + degree_of_other)

    def written(self, path: Path) -> Path:
        last = self.values[-1][0]
        weights = self.constant(self.draw.integers(-4, 5, (WIDTH, 3)) / 4)
        nodes = [*self.nodes, make("MatMul", [last, weights], ["y"])]
        ends = [onnx.helper.make_tensor_value_info(name, 11, [1, n]) for name, n in (("x", WIDTH), ("y", 3))]
        graph = onnx.helper.make_graph(nodes, "random", ends[:1], ends[1:], self.constants)
        opsets = [onnx.helper.make_opsetid("", 17)]
        path.write_bytes(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
        return path


@pytest.mark.parametrize("seed", range(60))
def test_a_random_graph_is_what_onnx_runtime_computes(seed: int, tmp_path: Path) -> None:
    graph = _Graph(seed)
    while len(graph.nodes) < 9:
        graph.grow()
    path = graph.written(tmp_path / "model.onnx")
    network = pm.load(path)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for point in np.random.default_rng(seed).integers(-12, 13, (20, WIDTH)) / 8:
        expected = session.run(None, {"x": point[None]})[0][0]
        exact = network.exact_logits(point)
        size = 1 + np.abs(expected).max()
        assert np.abs(np.array([float(value) for value in exact]) - expected).max() <= 1e-12 * size
        assert np.all(
            np.abs(network(point) - [float(value) for value in exact]) <= network.rounding_errors(point) + 1e-300
        )
        assert exact == list(network.logits(np.array([Fraction(v) for v in point.tolist()], dtype=object)))
