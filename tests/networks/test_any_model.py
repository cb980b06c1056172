"""Functions of a network take a model in whatever form a person has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.networks.writers.to_onnx import to_onnx

NET = random_network((3, 4, 2), 2, seed=1)
U = np.array([0.2, -0.1, 0.3])


def test_paths_and_modules(tmp_path: Path) -> None:
    expected = pm.margin(NET, U, proof=False).radius
    NET.save(tmp_path / "net.npz")
    for path in (tmp_path / "net.npz", str(tmp_path / "net.npz")):
        assert pm.margin(path, U, proof=False).radius == expected
    assert pm.verify(tmp_path / "net.npz", U, 0.9 * expected).answer.name == "ROBUST"
    pytest.importorskip("torch")
    from polymargin.networks.writers.to_torch import to_torch

    assert pm.margin(to_torch(NET), U, proof=False).radius == pytest.approx(expected, rel=1e-12)
    batch = pm.margin(proof=False, model=to_torch(NET), points=np.array([U, 2 * U]))
    assert [row.standing.name for row in batch] == ["NUMERICAL", "NUMERICAL"]
    pytest.importorskip("onnx")
    assert pm.margin(to_onnx(NET, tmp_path / "net.onnx"), U, proof=False).radius == pytest.approx(expected, rel=1e-12)


def test_networks_with_relu_go_to_the_room_for_them(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    expected = pm.margin(pm.from_torch(module), U, proof=False)
    found = pm.margin(module, U, proof=False)
    assert (found.radius, found.method) == (expected.radius, expected.method)
    assert pm.margin(pm.from_torch(module), U, proof=False).radius == expected.radius
    verdict = pm.verify(module, U, 0.9 * expected.radius)
    assert verdict.answer.name == "ROBUST"
    assert verdict.certificate is not None
    onnx = pytest.importorskip("onnx")
    make, array = onnx.helper.make_node, onnx.numpy_helper.from_array
    first, last = pm.from_torch(module).chain.layers
    names = {"W": first.weights, "b": first.bias, "V": last.weights, "c": last.bias}
    nodes = [
        make("Gemm", ["x", "W", "b"], ["z"], transB=1),
        make("Relu", ["z"], ["a"]),
        make("Gemm", ["a", "V", "c"], ["y"], transB=1),
    ]
    ends = [onnx.helper.make_tensor_value_info(n, 11, [1, k]) for n, k in (("x", 3), ("y", 2))]
    graph = onnx.helper.make_graph(nodes, "relu", ends[:1], ends[1:], [array(np.array(v), n) for n, v in names.items()])
    onnx.save(onnx.helper.make_model(graph), tmp_path / "relu.onnx")
    assert pm.margin(tmp_path / "relu.onnx", U, proof=False).radius == pytest.approx(expected.radius, rel=1e-12)


def test_estimators_and_the_names_of_their_classes() -> None:
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression

    data = load_iris()
    names = data.target_names[data.target]
    model = QuadraticDiscriminantAnalysis().fit(data.data, names)
    found = pm.margin(model, data.data[0], proof=False)
    assert found.class_names == ("setosa", "versicolor", "virginica")
    assert found.class_name(found.label) == "setosa"
    assert "class setosa against versicolor" in repr(found)
    again = pm.Margin.from_dict(found.to_dict())
    assert again.class_names == found.class_names
    rows = pm.margin(model, data.data[[0, 60]], proof=False)
    assert [row.class_name(row.label) for row in rows] == [str(model.predict(data.data[[k]])[0]) for k in (0, 60)]
    numbered = LogisticRegression(max_iter=1000).fit(data.data, data.target)  # 0, 1, 2 say nothing more
    assert pm.margin(numbered, data.data[0], proof=False).class_names is None
    assert "class_names" not in pm.margin(numbered, data.data[0], proof=False).to_dict()


@pytest.mark.parametrize("model", [42, {"W1": np.eye(2)}, lambda x: x, None])
def test_anything_else_gets_one_sentence_that_names_the_readers(model: Any) -> None:
    with pytest.raises(pm.InputError, match="load, from_torch, from_sklearn and from_arrays read models") as caught:
        pm.margin(model, U, proof=False)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(pm.InputError, match="no such file"):
        pm.margin(tmp_path / "nothing.onnx", U, proof=False)


def test_attacks_and_proofs_take_them_too(tmp_path: Path) -> None:
    NET.save(tmp_path / "net.npz")
    nearest = pm.attack(NET, U).distance
    assert pm.attack(tmp_path / "net.npz", U).distance == nearest
    found = pm.margin(tmp_path / "net.npz", U)
    assert found.standing is pm.Standing.CERTIFIED
    assert found.lower <= nearest
    pytest.importorskip("torch")
    from polymargin.networks.writers.to_torch import to_torch

    assert pm.attack(to_torch(NET), U).distance == pytest.approx(nearest, rel=1e-9)
