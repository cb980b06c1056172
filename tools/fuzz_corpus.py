"""Small real files of every kind that polymargin reads, for fuzz_files.py."""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

import numpy as np

import polymargin as pm
from polymargin.networks.attention import random_attention


def make_corpus(folder: Path) -> dict[str, list[Path]]:
    """Small real files of every kind; kinds whose packages are missing are left out."""
    net = pm.PolynomialNetwork(
        [
            ([[0.5, -1.0], [1.5, 0.25], [0.75, 2.0]], [0.1, 0.0, -0.3]),
            ([[1.0, 0.5, -1.0], [0.25, 1.0, 0.5]], [0.0, 0.2]),
        ],
        degree=2,
    )
    layers = [(layer.weights, layer.bias) for layer in net.chain.layers]
    cubic = pm.PolynomialNetwork(layers, activations=[[0.1, 1.0, 0.0, 0.5]])
    corpus: dict[str, list[Path]] = collections.defaultdict(list)
    for name, network in (("square", net), ("cubic", cubic)):
        network.save(folder / f"{name}.npz")
        corpus["npz"].append(folder / f"{name}.npz")
        corpus["checked-model"].append(folder / f"{name}.npz")
    verdict = pm.verify(net, [0.2, 0.1], radius=0.05)
    assert verdict.certificate is not None
    verdict.certificate.save(folder / "robust.json")
    margin = pm.margin(cubic, [0.2, 0.1])
    margin.certificate.save(folder / "margin.json")
    corpus["certificate"] += [folder / "robust.json", folder / "margin.json"]
    rows = np.array([[0.1, 0.2], [0.3, -0.5]])
    np.savetxt(folder / "points.csv", rows, delimiter=",", header="a,b", comments="")
    np.save(folder / "points.npy", rows)
    (folder / "instances.csv").write_text("square.onnx,ball.vnnlib,10\nsquare.onnx,box.vnnlib,10\n")
    corpus["points-csv"].append(folder / "points.csv")
    corpus["points-npy"].append(folder / "points.npy")
    corpus["instances"].append(folder / "instances.csv")
    _add_queries(folder, corpus)
    _add_attention(folder, corpus)
    _add_products(folder, corpus)
    _add_plain_weights(folder, corpus, net)
    _add_onnx(folder, corpus, net, cubic)
    _add_torch(folder, corpus, net)
    _add_skops(folder, corpus)
    _add_experiment(folder, corpus)
    return dict(corpus)


def _add_queries(folder: Path, corpus: dict[str, list[Path]]) -> None:
    from polymargin.vnnlib import write_robustness_query

    options = {"label": 0, "classes": 2}
    corpus["vnnlib-2.0"].append(write_robustness_query(folder / "ball.vnnlib", [0.2, 0.1], 0.5, **options))
    corpus["vnnlib-2.0"].append(write_robustness_query(folder / "cube.vnnlib", [0.2, 0.1], 0.5, norm=np.inf, **options))
    corpus["vnnlib-1.0"].append(
        write_robustness_query(folder / "box.vnnlib", [0.2, 0.1], 0.5, norm=np.inf, version="1.0", **options)
    )


def _add_attention(folder: Path, corpus: dict[str, list[Path]]) -> None:

    random_attention(2, 2, 1, 1).save(folder / "attention.npz")
    corpus["attention"].append(folder / "attention.npz")


def _add_products(folder: Path, corpus: dict[str, list[Path]]) -> None:
    """A program with products and both kinds of activations; the checker reads it too."""
    from polymargin.networks.forms import Forms
    from polymargin.networks.network import Network
    from polymargin.networks.stages import Polynomial, Product

    first = Product(Forms.of([[1.0, 0.5], [0.0, -1.0]], [0.1, 0.0]), Forms.of([[0.25, 0.0], [1.0, 1.0]]))
    second = Polynomial(Forms.of([[0.1, 0.0, 0.2, -0.1]], [0.3]), (0.0, 0.5, 0.25, 0.125), "chebyshev")
    third = Polynomial(Forms.of([[0.1, 0.0, 0.2, -0.1, 1.0]]), (0.0, 1.0, 0.0, 0.5))
    readout = Forms.of([[1.0, 0.0, 0.5, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.5, 0.0, 1.0]], [0.2, 0.0])
    Network([first, second, third], readout).save(folder / "products.npz")
    corpus["products"].append(folder / "products.npz")
    corpus["checked-model"].append(folder / "products.npz")


