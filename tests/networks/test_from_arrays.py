"""Networks from named arrays: the orientation comes from the shapes, the activation from the caller, nothing from a guess."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.networks.readers.from_arrays import from_arrays

RNG = np.random.default_rng(0)
W1, B1, W2, B2 = RNG.normal(size=(5, 3)), RNG.normal(size=5), RNG.normal(size=(2, 5)), RNG.normal(size=2)
TRUTH = pm.PolynomialNetwork([(W1, B1), (W2, B2)], degree=2)


@pytest.mark.parametrize(
    "arrays",
    [
        {"fc1.weight": W1, "fc1.bias": B1, "fc2.weight": W2, "fc2.bias": B2},
        {"params": {"Dense_0": {"kernel": W1.T, "bias": B1}, "Dense_1": {"kernel": W2.T, "bias": B2}}},
        {"dense/kernel:0": W1.T, "dense/bias:0": B1, "dense_1/kernel:0": W2.T, "dense_1/bias:0": B2},
        {"W1": W1, "b1": B1, "W2": W2, "b2": B2},
        {"b2": B2, "W2": W2.T, "b1": B1[None], "W1": W1.T},
    ],
    ids=["state dict", "flax", "keras", "numpy", "turned and in another order"],
)
def test_names_and_orientations_that_people_use(arrays: Any) -> None:
    assert from_arrays(arrays, "square").fingerprint == TRUTH.fingerprint


def test_numbered_layers_come_in_the_order_of_their_numbers() -> None:
    widths = [3, *range(4, 14), 2]
    layers = {f"Dense_{k}": {"kernel": RNG.normal(size=(a, b))} for k, (a, b) in enumerate(pairwise(widths))}
    shuffled = {name: layers[name] for name in sorted(layers)}  # Dense_10 comes before Dense_2
    assert from_arrays(shuffled, 2).widths == tuple(widths)


def test_the_orientation_is_said() -> None:
    assert "(inputs, outputs)" in repr(from_arrays({"W1": W1.T, "b1": B1, "W2": W2.T}, "square"))
    assert "(outputs, inputs)" in repr(from_arrays({"W1": W1, "b1": B1, "W2": W2}, "square"))


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("square", [0, 0, 1]),
        (3, [0, 0, 0, 1]),
        ([0.5, 1.0, 0.25], [0.5, 1.0, 0.25]),
        (["square"], [0, 0, 1]),
        ([[0, 0, 1]], [0, 0, 1]),
    ],
)
def test_activations_may_be_said_in_several_ways(activation: Any, expected: list[float]) -> None:
    net = from_arrays({"W1": W1, "b1": B1, "W2": W2, "b2": B2}, activation)
    assert net.chain.activations == (tuple(map(float, expected)),)


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"W1": np.eye(3), "W2": np.eye(3)}, {"activation": 2}, "fit either way; say outputs='rows'"),
        ({"W1": W1, "W2": W2}, {}, "say activation='square'"),
        ({"W1": W1, "W2": W2}, {"activation": "tanh"}, "activation 'tanh'; expected 'square'"),
        ({"W1": W1, "W2": W2}, {"activation": [2, [1.0, 1.0], "square"]}, "3 activations for 1 hidden"),
        ({"W1": W1, "W2": W2}, {"activation": 0}, "a degree from 1"),
        ({"W1": W1, "W2": W1}, {"activation": 2}, "neither with outputs in rows nor in columns"),
        ({"W1": W1, "b1": B2, "W2": W2}, {"activation": 2}, "neither"),
        ({"W1": W1, "W2": W2}, {"activation": 2, "outputs": "columns"}, "do not fit each other"),
        ({"W1": W1, "W2": W2}, {"activation": 2, "outputs": "left"}, "expected 'rows' or 'columns'"),
        ({"conv.weight": np.ones((2, 1, 3, 3))}, {"activation": 2}, "belongs neither to a linear layer"),
        ({"b1": B1}, {"activation": 2}, "has no weight"),
        ({}, {"activation": 2}, "no weights"),
        ({"W1": np.array([["a"]])}, {"activation": 2}, "not an array of real numbers"),
    ],
)
def test_what_is_not_clear_is_refused_in_one_sentence(arrays: Any, options: Any, message: str) -> None:
    with pytest.raises(pm.InputError, match=message) as caught:
        from_arrays(arrays, **options)
    assert "\n" not in str(caught.value)


def test_ambiguous_matrices_are_read_as_they_are_said_to_be() -> None:
    first, second = RNG.normal(size=(2, 3, 3))
    rows = from_arrays({"W1": first, "W2": second}, 2, outputs="rows")
    columns = from_arrays({"W1": first.T, "W2": second.T}, 2, outputs="columns")
    assert rows.fingerprint == columns.fingerprint


def safetensors(path: Path, arrays: dict[str, Any], kinds: dict[str, str]) -> Path:
    """The format by hand, in the order of the names, as the package writes it."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    content = b""
    for name in sorted(arrays):
        raw = arrays[name].tobytes()
        ends = [len(content), len(content) + len(raw)]
        header[name] = {"dtype": kinds[name], "shape": list(arrays[name].shape), "data_offsets": ends}
        content += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)
    return path


