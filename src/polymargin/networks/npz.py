"""Networks as .npz files: plain arrays and the name of the format.

    polymargin-network-1      weight_1, bias_1, …, activation_1, …
    polymargin-attention-1    value, key, query, readout, bias

Files may come from strangers: no pickles, a bound on the size, and every defect is one sentence.
"""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.errors import InputError

if TYPE_CHECKING:
    from polymargin.networks.network import Network

FORMAT = "polymargin-network-1"
ATTENTION_FORMAT = "polymargin-attention-1"
ATTENTION_ARRAYS = ("value", "key", "query", "readout", "bias")
LARGEST_FILE = 1 << 30
# What zipfile, zlib and NumPy's reader of headers raise for damaged files.
_DAMAGE = (
    *(ValueError, KeyError, EOFError, TypeError, OverflowError, MemoryError, RuntimeError, SyntaxError, RecursionError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)


def load_npz(path: Any) -> Network:
    """The network in a file that some `save` wrote, by the name of its format."""
    from polymargin.networks.attention import LightningAttention
    from polymargin.networks.polynomial_network import PolynomialNetwork

    if _format(read_arrays(path)) == ATTENTION_FORMAT:
        return LightningAttention.load(path)
    return PolynomialNetwork.load(path)


def write_network(path: Any, layers: Sequence[tuple[Any, Any]], activations: Sequence[Sequence[float]]) -> None:
    arrays: dict[str, Any] = {"format": np.array(FORMAT)}
    for position, (weights, bias) in enumerate(layers, start=1):
        arrays[f"weight_{position}"] = weights
        arrays[f"bias_{position}"] = bias
    for position, coefficients in enumerate(activations, start=1):
        arrays[f"activation_{position}"] = np.array(coefficients)
    _write(path, arrays)


def read_network(path: Any) -> tuple[list[tuple[Any, Any]], list[Any]]:
    arrays = read_arrays(path)
    name = _format(arrays)
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


def write_attention(path: Any, arrays: Sequence[Any]) -> None:
    _write(path, {"format": np.array(ATTENTION_FORMAT), **dict(zip(ATTENTION_ARRAYS, arrays, strict=True))})


def read_attention(path: Any) -> list[Any]:
    arrays = read_arrays(path)
    name = _format(arrays)
    if name != ATTENTION_FORMAT:
        raise InputError(
            f"{path}: not an attention module (format {name or 'missing'!r}, expected {ATTENTION_FORMAT!r})"
        )
    for part in ATTENTION_ARRAYS:
        if part not in arrays:
            raise InputError(f"{path}: no {part!r} in the file; an attention module has {', '.join(ATTENTION_ARRAYS)}")
    return [arrays[part] for part in ATTENTION_ARRAYS]


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
    except _DAMAGE as error:
        raise InputError(f"{path}: not a valid .npz file ({' '.join(str(error).split())[:200]})") from None


def _write(path: Any, arrays: dict[str, Any]) -> None:
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)


def _format(arrays: Mapping[str, Any]) -> str:
    return str(arrays.get("format", ""))
