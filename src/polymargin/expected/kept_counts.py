"""Counts of a long simulation in a file, so that one that was stopped goes on where it was.

Samples depend on the seed alone and batches are counted in order, so the first counts are all that has to be kept.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]


class KeptCounts:
    """Counts and missing ones of the first samples of one simulation, which `name` tells from others; without a path, of none."""

    def __init__(self, path: Path | None, name: str) -> None:
        self.path, self.name = path, name

    def load(self) -> Counts:
        """Return the kept batches; none if there is no file, an incomplete one, or one of another simulation."""
        nothing = np.zeros(0, dtype=np.int64)
        if self.path is None or not self.path.exists():
            return nothing, nothing
        try:
            with self.path.open("rb") as file, np.load(file) as kept:
                return (kept["counts"], kept["missing"]) if str(kept["name"]) == self.name else (nothing, nothing)
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return nothing, nothing

    def save(self, counts: Sequence[NDArray[np.int64]], missing: Sequence[NDArray[np.int64]]) -> None:
        """Replace the file at once: a process killed while writing leaves the older one."""
        if self.path is None:
            return
        being_written = self.path.with_name(f".{self.path.name}")
        with being_written.open("wb") as file:
            np.savez(file, name=np.array(self.name), counts=np.concatenate(counts), missing=np.concatenate(missing))
        os.replace(being_written, self.path)