def _add_plain_weights(folder: Path, corpus: dict[str, list[Path]], net: Any) -> None:
    arrays = {
        f"{part}{k}": a for k, y in enumerate(net.chain.layers, 1) for part, a in (("W", y.weights), ("b", y.bias))
    }
    np.savez(folder / "plain.npz", **arrays)
    corpus["plain-npz"].append(folder / "plain.npz")
    header, content = {}, b""
    for name, array in arrays.items():
        raw = array.astype("<f4").tobytes()
        ends = [len(content), len(content) + len(raw)]
        header[name], content = {"dtype": "F32", "shape": list(array.shape), "data_offsets": ends}, content + raw
    text = json.dumps(header).encode()
    (folder / "plain.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + content)
    corpus["safetensors"].append(folder / "plain.safetensors")


def _add_onnx(folder: Path, corpus: dict[str, list[Path]], net: Any, cubic: Any) -> None:
    try:
        import onnx
    except ImportError:
        return
    from polymargin.networks.writers.to_onnx import to_onnx

    corpus["onnx"].append(to_onnx(random_attention(2, 2, 1, 1), folder / "attention.onnx"))
    corpus["onnx"] += [to_onnx(net, folder / "square.onnx"), to_onnx(cubic, folder / "cubic.onnx", powers="Mul")]
    make, array = onnx.helper.make_node, onnx.numpy_helper.from_array
    generator = np.random.default_rng(0)
    nodes = [
        make("Conv", ["x", "kernel"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        make("BatchNormalization", ["c", "one", "one", "zero", "one"], ["n"]),
        make("Mul", ["n", "n"], ["s"]),
        make("AveragePool", ["s"], ["p"], kernel_shape=[2, 1], ceil_mode=1),
        make("Split", ["p", "halves"], ["p1", "p2"], axis=1),
        make("Concat", ["p2", "p1"], ["q"], axis=1),
        make("Flatten", ["q"], ["f"]),
        make("Slice", ["f", "from", "to", "along"], ["g"]),
        make("Unsqueeze", ["g", "along"], ["h"]),
        make("Squeeze", ["h", "along"], ["i"]),
        make("Gather", ["i", "order"], ["j"], axis=1),
        make("MatMul", ["j", "matrix"], ["k"]),
        make("Add", ["k", "two"], ["y"]),
    ]
    numbers = {
        "kernel": generator.normal(size=(2, 1, 3, 3)), "one": np.ones(2), "zero": np.zeros(2), "two": np.array([0.5, 1.0]),
        "matrix": generator.normal(size=(4, 2)), "halves": np.array([1, 1]), "from": np.array([0]), "to": np.array([4]),
        "along": np.array([1]), "order": np.array([3, 1, 0, 2]),
    }  # fmt: skip
    constants = [
        array(value.astype(np.float32 if value.dtype.kind == "f" else np.int64), name)
        for name, value in numbers.items()
    ]
    ends = [onnx.helper.make_tensor_value_info(n, 1, s) for n, s in (("x", ["batch", 1, 4, 4]), ("y", ["batch", 2]))]
    graph = onnx.helper.make_graph(nodes, "convolution", ends[:1], ends[1:], constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    (folder / "convolution.onnx").write_bytes(model.SerializeToString())
    pm.load(folder / "convolution.onnx")
    corpus["onnx"] += [folder / "convolution.onnx", _gate(onnx, folder / "gate.onnx")]


def _gate(onnx: Any, file: Path) -> Path:
    """A product of two branches, an Einstein sum and padding."""
    make, array = onnx.helper.make_node, onnx.numpy_helper.from_array
    nodes = [
        make("MatMul", ["x", "left"], ["l"]),
        make("MatMul", ["x", "right"], ["r"]),
        make("Mul", ["l", "r"], ["g"]),
        make("Pad", ["g", "pads", "half"], ["p"]),
        make("Einsum", ["p", "matrix"], ["e"], equation="bi,io->bo"),
        make("Sub", ["e", "l"], ["y"]),
    ]
    generator = np.random.default_rng(1)
    numbers = {"left": generator.normal(size=(3, 2)), "right": generator.normal(size=(3, 2)), "half": np.array(0.5),
               "matrix": generator.normal(size=(4, 2)), "pads": np.array([0, 1, 0, 1])}  # fmt: skip
    constants = [
        array(value.astype(np.float32 if value.dtype.kind == "f" else np.int64), name)
        for name, value in numbers.items()
    ]
    ends = [onnx.helper.make_tensor_value_info(n, 1, ["batch", k]) for n, k in (("x", 3), ("y", 2))]
    graph = onnx.helper.make_graph(nodes, "gate", ends[:1], ends[1:], constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    file.write_bytes(model.SerializeToString())
    pm.load(file)
    return file


def _add_torch(folder: Path, corpus: dict[str, list[Path]], net: Any) -> None:
    try:
        import torch
    except ImportError:
        return
    from polymargin.networks.writers.to_torch import to_torch

    torch.save(to_torch(net).state_dict(), folder / "state.pt")
    corpus["torch"].append(folder / "state.pt")
    weights = {name: tensor for name, tensor in to_torch(net).state_dict().items() if not name.endswith("coefficients")}
    torch.save({"epoch": 3, "state_dict": weights}, folder / "weights.pt")
    corpus["plain-torch"].append(folder / "weights.pt")


def _add_skops(folder: Path, corpus: dict[str, list[Path]]) -> None:
    try:
        import skops.io
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        return
    points = np.random.default_rng(0).normal(size=(30, 2))
    skops.io.dump(LogisticRegression().fit(points, points[:, 0] > 0), folder / "logistic.skops")
    corpus["skops"].append(folder / "logistic.skops")


def _add_experiment(folder: Path, corpus: dict[str, list[Path]]) -> None:
    try:
        import h5py
    except ImportError:
        return
    (folder / "experiment").mkdir()
    config = {"model_class": "PolynomialNeuralNetwork", "input_dim": 2, "hidden_dims": [3], "output_dim": 2, "act_degree": 2,
              "homogeneous": False, "bias": True}  # fmt: skip
    (folder / "experiment" / "model_config.json").write_text(json.dumps(config))
    shapes = {"layers.0.weight": (3, 2), "layers.0.bias": (3,), "activations.0.coeffs": (3,), "layers.1.weight": (2, 3),
              "layers.1.bias": (2,)}  # fmt: skip
    with h5py.File(folder / "experiment" / "model_weights.h5", "w") as file:
        for name, shape in shapes.items():
            file.create_dataset(name, data=np.ones(shape, dtype=np.float32))
    corpus["experiment"] += [folder / "experiment" / "model_config.json", folder / "experiment" / "model_weights.h5"]
