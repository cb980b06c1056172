"""ReLU networks from PyTorch and ONNX: the weights arrive exactly, and other layers are refused by name."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from piecewise.networks import random_relu

import polymargin as pm
from polymargin.errors import MissingExtraError
from polymargin.networks import Network, ReLUNetwork, from_torch, load


def test_from_torch() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    nn = torch.nn
    module = nn.Sequential(
        nn.Flatten(),
        nn.Sequential(nn.Linear(3, 5), nn.ReLU()),
        nn.Dropout(),
        nn.Linear(5, 4, bias=False),
        nn.ReLU(),
        nn.Linear(4, 2),
    ).eval()
    network = from_torch(module)
    assert network.widths == (3, 5, 4, 2)
    points = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    with torch.no_grad():
        theirs = module.double()(torch.from_numpy(points).double()).numpy()
    assert np.allclose(network(points), theirs, atol=1e-12)
    assert network.chain.layers[0].weights[0, 0] == float(module[1][0].weight.detach()[0, 0])


def test_other_torch_modules() -> None:
    nn = pytest.importorskip("torch").nn
    with pytest.raises(pm.InputError, match="Tanh '1'"):
        from_torch(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)))
    assert repr(from_torch(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))) == "Network(2-2-2, ReLU)"
    assert repr(from_torch(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)))) == "Network(2-2, logits of degree 1)"


def write_onnx(path: Path, network: Network, style: str) -> None:
    """The same network as Gemm nodes (as PyTorch writes them) or as MatMul and Add (as others do)."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    nodes, constants, current = [], [], "input"
    for number, layer in enumerate(network.chain.layers):
        names = [f"{kind}{number}" for kind in ("w", "b", "m", "z", "r")]
        weights = layer.weights if style == "gemm" else layer.weights.T
        constants += [
            onnx.numpy_helper.from_array(np.ascontiguousarray(weights), names[0]),
            onnx.numpy_helper.from_array(np.ascontiguousarray(layer.bias), names[1]),
        ]
        last = number == len(network.chain.layers) - 1
        out = "output" if last else names[3]
        if style == "gemm":
            nodes.append(helper.make_node("Gemm", [current, names[0], names[1]], [out], transB=1))
        else:
            nodes.append(helper.make_node("MatMul", [current, names[0]], [names[2]]))
            nodes.append(helper.make_node("Add", [names[1], names[2]], [out]))
        if not last:
            nodes.append(helper.make_node("Relu", [out], [names[4]]))
        current = names[4]
    kind = onnx.TensorProto.DOUBLE
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("input", kind, [None, network.dimension])],
        [helper.make_tensor_value_info("output", kind, [None, network.class_count])],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.mark.parametrize("style", ["gemm", "matmul"])
def test_from_onnx(tmp_path: Path, style: str) -> None:
    network = random_relu([3, 6, 4, 3], 0)
    file = tmp_path / "net.onnx"
    write_onnx(file, network, style)
    read = load(file)
    assert read.fingerprint == network.fingerprint
    u = np.array([0.1, -0.2, 0.3])
    assert pm.margin(read, u, proof=False).radius == pytest.approx(pm.margin(network, u, proof=False).radius, rel=1e-12)


def test_witnesses_hold_in_another_runtime(tmp_path: Path) -> None:
    """A point a little beyond the margin changes the class in ONNX Runtime, one a little within does not."""
    runtime = pytest.importorskip("onnxruntime")
    network = random_relu([3, 6, 4, 3], 1)
    file = tmp_path / "net.onnx"
    write_onnx(file, network, "gemm")
    session = runtime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    u = np.array([0.4, -0.1, 0.2])
    found = pm.margin(load(file), u, proof=False)
    for factor, label in ((1 - 1e-6, found.label), (1 + 1e-6, found.rival)):
        x = u + factor * (found.point - u)
        logits = session.run(None, {"input": x[None]})[0][0]
        assert int(np.argmax(logits)) == label


def test_bad_onnx_files(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    with pytest.raises(pm.InputError, match="no such file"):
        load(tmp_path / "absent.onnx")
    file = tmp_path / "bad.onnx"
    file.write_bytes(b"this is not protobuf")
    with pytest.raises(pm.InputError, match="not a valid ONNX file"):
        load(file)
    helper, kind = onnx.helper, onnx.TensorProto.DOUBLE
    ends = [helper.make_tensor_value_info(name, kind, [1, 2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Sigmoid", ["x"], ["y"])], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph), file)
    with pytest.raises(pm.InputError, match="Sigmoid"):
        load(file)


def test_without_the_extras(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"onnx")
    for module, call in (("onnx", lambda: load(tmp_path / "net.onnx")), ("torch", lambda: from_torch(None))):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtraError, match="pip install"):
            call()


def test_a_saved_network_is_the_same(tmp_path: Path) -> None:
    network = random_relu([3, 6, 4, 3], 0)
    network.save(tmp_path / "net.npz")
    assert load(tmp_path / "net.npz").fingerprint == network.fingerprint
    assert pm.margin(load(tmp_path / "net.npz"), [0.1, -0.2, 0.3], proof=False).radius > 0


def test_networks_are_checked() -> None:
    with pytest.raises(pm.InputError, match="takes 3 values but layer 1 gives 2"):
        ReLUNetwork([np.eye(2), np.ones((2, 3))])
    with pytest.raises(pm.InputError, match="finite"):
        ReLUNetwork([[[np.nan]], np.ones((2, 1))])
    assert repr(random_relu([3, 6, 4, 3], 0)) == "Network(3-6-4-3, ReLU)"


def test_exact_logits_are_the_rounded_ones_up_to_rounding() -> None:
    network = random_relu([3, 6, 4, 3], 0)
    x = np.random.default_rng(0).normal(size=3)
    assert np.allclose([float(value) for value in network.exact_logits(x)], network(x), rtol=1e-13)
    assert network.fingerprint != random_relu([3, 6, 4, 3], 1).fingerprint