def test_safetensors_hold_plain_weights(tmp_path: Path) -> None:
    arrays = {"fc1.weight": W1, "fc1.bias": B1, "fc2.weight": W2, "fc2.bias": B2}
    file = safetensors(tmp_path / "model.safetensors", arrays, dict.fromkeys(arrays, "F64"))
    assert pm.load(file, activation="square").fingerprint == TRUTH.fingerprint
    with pytest.raises(pm.InputError, match="say activation"):
        pm.load(file)
    halves = {name: (array.astype("<f4").view("<u4") >> 16).astype("<u2") for name, array in arrays.items()}
    file = safetensors(tmp_path / "half.safetensors", halves, dict.fromkeys(arrays, "BF16"))
    assert np.abs(pm.load(file, activation="square").chain.layers[0].weights - W1).max() < 0.02
    content = file.read_bytes()
    for damaged in (
        content[:5],
        content[:60],
        content[:-3],
        content + b"x",
        b"\xff" * 9,
        content.replace(b"BF16", b"Q999"),
    ):
        file.write_bytes(damaged)
        with pytest.raises(pm.InputError, match="safetensors"):
            pm.load(file, activation="square")


def test_the_package_itself_writes_what_is_read(tmp_path: Path) -> None:
    numpy_files = pytest.importorskip("safetensors.numpy")
    numpy_files.save_file(
        {"a.weight": W1, "a.bias": B1, "b.weight": W2, "b.bias": B2}, str(tmp_path / "model.safetensors")
    )
    assert pm.load(tmp_path / "model.safetensors", activation=2).fingerprint == TRUTH.fingerprint


def test_plain_npz_files_and_state_dicts(tmp_path: Path) -> None:
    np.savez(tmp_path / "plain.npz", W1=W1.T, b1=B1, W2=W2.T, b2=B2)
    assert pm.load(tmp_path / "plain.npz", activation=2).fingerprint == TRUTH.fingerprint
    TRUTH.save(tmp_path / "whole.npz")
    with pytest.raises(pm.InputError, match=r"leave activation= .--activation. out"):
        pm.load(tmp_path / "whole.npz", activation=2)
    torch = pytest.importorskip("torch")
    state = {name: torch.tensor(a) for name, a in {"1.weight": W1, "1.bias": B1, "3.weight": W2, "3.bias": B2}.items()}
    torch.save(state, tmp_path / "state.pt")
    assert pm.load(tmp_path / "state.pt", activation="square").fingerprint == TRUTH.fingerprint
    torch.save({"epoch": 7, "state_dict": state, "optimizer": {"lr": 0.1}}, tmp_path / "checkpoint.pt")
    assert pm.load(tmp_path / "checkpoint.pt", activation="square").fingerprint == TRUTH.fingerprint
    (tmp_path / "model.onnx").write_bytes(b"not read")
    with pytest.raises(pm.InputError, match=r"--activation. is for files of plain weights"):
        pm.load(tmp_path / "model.onnx", activation=2)


def test_messages_of_others_lose_their_colours(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")
    with pytest.raises(pm.InputError, match="trust=True") as caught:
        pm.load(tmp_path / "module.pt")
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pi_nets_from_their_matrices() -> None:
    U, C, c = RNG.normal(size=(3, 4, 2)), RNG.normal(size=(3, 4)), RNG.normal(size=3)
    S, b = RNG.normal(size=(2, 4, 4)), RNG.normal(size=(3, 4))
    points = RNG.normal(size=(100, 2))
    out = points @ U[0].T
    for k in (1, 2):
        out = (points @ U[k].T) * out + out
    assert np.allclose(pm.pi_net(U, C, c)(points), out @ C.T + c, rtol=1e-13)
    out = (points @ U[0].T) * b[0]
    for k in (1, 2):
        out = (points @ U[k].T) * (out @ S[k - 1].T + b[k])
    assert np.allclose(pm.pi_net(U, C, c, mixing=S, shifts=b)(points), out @ C.T + c, rtol=1e-12)
    for options, message in (
        ({"mixing": S}, "2 mixing matrices and 0 shifts"),
        ({"mixing": S[:, :2], "shifts": b}, "must have shape"),
    ):
        with pytest.raises(pm.InputError, match=message):
            pm.pi_net(U, C, **options)
    with pytest.raises(pm.InputError, match="two or more of the same shape"):
        pm.pi_net([U[0]], C)
    with pytest.raises(pm.InputError, match=r"expected \(classes, 4\)"):
        pm.pi_net(U, C.T)
