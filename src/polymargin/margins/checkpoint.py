"""A file of finished rows, so that an interrupted batch can go on.

One JSON object per line: first what the run is about, then one line per finished row, each with its own checksum,

    {"sum": "<SHA-256>", "entry": {...}}

that of a row over the header too: a row belongs to one model, its points and its options. Nothing in the file is ever
overwritten, so a kill at any moment costs the row being written. Torn or damaged lines are dropped, said and computed again.
Vectors are kept as {"f8": "…"}, their doubles in base64: exact, and half as long as digits.
A header that was cut is completed; one that was damaged costs nothing either, because the rows say whose they are.

The sums guard against accidents. They do not guard against forged rows: a certificate does.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import warnings
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import DamageWarning, InputError
from polymargin.margins.result import Margin

FORMAT = "polymargin margins 3"
LARGEST_FILE = 1 << 32
# Shorter vectors stay readable.
SHORTEST_PACKED = 8
_BEGIN, _MIDDLE, _END = b'{"sum": "', b'", "entry": ', b"}\n"
_ENTRY = len(_BEGIN) + 64 + len(_MIDDLE)


class Row(Protocol):
    """An answer that can be written down: a margin, a verdict."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        ...

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Return the row of plain data."""
        ...


class Checkpoint:
    """Finished rows of one batch, in memory and in a file."""

    def __init__(self, path: Path, header: bytes, rows: dict[int, Any]) -> None:
        self._path = path
        self._header = header
        self._rows = rows

    @classmethod
    def open(
        cls,
        path: str | Path,
        model: str,
        points: NDArray[np.float64],
        options: Mapping[str, Any],
        kind: type[Row] = Margin,
    ) -> Checkpoint:
        """Start a file, or continue one that belongs to the same model, points and options, with answers of this kind."""
        if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
            raise InputError(f"checkpoint={path!r}: expected a file")
        file = Path(path)
        digest = hashlib.sha256(str(points.shape).encode() + np.ascontiguousarray(points).tobytes()).hexdigest()
        header = _line(b"", {"format": FORMAT, "model": model, "points": digest, "options": dict(options)})
        try:
            content = _content(file)
            rows, dropped = _rows(file, content, header, len(points), kind)
            if header.startswith(content):
                _append(file, header[len(content) :], create=True)
            elif not content.endswith(b"\n"):
                _append(file, b"\n")  # what follows must not run into a torn line
        except OSError as error:
            raise _unusable(file, error) from None
        if dropped:
            warnings.warn(
                f"{file}: {dropped} damaged line{'s' if dropped > 1 else ''} dropped; the rows are computed again",
                DamageWarning,
                stacklevel=3,
            )
        return cls(file, header, rows)

    def get(self, row: int) -> Any:
        """Return the stored answer of a row; None if there is none."""
        return self._rows.get(row)

    def add(self, rows: Sequence[tuple[int, Row]]) -> None:
        """Write down finished rows, together."""
        lines = [_line(self._header, {"row": row, "margin": answer.to_dict()}) for row, answer in rows]
        try:
            _append(self._path, b"".join(lines))
        except OSError as error:
            raise _unusable(self._path, error) from None


def _line(header: bytes, entry: Mapping[str, Any]) -> bytes:
    body = json.dumps(_packed(entry)).encode()
    return _BEGIN + _sum(header, body) + _MIDDLE + body + _END


def _packed(data: Any) -> Any:
    """Return the same data with long vectors of doubles in base64."""
    if isinstance(data, Mapping):
        return {name: _packed(value) for name, value in data.items()}
    if not isinstance(data, (list, tuple)):
        return data
    if len(data) >= SHORTEST_PACKED and all(type(value) is float for value in data):
        return {"f8": b64encode(np.array(data, dtype="<f8").tobytes()).decode("ascii")}
    return [_packed(value) for value in data]


def _unpacked(data: dict[str, Any]) -> Any:
    if data.keys() != {"f8"}:
        return data
    return np.frombuffer(b64decode(data["f8"], validate=True), dtype="<f8").tolist()


def _sum(header: bytes, body: bytes) -> bytes:
    return hashlib.sha256(header + body).hexdigest().encode()


def _entry(line: bytes, header: bytes) -> dict[str, Any] | None:
    """Return the entry in a line; None if any byte has changed."""
    body = line[_ENTRY : -len(_END)]
    if line != _BEGIN + _sum(header, body) + _MIDDLE + body + _END:
        return None
    try:
        entry = json.loads(body, object_hook=_unpacked)
    except (ValueError, TypeError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _content(file: Path) -> bytes:
    """Return the content of the file, empty if there is none. Pipes and devices are refused before they are opened."""
    try:
        facts = file.stat()
    except FileNotFoundError:
        return b""
    except ValueError:
        raise InputError(f"{str(file)!r}: not a name for a file; choose another") from None
    if not stat.S_ISREG(facts.st_mode):
        raise InputError(f"{file}: not a regular file; a checkpoint is one that can be read again: choose another")
    if facts.st_size > LARGEST_FILE:
        raise InputError(f"{file}: {facts.st_size} bytes, more than the {LARGEST_FILE} of a checkpoint")
    return file.read_bytes()


def _rows(file: Path, content: bytes, header: bytes, count: int, kind: type[Row]) -> tuple[dict[int, Any], int]:
    """Return the sound rows of this run, and the number of lines that are not sound."""
    if header.startswith(content):
        return {}, 0
    first, *rest = content.splitlines(keepends=True)
    other = None if first == header else _entry(first, b"")
    if other is not None:
        raise InputError(f"{file}: belongs to {_difference(other, header)}; choose a new file")
    found = dict(_sound(rest, header, count, kind))
    if first != header and not found:
        raise InputError(
            f"{file}: not a checkpoint, or its first line is damaged and it holds no rows; choose a new file"
        )
    rows = dict(found.values())
    return rows, (first != header) + len(rest) - len(found)


def _sound(lines: list[bytes], header: bytes, count: int, kind: type[Row]) -> Iterator[tuple[int, tuple[int, Any]]]:
    """Yield the place of each sound line with its row and answer."""
    for place, line in enumerate(lines):
        entry = _entry(line, header)
        if entry is None:
            continue
        try:
            if entry["row"] in range(count):
                yield place, (entry["row"], kind.from_dict(entry["margin"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue


def _difference(other: Mapping[str, Any], header: bytes) -> str:
    mine = json.loads(header, object_hook=_unpacked)["entry"]
    if other.get("format") != mine["format"]:
        return f"another version of polymargin (format {other.get('format')!r}, expected {mine['format']!r})"
    names = {"model": "another model", "points": "other points", "options": "other options"}
    return " and ".join(text for name, text in names.items() if other.get(name) != mine[name]) or "another run"


def _append(file: Path, data: bytes, *, create: bool = False) -> None:
    """Append lines in one write; a header is on the disk before rows follow it."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    with os.fdopen(os.open(file, flags, 0o666), "ab", buffering=0) as stream:
        left = memoryview(data)
        while left:
            left = left[stream.write(left) :]
        if create:
            os.fsync(stream.fileno())


def _unusable(file: Path, error: OSError) -> InputError:
    remedy = (
        "rows already in it are kept" if os.path.lexists(file) else "expected a file in a folder that can be written to"
    )
    return InputError(f"{file}: the checkpoint cannot be used ({error.strerror or error}); {remedy}")
