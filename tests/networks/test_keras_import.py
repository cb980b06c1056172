"""Keras models through their ONNX export, made by Keras on its torch backend."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymargin as pm

pytest.importorskip("onnx")
pytest.importorskip("torch")


@pytest.fixture
def keras(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    found = pytest.importorskip("keras")
    if found.backend.backend() != "torch":
        pytest.skip("keras was imported with another backend")
    found.utils.set_random_seed(0)
    return found


def exported(model: Any, path: Path) -> Path:
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model(np.zeros((1, 4), dtype=np.float32))  # Keras exports what has been called
            model.export(str(path), format="onnx", verbose=False)
    finally:
        logging.disable(logging.NOTSET)
    return path


def test_a_sequential_model_and_a_gate(keras: Any, tmp_path: Path) -> None:
    layers, square = keras.layers, keras.ops.square
    plain = keras.Sequential([keras.Input((4,)), layers.Dense(6, activation=square), layers.Dense(3)])
    x = keras.Input((4,))
    gated = keras.Model(x, layers.Dense(3)(layers.multiply([layers.Dense(5)(x), layers.Dense(5)(x)])))
    points = np.random.default_rng(0).normal(size=(1000, 4)).astype(np.float32)
    for name, model, layered in (("plain", plain, True), ("gated", gated, False)):
        network = pm.load(exported(model, tmp_path / f"{name}.onnx"))
        assert (network.chain is not None) == layered
        expected = model(points).detach().numpy().astype(np.float64)  # Keras computes in float32
        assert np.abs(network(points) - expected).max() <= 1e-5 * np.abs(expected).max()


def test_its_weights_as_arrays_are_the_same_network(keras: Any, tmp_path: Path) -> None:
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(6, activation=keras.ops.square), keras.layers.Dense(3)]
    )
    arrays = {variable.path: variable.value.detach().numpy() for variable in model.variables}
    network = pm.from_arrays(arrays, "square")
    assert "(inputs, outputs)" in repr(network)
    read = pm.load(exported(model, tmp_path / "model.onnx"))
    points = np.random.default_rng(0).normal(size=(100, 4))
    assert np.allclose(network(points), read(points), rtol=1e-12, atol=1e-12)
