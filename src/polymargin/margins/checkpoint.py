"""A file of finished rows, so that an interrupted batch can go on.

One JSON object per line: first what the run was about, then one line per finished row. A last line cut short
by the interruption is dropped.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.margins.result import Margin

FORMAT = "polymargin margins 1"


class Checkpoint:
    """Finished rows of one batch, in memory and in a file."""

    def __init__(self, path: Path, rows: dict[int, Margin]) -> None:
        self._path = path
        self._rows = rows

    @classmethod
    def open(cls, path: str | Path, model: str, points: NDArray[np.float64], seed: int) -> Checkpoint:
        """Start a file, or continue one that belongs to the same model, points and seed."""
        file = Path(path)
        digest = hashlib.sha256(np.ascontiguousarray(points).tobytes()).hexdigest()
        header = {"format": FORMAT, "model": model, "points": digest, "seed": seed}
        if not file.exists() or file.stat().st_size == 0:
            file.write_text(json.dumps(header) + "\n")
            return cls(file, {})
        try:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        except UnicodeDecodeError:
            raise InputError(f"{file}: is not a checkpoint; choose a new file") from None
        if _parsed(lines[0]) != header:
            raise InputError(f"{file}: belongs to another model, other points or another seed; choose a new file")
        rows: dict[int, Margin] = {}
        kept = lines[:1]
        for line in lines[1:]:
            entry = _parsed(line) if line.endswith("\n") else None
            if entry is None:
                break
            rows[entry["row"]] = Margin.from_dict(entry["margin"])
            kept.append(line)
        file.write_text("".join(kept))
        return cls(file, rows)

    def get(self, row: int) -> Margin | None:
        return self._rows.get(row)

    def add(self, row: int, margin: Margin) -> None:
        self._rows[row] = margin
        with self._path.open("a") as file:
            file.write(json.dumps({"row": row, "margin": margin.to_dict()}) + "\n")


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None
