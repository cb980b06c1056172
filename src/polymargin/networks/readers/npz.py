"""Networks as .npz files: plain arrays and the name of the format.

    polymargin-network-1      weight_1, bias_1, …, activation_1, …
    polymargin-attention-1    value, key, query, readout, bias
    polymargin-products-1     see `npz_products.py`

Each may have `class_names` too, a row of texts. They are not part of the weights: no fingerprint and no proof depends on them.

Files may come from strangers: no pickles, sizes are bounded before anything is read, no array may be missing or unknown, and
every defect is one sentence.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from polymargin.class_names import names_of
from polymargin.errors import InputError
from polymargin.networks.readers.archives import ARCHIVE_DAMAGE, bounded_archive

if TYPE_CHECKING:
    from polymargin.networks.protocols import AnyNetwork as Network

AnyNetwork = TypeVar("AnyNetwork")

FORMAT = "polymargin-network-1"
ATTENTION_FORMAT = "polymargin-attention-1"
PRODUCTS_FORMAT = "polymargin-products-1"
ATTENTION_ARRAYS = ("value", "key", "query", "readout", "bias")
CLASS_NAMES = "class_names"
LARGEST_WEIGHTS = 1 << 25
MOST_LAYERS = 1_000
MOST_COEFFICIENTS = 4_096
"""Of an activation. No method here goes near that degree."""


def load_npz(path: Any) -> Network:
    """The network in a file that some `save` wrote, by the name of its format."""
    from polymargin.networks.attention import LightningAttention
    from polymargin.networks.polynomial_network import PolynomialNetwork
    from polymargin.networks.product_network import ProductNetwork

    name = _format(read_arrays(path))
    if name == ATTENTION_FORMAT:
        return LightningAttention.load(path)
    return ProductNetwork.load(path) if name == PRODUCTS_FORMAT else PolynomialNetwork.load(path)


# Numbers from which it is worth looking whether most of them are zero.
LARGE = 1 << 18


def write_network(
    path: Any, layers: Sequence[tuple[Any, Any]], activations: Sequence[Sequence[float]], names: Mapping[str, Any]
) -> None:
    arrays: dict[str, Any] = {"format": np.array(FORMAT), **names}
    for position, (weights, bias) in enumerate(layers, start=1):
        arrays[f"weight_{position}"] = weights
        arrays[f"bias_{position}"] = bias
    for position, coefficients in enumerate(activations, start=1):
        arrays[f"activation_{position}"] = np.array(coefficients)
    _write(path, arrays)


def read_network(path: Any) -> tuple[list[tuple[Any, Any]], list[Any], Any]:
    """The layers, the activations, and what stands for names."""
    arrays = read_arrays(path)
    expect_format(path, arrays, FORMAT, "a polymargin network")
    count = sum(name.startswith("weight_") for name in arrays)
    if not count:
        raise InputError(f"{path}: no weight_1 in the file; a network has weight_1, bias_1, activation_1, …")
    numbers = range(1, count + 1)
    members = [f"{kind}_{number}" for kind in ("weight", "bias") for number in numbers]
    expect_members(path, arrays, [*members, *(f"activation_{number}" for number in numbers[:-1])])
    layers = [(arrays[f"weight_{number}"], arrays[f"bias_{number}"]) for number in numbers]
    return layers, [arrays[f"activation_{number}"] for number in numbers[:-1]], arrays.get(CLASS_NAMES)


def write_attention(path: Any, arrays: Sequence[Any], names: Mapping[str, Any]) -> None:
    _write(path, {"format": np.array(ATTENTION_FORMAT), **names, **dict(zip(ATTENTION_ARRAYS, arrays, strict=True))})


def read_attention(path: Any) -> tuple[list[Any], Any]:
    """The matrices, and what stands for names."""
    arrays = read_arrays(path)
    expect_format(path, arrays, ATTENTION_FORMAT, "an attention module")
    expect_members(path, arrays, ATTENTION_ARRAYS)
    return [arrays[part] for part in ATTENTION_ARRAYS], arrays.get(CLASS_NAMES)


def names_to_write(network: Any) -> dict[str, Any]:
    """What a network calls its classes, as an entry of a file; nothing where it only counts them."""
    names = names_of(network)
    if names is None:
        return {}
    texts = np.array(names)
    if tuple(texts.tolist()) != names:
        raise InputError(f"class_names {names!r}: a name ends in a NUL character, which arrays drop; leave it out")
    return {CLASS_NAMES: texts}


def with_names(network: AnyNetwork, names: Any, path: Any) -> AnyNetwork:
    """The network with the names that its file has for the classes, if it has any."""
    if names is None:
        return network
    model: Any = network
    if names.ndim != 1 or names.dtype.kind != "U":
        raise InputError(
            f"{path}: class_names of shape {names.shape} and type {names.dtype}; expected one text for each class"
        )
    known = tuple(map(str, names.tolist()))
    if not len(known) == len(set(known)) == model.class_count:
        raise InputError(
            f"{path}: {len(known)} class_names, {len(set(known))} of them different; expected {model.class_count} different ones"
        )
    model.class_names = known
    return network


def read_arrays(path: Any) -> dict[str, Any]:
    """The arrays of an .npz file, without running anything in it. Sizes are known from headers, before the numbers are read."""
    try:
        with bounded_archive(path) as archive:
            entries = archive.infolist()
            _check_sizes(path, {entry.filename: _declared(archive, entry) for entry in entries})
            return {entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in entries}
    except OSError as error:
        raise InputError(f"{path}: cannot read the file ({error.strerror or error})") from None
    except InputError:
        raise
    except ARCHIVE_DAMAGE as error:
        raise InputError(f"{path}: not a valid .npz file ({' '.join(str(error).split())[:200]})") from None


def _check_sizes(path: Any, sizes: Mapping[str, int]) -> None:
    """By what the headers say, before any number is read."""
    if sum(sizes.values()) > LARGEST_WEIGHTS:
        raise InputError(f"{path}: more than {LARGEST_WEIGHTS} numbers")
    layers = sum(name.startswith("weight_") for name in sizes)
    if layers > MOST_LAYERS:
        raise InputError(f"{path}: {layers} layers; at most {MOST_LAYERS} are accepted")
    for name, size in sizes.items():
        if name.startswith("activation_") and size > MOST_COEFFICIENTS:
            raise InputError(f"{path}: {name} has {size} coefficients; at most {MOST_COEFFICIENTS} are accepted")


def _declared(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """How many numbers of eight bytes an entry says it holds, at least; it must have exactly the bytes for them."""
    if not entry.filename.endswith(".npy"):
        raise ValueError(f"the entry {entry.filename!r} is not an array")
    with archive.open(entry) as stream:
        version = np.lib.format.read_magic(stream)
        reader = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, _, kind = reader(stream)
        if kind.hasobject:
            raise ValueError(f"the array {entry.filename!r} holds Python objects; expected numbers")
        if stream.tell() + prod(shape) * kind.itemsize != entry.file_size:
            raise ValueError(f"the array {entry.filename!r} has another size than its header says; the file is damaged")
    return prod(shape) * max(1, kind.itemsize // 8)  # a single text may be as long as a file


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Any:
    with archive.open(entry) as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):  # reading to the end is what compares the entry with its checksum
            raise ValueError(f"the array {entry.filename!r} has bytes after its end; the file is damaged")
    if array.dtype.kind == "U":
        codes = np.frombuffer(array.tobytes(), dtype=np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if np.any(codes > sys.maxunicode):  # NumPy reads these, and ends in a SystemError where they are looked at
            raise ValueError(f"the array {entry.filename!r} has characters that do not exist; the file is damaged")
    return array


def expect_format(path: Any, arrays: Mapping[str, Any], expected: str, what: str) -> None:
    name = _format(arrays)
    if name != expected:
        hint = (
            ""
            if name
            else "; plain weights are read with activation= (--activation): 'square', a degree or coefficients"
        )
        raise InputError(f"{path}: not {what} (format {name or 'missing'!r}, expected {expected!r}){hint}")


def expect_members(path: Any, arrays: Mapping[str, Any], members: Sequence[str]) -> None:
    """A member that is missing or misnamed must not be taken for zeros."""
    missing = [name for name in members if name not in arrays]
    unknown = sorted(set(arrays) - {*members, "format", CLASS_NAMES})
    if missing or unknown:
        parts = [f"no {name!r} in the file" for name in missing[:1]] + [f"an unknown {name!r}" for name in unknown[:1]]
        raise InputError(f"{path}: {' and '.join(parts)}; a model has exactly the arrays that `save` writes")


def binary_file(path: Any) -> AbstractContextManager[Any]:
    """Open a file to be written, or return a stream of bytes as it is."""
    return nullcontext(path) if isinstance(path, io.BytesIO) else Path(path).open("wb")


def _write(path: Any, arrays: dict[str, Any]) -> None:
    """Packed where a large array is mostly zeros: a convolution as a matrix shrinks to a thousandth."""
    large = [array for array in map(np.asarray, arrays.values()) if array.size >= LARGE]
    packed = any(np.count_nonzero(array) <= array.size // 4 for array in large)
    with binary_file(path) as file:
        (np.savez_compressed if packed else np.savez)(file, **arrays)


def _format(arrays: Mapping[str, Any]) -> str:
    return str(arrays.get("format", ""))
