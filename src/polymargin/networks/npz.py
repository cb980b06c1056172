"""A network as one .npz file: weight_1, bias_1, …, activation_1, …, and the name of the format.

Files may come from strangers: no pickles, a bound on the size, and every defect is one sentence.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import InputError

FORMAT = "polymargin-network-1"
LARGEST_FILE = 1 << 30


def write_network(path: Any, layers: Sequence[tuple[Any, Any]], activations: Sequence[Sequence[float]]) -> None:
    arrays: dict[str, Any] = {"format": np.array(FORMAT)}
    for position, (weights, bias) in enumerate(layers, start=1):
        arrays[f"weight_{position}"] = weights
        arrays[f"bias_{position}"] = bias
    for position, coefficients in enumerate(activations, start=1):
        arrays[f"activation_{position}"] = np.array(coefficients)
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)


def read_network(path: Any) -> tuple[list[tuple[Any, Any]], list[Any]]:
    arrays = read_arrays(path)
    name = str(arrays.get("format", ""))
    if name != FORMAT:
        raise InputError(f"{path}: not a polymargin network (format {name or 'missing'!r}, expected {FORMAT!r})")
    layers, activations = [], []
    position = 1
    while f"weight_{position}" in arrays:
        bias = arrays.get(f"bias_{position}")
        layers.append((arrays[f"weight_{position}"], bias))
        if f"activation_{position}" in arrays:
            activations.append(arrays[f"activation_{position}"])
        position += 1
    if not layers:
        raise InputError(f"{path}: no weight_1 in the file; a network has weight_1, bias_1, activation_1, …")
    return layers, activations


def read_arrays(path: Any) -> dict[str, Any]:
    """The arrays of an .npz file, without running anything in it."""
    file = Path(path)
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > LARGEST_FILE:
            raise InputError(f"{path}: {size} bytes unpacked, more than the {LARGEST_FILE} this reader accepts")
        with np.load(file, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except OSError as error:
        raise InputError(f"{path}: cannot read the file ({error.strerror or error})") from None
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, NotImplementedError, MemoryError) as error:
        raise InputError(f"{path}: not a valid .npz file ({error})") from None
