"""A satisfiability query about one network, whatever version of the format it was written in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import InputError
from polymargin.vnnlib.expressions import Formula

LARGEST_FILE = 1 << 24
DEEPEST = 200


@dataclass(frozen=True)
class DeclaredTensor:
    """A declared input or output."""

    name: str
    element_type: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the number of entries."""
        return prod(self.shape)


@dataclass(frozen=True)
class Query:
    """A query: whether some input X and the network's output Y at X satisfy one of the cases.

    version   of VNN-LIB: "1.0" or "2.0"
    network   the name the file gives to the network; empty in 1.0
    """

    version: str
    network: str
    input: DeclaredTensor
    output: DeclaredTensor
    cases: Formula


def read_query(path: Any) -> Query:
    """Read a VNN-LIB file of version 1.0 or 2.0."""
    text = read_text(Path(path))
    try:
        if re.search(r"^[^;]*\(\s*vnnlib-version", text, re.MULTILINE):
            from polymargin.vnnlib.version_two import parse

            return parse(text)
        from polymargin.vnnlib.version_one import parse as parse_old

        return parse_old(text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (MemoryError, RecursionError):
        raise InputError(f"{path}: too large for this reader") from None


def read_text(file: Path) -> str:
    """Read a query file; refuse files that are not text, too long, or nested too deeply."""
    try:
        if not file.is_file():
            raise InputError(f"{file}: no such file")
        if file.stat().st_size > LARGEST_FILE:
            raise InputError(f"{file}: more than the {LARGEST_FILE} bytes this reader accepts")
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot read the file ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: not a text file") from None
    letters = np.frombuffer(text.encode(), dtype=np.uint8)
    if not letters.all():
        raise InputError(f"{file}: not a text file")
    steps = (letters == ord("(")).astype(np.int32) - (letters == ord(")"))
    if np.cumsum(steps, dtype=np.int32).max(initial=0) > DEEPEST:
        raise InputError(f"{file}: more than {DEEPEST} levels of parentheses")
    return text
