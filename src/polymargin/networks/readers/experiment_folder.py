"""The experiment folders of the authors of the paper: model_config.json beside model_weights.h5.

    model_config.json   {"model_class": "PolynomialNeuralNetwork", "input_dim": 8, "hidden_dims": [6], "output_dim": 2,
                         "act_degree": 2, "homogeneous": true, "bias": true}
    model_weights.h5    layers.0.weight (out, in), layers.0.bias, activations.0.coeffs, layers.1.weight, …

The weights are a PyTorch state dict with one dataset per tensor, in float32. The activation after layer i is c z^d if it is
homogeneous (coeffs has one entry c) and Σ c_k z^k otherwise (d + 1 entries from the constant up).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.network import Network
from polymargin.networks.readers.foreign import Foreign, package
from polymargin.networks.readers.from_arrays import MOST_ARRAYS, from_arrays
from polymargin.networks.tape.operations import LARGEST_DEGREE

CONFIG, WEIGHTS = "model_config.json", "model_weights.h5"
LARGEST_CONFIG = 1 << 16
LARGEST_ARRAY = 1 << 26


def read_experiment(path: Any) -> Network:
    """Read an experiment folder, or the folder `model` in it."""
    folders = (Path(path), Path(path) / "model")
    folder = next((folder for folder in folders if (folder / CONFIG).is_file()), None)
    if folder is None or not (folder / WEIGHTS).is_file():
        raise InputError(
            f"{path}: a folder; expected a model file, or {CONFIG} and {WEIGHTS} in it or in its subfolder model"
        )
    degree, homogeneous = _activation(folder / CONFIG)
    arrays = _read_weights(folder / WEIGHTS)
    for name, array in arrays.items():
        if name.endswith(".coeffs"):
            if array.shape != (1 if homogeneous else degree + 1,):
                raise InputError(f"{folder / WEIGHTS}: {name} has shape {array.shape}; act_degree is {degree}")
            arrays[name] = np.concatenate([np.zeros(degree if homogeneous else 0), array])
    try:
        return from_arrays(arrays, outputs="rows")
    except InputError as error:
        raise InputError(f"{folder / WEIGHTS}: {' '.join(str(error).split())}") from None


def _activation(file: Path) -> tuple[int, bool]:
    """Return the degree of the activation, and whether it is one power."""
    if file.stat().st_size > LARGEST_CONFIG:
        raise InputError(f"{file}: more than {LARGEST_CONFIG} bytes for a handful of numbers")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not valid JSON ({error})") from None
    if not isinstance(config, dict) or config.get("model_class") != "PolynomialNeuralNetwork":
        raise InputError(f'{file}: expected an object with "model_class": "PolynomialNeuralNetwork"')
    degree, homogeneous = config.get("act_degree", config.get("degree")), config.get("homogeneous")
    if type(degree) is not int or not 1 <= degree <= LARGEST_DEGREE or not isinstance(homogeneous, bool):
        raise InputError(
            f"{file}: act_degree {degree!r}, homogeneous {homogeneous!r}; expected 1 to {LARGEST_DEGREE}, true or false"
        )
    return degree, homogeneous


def _read_weights(file: Path) -> dict[str, Any]:
    """Return the datasets of the file: floats that lie in it, and are not too many."""
    h5py = package("h5py", "h5")
    try:
        with h5py.File(file, "r") as data:
            if len(data) > MOST_ARRAYS:
                raise InputError(f"{file}: more than {MOST_ARRAYS} arrays")
            return {name: _array(h5py, data, name, file) for name in data}
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        raise InputError(f"{file}: not a readable HDF5 file ({error})") from None


def _array(h5py: Foreign, data: Foreign, name: str, file: Path) -> Any:
    entry = data[name] if isinstance(data.get(name, getlink=True), h5py.HardLink) else None
    if not isinstance(entry, h5py.Dataset) or entry.dtype.kind != "f" or entry.external:
        raise InputError(f"{file}: {name} has no dataset of floats in this file")
    if np.prod(entry.shape, dtype=np.float64) > LARGEST_ARRAY:
        raise InputError(f"{file}: {name} has shape {entry.shape}; at most {LARGEST_ARRAY} numbers are accepted")
    return np.asarray(entry[()], dtype=np.float64)
