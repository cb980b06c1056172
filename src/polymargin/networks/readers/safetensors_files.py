"""`.safetensors` files: eight bytes for the length of a JSON header, the header, and the plain numbers.

The format is small enough to be read here, so no package is needed. The header is {"name": {"dtype": "F32", "shape": [2, 3],
"data_offsets": [0, 24]}, …}, offsets counted from its end. Tensors must fill the rest of the file without gaps or overlaps.
"""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.networks.readers.archives import LARGEST_FILE, MOST_ENTRIES
from polymargin.networks.readers.npz import LARGEST_WEIGHTS

LARGEST_HEADER = 1 << 21
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U8": "<u1"}


def read_safetensors(file: Path) -> dict[str, Any]:
    """Return the arrays by name, in the order in which their numbers lie in the file."""
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise InputError(f"{file}: more than the {LARGEST_FILE} bytes this reader accepts")
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot read the file ({error.strerror or error})") from None
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(LARGEST_HEADER, len(content) - 8):
        raise InputError(f"{file}: not a safetensors file (a header of {length} bytes in a file of {len(content)})")
    try:
        header = json.loads(content[8 : 8 + length].decode("utf-8"))
    except (ValueError, RecursionError):
        raise InputError(f"{file}: not a safetensors file (its header is not valid JSON)") from None
    if not isinstance(header, dict) or len(header) > MOST_ENTRIES:
        raise InputError(f"{file}: not a safetensors file (its header names no tensors, or more than {MOST_ENTRIES})")
    header.pop("__metadata__", None)
    numbers = content[8 + length :]
    entries = {name: _entry(file, name, entry) for name, entry in header.items()}
    end = 0
    arrays: dict[str, Any] = {}
    for name, (kind, shape, start, stop) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if start != end or stop > len(numbers):
            raise InputError(f"{file}: {_shown(name)} lies at {start} to {stop}; expected tensors one after the other")
        end = stop
        arrays[name] = _array(file, name, kind, shape, numbers[start:stop])
    if end != len(numbers):
        raise InputError(f"{file}: {len(numbers) - end} bytes belong to no tensor")
    return arrays


def _entry(file: Path, name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    fields = entry if isinstance(entry, dict) else {}
    kind: Any = fields.get("dtype")
    shape: Any = fields.get("shape")
    ends: Any = fields.get("data_offsets")
    lists = isinstance(shape, list) and isinstance(ends, list)
    numbers = [*shape, *ends] if lists else []
    if not numbers or len(ends) != 2 or any(type(n) is not int or not 0 <= n <= LARGEST_FILE for n in numbers):
        raise InputError(f"{file}: {_shown(name)} has no whole numbers as shape and data_offsets")
    if not isinstance(kind, str) or (kind not in _TYPES and kind != "BF16"):
        raise InputError(f"{file}: {_shown(name)} is of type {_shown(kind)}; expected {', '.join(_TYPES)} or BF16")
    if prod(shape) > LARGEST_WEIGHTS:
        raise InputError(f"{file}: {_shown(name)} has shape {shape}; at most {LARGEST_WEIGHTS} numbers are accepted")
    return kind, tuple(shape), ends[0], ends[1]


def _array(file: Path, name: str, kind: str, shape: tuple[int, ...], content: bytes) -> Any:
    size = 2 if kind == "BF16" else np.dtype(_TYPES[kind]).itemsize
    if len(content) != prod(shape) * size:
        raise InputError(
            f"{file}: {_shown(name)} of shape {shape} has {len(content)} bytes; expected {prod(shape) * size}"
        )
    if kind == "BF16":  # the upper half of a float32
        halves = np.frombuffer(content, dtype="<u2").astype("<u4") << 16
        return halves.view("<f4").astype(np.float64).reshape(shape)
    return np.frombuffer(content, dtype=_TYPES[kind]).astype(np.float64).reshape(shape)


def _shown(value: Any) -> str:
    return " ".join(repr(value).split())[:60]
