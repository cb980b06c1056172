"""IDX files, the format of MNIST: two zero bytes, a type, the number of axes, each length as 4 bytes, then the entries.

Everything is big-endian. Files may come from strangers: the header is read first, nothing is unpacked beyond what it
announces, what it announces is bounded, and every defect is one sentence.
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
LARGEST_FILE = 1 << 30
MOST_AXES = 8


def read_idx(path: Any, *, rows: int | None = None) -> NDArray[Any]:
    """Return the array in an IDX file, packed with gzip or not; with `rows` only the first so many along the first axis.

    Entries keep their type and come in the machine's byte order.
    """
    if rows is not None and rows < 0:
        raise InputError(f"rows {rows}: expected a number >= 0")
    try:
        with Path(path).open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            if not packed:
                return _read(raw, path, rows)
            with gzip.open(raw, "rb") as file:
                return _read(file, path, rows)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: a damaged gzip file ({error})") from None
    except OSError as error:
        raise InputError(f"{path}: cannot read the file ({error.strerror or error})") from None


def _read(file: BinaryIO | gzip.GzipFile, path: Any, rows: int | None) -> NDArray[Any]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES:
        raise InputError(f"{path}: not an IDX file (it starts with {magic.hex() or 'nothing'})")
    axes = magic[3]
    if not 1 <= axes <= MOST_AXES:
        raise InputError(f"{path}: {axes} axes; this reader accepts 1 to {MOST_AXES}")
    lengths = file.read(4 * axes)
    if len(lengths) < 4 * axes:
        raise InputError(f"{path}: the header ends early; the file is cut off")
    shape = tuple(int(length) for length in np.frombuffer(lengths, dtype=">u4"))
    kept = shape if rows is None else (min(rows, shape[0]), *shape[1:])
    kind = np.dtype(TYPES[magic[2]])
    size = math.prod(kept) * kind.itemsize
    if math.prod(max(1, length) for length in kept) * kind.itemsize > LARGEST_FILE:
        raise InputError(f"{path}: shape {kept} announced, more than the {LARGEST_FILE} bytes this reader accepts")
    data = file.read(size)
    if len(data) < size:
        raise InputError(f"{path}: {len(data)} bytes of data where the header announces {size}")
    if kept == shape and file.read(1):
        raise InputError(f"{path}: more data than the header announces")
    return np.frombuffer(data, dtype=kind).astype(kind.newbyteorder("=")).reshape(kept)
