"""Arrays in .npz files that may come from strangers: no pickles, and sizes are bounded before anything is read."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.readers.archives import ARCHIVE_DAMAGE, bounded_archive

LARGEST_WEIGHTS = 1 << 25


def read_arrays(path: Any) -> dict[str, Any]:
    """Return the arrays of an .npz file, without running code in it. Sizes are checked in the headers first."""
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
    """Check the sizes in the headers before any number is read."""
    if sum(sizes.values()) > LARGEST_WEIGHTS:
        raise InputError(f"{path}: more than {LARGEST_WEIGHTS} numbers")


def _declared(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """Return how many numbers of eight bytes an entry says it holds, at least; it must have exactly the bytes for them."""
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


def binary_file(path: Any) -> AbstractContextManager[Any]:
    """Open a file to be written, or return a stream of bytes as it is."""
    return nullcontext(path) if isinstance(path, io.BytesIO) else Path(path).open("wb")
