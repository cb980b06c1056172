"""Arrays on disk, found by a key. Losing them costs time, never correctness.

Files lie under $POLYMARGIN_CACHE, else under $XDG_CACHE_HOME/polymargin, else ~/.cache/polymargin. A file is
written aside and moved into place, so a reader never sees half of one; one that cannot be read is ignored.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Part of every key: a change of what is stored must not meet old files.
FORMAT = "base solutions 2"


def default_directory() -> Path:
    if named := os.environ.get("POLYMARGIN_CACHE"):
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "polymargin"


@dataclass(frozen=True)
class Cache:
    """A directory of .npz files; `directory=None` keeps nothing."""

    directory: Path | None

    @classmethod
    def from_option(cls, option: bool | str | Path) -> Cache:
        """True: the default directory. False: nothing is kept. A path: that directory."""
        if isinstance(option, bool):
            return cls(default_directory() if option else None)
        return cls(Path(option))

    def read(self, key: str) -> dict[str, NDArray[Any]] | None:
        if self.directory is None:
            return None
        try:
            with np.load(self._file(self.directory, key), allow_pickle=False) as data:
                if str(data["key"]) != key:
                    return None
                return {name: data[name] for name in data.files if name != "key"}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def write(self, key: str, arrays: dict[str, NDArray[Any]]) -> None:
        if self.directory is None:
            return
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.directory, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                np.savez(file, key=np.array(key), **arrays)  # type: ignore[arg-type]
            os.replace(name, self._file(self.directory, key))
        except OSError:
            return  # a full or read-only disk must not cost the user the answer

    @staticmethod
    def _file(directory: Path, key: str) -> Path:
        return directory / (hashlib.sha256(f"{FORMAT}:{key}".encode()).hexdigest()[:40] + ".npz")
