"""The experiment folders of the authors of the paper: model_config.json beside model_weights.h5.

    model_config.json   {"model_class": "PolynomialNeuralNetwork", "input_dim": 8, "hidden_dims": [6], "output_dim": 2,
                         "act_degree": 2, "homogeneous": true, "bias": true}
    model_weights.h5    layers.0.weight (out, in), layers.0.bias, activations.0.coeffs, layers.1.weight, …

The weights are a PyTorch state dict with one dataset per tensor, in float32. The activation after layer i is c z^d if it is
homogeneous (coeffs has one entry c) and Σ c_k z^k otherwise (d + 1 entries from the constant up).
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.constructors import PolynomialNetwork
from polymargin.networks.network import Network
from polymargin.networks.readers.foreign import package
from polymargin.networks.tape.operations import LARGEST_DEGREE

CONFIG, WEIGHTS = "model_config.json", "model_weights.h5"
LARGEST_CONFIG = 1 << 16
LARGEST_ARRAY = 1 << 26
_EXPECTED = {
    "input_dim": int,
    "hidden_dims": list,
    "output_dim": int,
    "act_degree": int,
    "homogeneous": bool,
    "bias": bool,
}


def read_experiment(path: Any) -> Network:
    """Read an experiment folder, or the folder `model` in it."""
    folders = (Path(path), Path(path) / "model")
    folder = next((folder for folder in folders if (folder / CONFIG).is_file()), None)
    if folder is None or not (folder / WEIGHTS).is_file():
        raise InputError(
            f"{path}: a folder; expected a model file, or {CONFIG} and {WEIGHTS} in it or in its subfolder model"
        )
    config = _read_config(folder / CONFIG)
    widths = [config["input_dim"], *config["hidden_dims"], config["output_dim"]]
    arrays = _read_weights(folder / WEIGHTS, config, widths)
    layers, activations = [], []
    for number, (inputs, outputs) in enumerate(pairwise(widths)):
        bias = arrays[f"layers.{number}.bias"] if config["bias"] else np.zeros(outputs)
        layers.append((arrays[f"layers.{number}.weight"].reshape(outputs, inputs), bias))
    for number in range(len(widths) - 2):
        coefficients = arrays[f"activations.{number}.coeffs"].tolist()
        activations.append([0.0] * config["act_degree"] + coefficients if config["homogeneous"] else coefficients)
    return PolynomialNetwork(layers, activations=activations)


def _read_config(file: Path) -> dict[str, Any]:
    if file.stat().st_size > LARGEST_CONFIG:
        raise InputError(f"{file}: more than {LARGEST_CONFIG} bytes for a handful of numbers")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not valid JSON ({error})") from None
    if not isinstance(config, dict) or config.get("model_class") != "PolynomialNeuralNetwork":
        raise InputError(f'{file}: expected an object with "model_class": "PolynomialNeuralNetwork"')
    if "degree" in config:
        config.setdefault("act_degree", config["degree"])
    for key, kind in _EXPECTED.items():
        if type(config.get(key)) is not kind:
            raise InputError(f"{file}: {key} is {config.get(key)!r}; expected {kind.__name__}")
    lengths = [config["input_dim"], *config["hidden_dims"], config["output_dim"]]
    if any(type(length) is not int or not 1 <= length <= LARGEST_ARRAY for length in lengths):
        raise InputError(f"{file}: widths {lengths}; expected whole numbers from 1")
    if not 1 <= config["act_degree"] <= LARGEST_DEGREE:
        raise InputError(f"{file}: act_degree {config['act_degree']}; expected 1 to {LARGEST_DEGREE}")
    return config


def _read_weights(file: Path, config: dict[str, Any], widths: list[int]) -> dict[str, Any]:
    """The datasets that the configuration calls for, each with exactly the shape it must have, and no others."""
    shapes: dict[str, tuple[int, ...]] = {}
    for number, (inputs, outputs) in enumerate(pairwise(widths)):
        shapes[f"layers.{number}.weight"] = (outputs, inputs)
        if config["bias"]:
            shapes[f"layers.{number}.bias"] = (outputs,)
    for number in range(len(widths) - 2):
        shapes[f"activations.{number}.coeffs"] = (1 if config["homogeneous"] else config["act_degree"] + 1,)
    h5py = package("h5py", "h5")
    try:
        with h5py.File(file, "r") as data:
            names = sorted(data.keys())
            if names != sorted(shapes):
                raise InputError(f"{file}: holds {', '.join(names)}; expected {', '.join(sorted(shapes))}")
            return {name: _array(h5py, data, name, shape, file) for name, shape in shapes.items()}
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        raise InputError(f"{file}: not a readable HDF5 file ({error})") from None


def _array(h5py: Any, data: Any, name: str, shape: tuple[int, ...], file: Path) -> Any:
    link = data.get(name, getlink=True)
    entry = data[name] if isinstance(link, h5py.HardLink) else None
    if not isinstance(entry, h5py.Dataset) or entry.shape != shape or entry.dtype.kind != "f" or entry.external:
        found = (
            f"shape {entry.shape} of {entry.dtype}" if isinstance(entry, h5py.Dataset) else "no dataset in this file"
        )
        raise InputError(f"{file}: {name} has {found}; expected floats of shape {shape}")
    if np.prod(shape, dtype=np.float64) > LARGEST_ARRAY:
        raise InputError(f"{file}: {name} has shape {shape}; at most {LARGEST_ARRAY} numbers are accepted")
    return np.asarray(entry[()], dtype=np.float64)
