"""Arrays on disk, found by a key. Losing them costs time, never correctness.

Files lie under $POLYMARGIN_CACHE, else under $XDG_CACHE_HOME/polymargin, else ~/.cache/polymargin. A file is one line of JSON
and then plain complex numbers:

    {"sum": "<SHA-256 of everything after it>", "key": "...", "shapes": {"solutions": [21, 4], ...}}

so its size follows from its first line, and nothing is decompressed. A reader gives the shapes it expects and refuses larger
ones before it reads a number. A file is written to a temporary name and moved into place, so readers never see half of one. A
file with any defect (damage, another key, a pipe in its place, no permission) counts as missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError

ComplexArray = NDArray[np.complex128]

# Part of every key: a change of what is stored must not meet old files.
FORMAT = "base solutions 3"
LONGEST_HEAD = 1 << 16
BYTES_PER_NUMBER = 16
_SUM = len('{"sum": "') + 64 + len('", ')  # how much of a file comes before what is summed


def default_directory() -> Path | None:
    """Return the folder of cached start solutions, None if there is no home directory."""
    if named := os.environ.get("POLYMARGIN_CACHE"):
        return _expanded(named)
    try:
        return (_expanded(os.environ.get("XDG_CACHE_HOME") or "~/.cache")) / "polymargin"
    except InputError:
        return None


@dataclass(frozen=True)
class Cache:
    """A directory of files; `directory=None` keeps nothing."""

    directory: Path | None

    @classmethod
    def from_option(cls, option: bool | str | Path) -> Cache:
        """Return the default directory for True, no cache for False, or the directory of a path.

        >>> Cache.from_option("")
        Traceback (most recent call last):
        polymargin.errors.InputError: cache='': expected True, False or a directory; leave it out for the default directory
        """
        if isinstance(option, bool):
            return cls(default_directory() if option else None)
        if not isinstance(option, (str, os.PathLike)) or not os.fspath(option):
            raise InputError(
                f"cache={option!r}: expected True, False or a directory; leave it out for the default directory"
            )
        return cls(_expanded(option))

    def read(self, key: str, most_rows: int, columns: int) -> dict[str, ComplexArray] | None:
        """Read the arrays of a key with at most so many rows and exactly so many columns; None if there is no sound file."""
        if self.directory is None:
            return None
        largest = LONGEST_HEAD + 2 * BYTES_PER_NUMBER * most_rows * columns
        try:
            content = _content(self._file(self.directory, key), largest)
            head, _, body = content.partition(b"\n")
            if head[:_SUM] != _sum_of(content[_SUM:]):
                return None
            said = json.loads(head)
            if said["key"] != key:
                return None
            shapes = {str(name): tuple(map(int, shape)) for name, shape in said["shapes"].items()}
            if any(
                min(shape) < 0 or shape[-1] != columns or prod(shape) > most_rows * columns for shape in shapes.values()
            ):
                return None
            return _split(body, shapes)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return None

    def write(self, key: str, arrays: Mapping[str, ComplexArray]) -> None:
        """Keep the arrays; in silence if they cannot be kept."""
        if self.directory is None:
            return
        shapes = {name: list(array.shape) for name, array in arrays.items()}
        rest = json.dumps({"key": key, "shapes": shapes})[1:].encode() + b"\n"
        rest += b"".join(np.ascontiguousarray(array, dtype=np.complex128).tobytes() for array in arrays.values())
        # A full or read-only disk, or a path that no system takes, must not cost the user the answer.
        with contextlib.suppress(OSError, ValueError):
            self.directory.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(self.directory)
            _write_aside(self._file(self.directory, key), _sum_of(rest) + rest)

    @staticmethod
    def _file(directory: Path, key: str) -> Path:
        return directory / (hashlib.sha256(f"{FORMAT}:{key}".encode()).hexdigest()[:40] + ".solutions")


def _sum_of(rest: bytes) -> bytes:
    return b'{"sum": "' + hashlib.sha256(rest).hexdigest().encode() + b'", '


def _content(file: Path, largest: int) -> bytes:
    """Read the bytes of a regular file that is not too large. Opening does not block on a pipe."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        facts = os.fstat(stream.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > largest:
            raise ValueError("not a cache file of polymargin")
        return stream.read(largest)


def _split(body: bytes, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, ComplexArray] | None:
    if len(body) != BYTES_PER_NUMBER * sum(map(prod, shapes.values())):
        return None
    arrays, place = {}, 0
    for name, shape in shapes.items():
        arrays[name] = np.frombuffer(body, np.complex128, prod(shape), place).reshape(shape)
        place += BYTES_PER_NUMBER * prod(shape)
    return arrays


def _write_aside(file: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f"{os.getpid()}-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(name, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _remove_abandoned(directory: Path) -> None:
    """Remove parts whose writer was killed; its number comes first in their names."""
    for part in directory.glob("*.part"):
        number = part.name.partition("-")[0]
        if not (number.isdecimal() and _is_running(int(number))):
            part.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _expanded(path: Any) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(f"cache={os.fspath(path)!r}: no such home directory; give the whole path") from None
