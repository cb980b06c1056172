"""The files of VNN-COMP: instances.csv in, results.csv and counterexample files out.

    instances.csv   onnx, vnnlib, timeout in seconds: one line per instance, paths relative to the file
    results.csv     category, onnx, vnnlib, time to prepare, result, time to run
    counterexample  ((X_0 value) … (Y_0 value) …)

A counterexample is replayed in ONNX Runtime before it is written, and the outputs in the file are the ones it computes.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.vnnlib.writing import decimal

LARGEST_FILE = 1 << 24
MOST_INSTANCES = 100_000


@dataclass(frozen=True)
class CompetitionInstance:
    """One line of instances.csv; the paths as they are written there."""

    onnx: str
    vnnlib: str
    timeout: float


@dataclass(frozen=True)
class ResultRow:
    """One line of results.csv."""

    category: str
    onnx: str
    vnnlib: str
    prepare_seconds: float
    result: str
    run_seconds: float


def read_instances(path: Path) -> list[CompetitionInstance]:
    """Read the instances; every line needs a network, a query and a positive time."""
    try:
        if not path.is_file():
            raise InputError(f"{path}: no such file")
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path}: more than the {LARGEST_FILE} bytes this reader accepts")
        rows = [row for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"))) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file ({error})") from None
    if not rows or len(rows) > MOST_INSTANCES:
        raise InputError(f"{path}: {len(rows)} instances; expected 1 to {MOST_INSTANCES}")
    return [_instance(row, f"{path}: row {number}") for number, row in enumerate(rows, start=1)]


def _instance(row: list[str], name: str) -> CompetitionInstance:
    if len(row) != 3:
        raise InputError(f"{name} has {len(row)} entries; expected onnx, vnnlib, timeout")
    try:
        timeout = float(row[2])
    except ValueError:
        timeout = math.nan
    onnx, vnnlib = row[0].strip(), row[1].strip()
    if not timeout > 0 or math.isinf(timeout) or not onnx or not vnnlib or "\0" in onnx + vnnlib:
        raise InputError(f"{name} is {','.join(row)[:80]!r}; expected onnx, vnnlib, seconds")
    return CompetitionInstance(onnx, vnnlib, timeout)


def write_results(path: Path, rows: list[ResultRow]) -> None:
    """Write the results in VNN-COMP's columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in rows:
            times = (f"{row.prepare_seconds:.6f}", f"{row.run_seconds:.6f}")
            writer.writerow([row.category, row.onnx, row.vnnlib, times[0], row.result, times[1]])


def counterexample_text(inputs: NDArray[np.float64], outputs: NDArray[np.float64]) -> str:
    """Return the assignment in VNN-COMP's format."""
    lines = [f"(X_{i} {decimal(value)})" for i, value in enumerate(inputs.tolist())]
    lines += [f"(Y_{j} {decimal(value)})" for j, value in enumerate(outputs.tolist())]
    return "(" + "\n".join(lines) + ")\n"


def counterexample_name(instance: CompetitionInstance) -> str:
    """Return network_property.counterexample, as in the competition's results."""
    return f"{Path(instance.onnx).stem}_{Path(instance.vnnlib).stem}.counterexample"
