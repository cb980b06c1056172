"""Arrays in an .npz file: a zip archive of .npy entries, whose headers are read without NumPy.

An entry is a magic string, a version, the length of a header, the header (a Python literal with the type, the order
and the shape), and the plain numbers. The header is matched against the one form that NumPy writes and never
evaluated. Arrays have up to two axes.
"""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from polymargin_checker.refusal import Unusable
from polymargin_checker.words import shown

LARGEST_FILE = 1 << 28
_LONGEST_HEADER = 4096
_LARGEST_DIRECTORY = 1 << 20
"""Bytes of the list of entries at the end of an archive; enough for thousands of layers."""
_END, _END_OF_LARGE = b"PK\x05\x06", b"PK\x06\x07"
_HEADER = re.compile(
    r"\{'descr': '([^']{1,12})', 'fortran_order': (True|False), 'shape': "
    r"\(((?:[0-9]{1,10}(?:, [0-9]{1,10})?,?)?)\),? ?\} *\n?"
)


def read_entries(source: Any) -> dict[str, bytes]:
    """Return the unpacked entries of an .npz file, or of the bytes of one, by name, without the suffix .npy."""
    name = "the model" if isinstance(source, bytes) else source
    try:
        with _opened(source) as stream:
            _bound_directory(stream, name)
            with zipfile.ZipFile(stream) as archive:
                return _unpack(archive, name)
    except OSError as error:
        raise Unusable(f"{name}: cannot read the file ({error.strerror or error})") from None
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, RuntimeError, MemoryError) as error:
        raise Unusable(f"{name}: not a valid .npz file ({error})") from None


def _opened(source: Any) -> BinaryIO:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    file = Path(source)
    if not file.is_file():
        raise Unusable(f"{source}: no such file")
    return file.open("rb")


def array(content: bytes, name: str, descr: str, axes: int) -> NDArray[Any]:
    """Return the numbers of one type with the given number of axes, in C order."""
    found, fortran, shape, start = _header(content, name)
    if found != descr or len(shape) != axes:
        raise Unusable(f"{name}: type {found!r} with shape {shape}; expected {descr!r} with {axes} axes")
    if np.dtype(descr).itemsize * math.prod(shape) != len(content) - start:
        raise Unusable(f"{name}: {len(content) - start} bytes of numbers do not fit the shape {shape}")
    values = np.frombuffer(content, dtype=descr, offset=start)
    values = values.reshape(shape[::-1]).T if fortran else values.reshape(shape)
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))


def _bound_directory(stream: BinaryIO, path: Any) -> None:
    """Refuse an archive of too many entries before `zipfile` lists them.

    NumPy ends an archive with a record of 22 bytes and no comment; at its byte 12 is the size of the list of entries.
    """
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - 42))
    tail = stream.read(42)
    if tail[-22:-18] != _END or tail[-2:] != bytes(2) or tail[:4] == _END_OF_LARGE:
        raise Unusable(f"{path}: not a valid .npz file (no plain end of a zip archive)")
    (directory,) = struct.unpack_from("<I", tail, len(tail) - 10)
    if directory > _LARGEST_DIRECTORY:
        raise Unusable(f"{path}: a list of entries of {directory} bytes; expected at most {_LARGEST_DIRECTORY}")


def _unpack(archive: zipfile.ZipFile, path: Any) -> dict[str, bytes]:
    entries = archive.infolist()
    if sum(entry.file_size for entry in entries) > LARGEST_FILE:
        raise Unusable(f"{path}: more than {LARGEST_FILE} bytes unpacked")
    result: dict[str, bytes] = {}
    for entry in entries:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unusable(f"{path}: entry {shown(entry.filename)} is compressed in an unknown way")
        name = entry.filename.removesuffix(".npy")
        if name in result:
            raise Unusable(f"{path}: two entries are named {shown(name)}")
        with archive.open(entry) as stream:
            # A bounded read: read() without a size would inflate a bomb before it looks at the declared size.
            result[name] = stream.read(entry.file_size + 1)
    return result


def _header(content: bytes, name: str) -> tuple[str, bool, tuple[int, ...], int]:
    """Return type, Fortran order, shape, and the offset of the numbers."""
    if content[:6] != b"\x93NUMPY" or len(content) < 12:
        raise Unusable(f"{name}: not an .npy entry")
    if content[6] not in (1, 2, 3):
        raise Unusable(f"{name}: unknown .npy version {content[6]}")
    start = 10 if content[6] == 1 else 12
    (length,) = struct.unpack_from("<H" if content[6] == 1 else "<I", content, 8)
    header = content[start : start + length]
    if length > _LONGEST_HEADER or len(header) != length:
        raise Unusable(f"{name}: an .npy header of {length} bytes")
    match = _HEADER.fullmatch(header.decode("latin-1"))
    if match is None:
        raise Unusable(f"{name}: an .npy header that is not understood, or more than two axes")
    shape = tuple(int(part) for part in match[3].split(",") if part.strip())
    return match[1], match[2] == "True", shape, start + length
