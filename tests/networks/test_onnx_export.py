"""Networks written as ONNX: ONNX Runtime computes the same, and reading the file gives the same network back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.networks.attention import random_attention
from polymargin.networks.writers.to_onnx import to_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def outputs(path: Path, points: np.ndarray) -> np.ndarray:
    options = runtime.SessionOptions()
    # Releases up to 1.22 fuse products of doubles with transposes, and then have no kernel for what they made.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["logits"], {"input": points})[0])


@pytest.mark.parametrize("powers", ["Pow", "Mul"])
@pytest.mark.parametrize(
    "activations", [[[0, 0, 1], [0, 0, 0, 1]], [[0.1, 0.2, 0.3], [0, 1, 0, 2.5]], [[0, 0, -2.0], [1, 0, 0, 0, 1]]]
)
def test_round_trip(tmp_path: Path, powers: str, activations: list[list[float]]) -> None:
    source = random_network([4, 5, 3, 2], 2, seed=1)
    net = pm.PolynomialNetwork([(layer.weights, layer.bias) for layer in source.chain.layers], activations=activations)
    path = to_onnx(net, tmp_path / "net.onnx", powers=powers)
    points = np.random.default_rng(0).normal(size=(1000, 4))
    assert np.abs(outputs(path, points) - net(points)).max() <= 1e-13 * np.abs(net(points)).max()
    assert pm.load(path).fingerprint == net.fingerprint
    single = to_onnx(net, tmp_path / "single.onnx", powers=powers, precision="float32")
    found = outputs(single, points.astype(np.float32))
    assert found.dtype == np.float32
    assert np.abs(found - net(points)).max() <= 1e-5 * np.abs(net(points)).max()


def test_powers_are_spelled_as_asked(tmp_path: Path) -> None:
    net = random_network([2, 3, 2], 3, seed=0)
    kinds = {}
    for powers in ("Pow", "Mul"):
        model = onnx.load(str(to_onnx(net, tmp_path / f"{powers}.onnx", powers=powers)))
        kinds[powers] = [node.op_type for node in model.graph.node]
    assert kinds == {"Pow": ["Gemm", "Pow", "Gemm"], "Mul": ["Gemm", "Mul", "Mul", "Gemm"]}


def test_precision_is_single_only_where_nothing_is_lost(tmp_path: Path) -> None:
    exact = pm.PolynomialNetwork([[[0.5, 1.0]], [[1.0], [2.0]]], degree=2)
    rounded = pm.PolynomialNetwork([[[0.1, 1.0]], [[1.0], [2.0]]], degree=2)
    kinds = []
    for net in (exact, rounded):
        model = onnx.load(str(to_onnx(net, tmp_path / "net.onnx")))
        kinds.append(model.graph.input[0].type.tensor_type.elem_type)
        assert pm.load(tmp_path / "net.onnx").fingerprint == net.fingerprint
    assert kinds == [onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE]


def test_attention_round_trip(tmp_path: Path) -> None:
    net = random_attention(3, 2, 2, 1, classes=3, seed=1)
    path = to_onnx(net, tmp_path / "attention.onnx")
    points = np.random.default_rng(0).normal(size=(1000, 6))
    assert np.abs(outputs(path, points) - net(points)).max() <= 1e-13 * np.abs(net(points)).max()
    assert pm.load(path).fingerprint == net.fingerprint


def test_bad_options(tmp_path: Path) -> None:
    net = random_network([2, 3, 2], 2, seed=0)
    with pytest.raises(pm.InputError, match="powers 'power'"):
        to_onnx(net, tmp_path / "net.onnx", powers="power")
    with pytest.raises(pm.InputError, match="precision 'half'"):
        to_onnx(net, tmp_path / "net.onnx", precision="half")
