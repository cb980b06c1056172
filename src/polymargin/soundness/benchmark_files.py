"""A benchmark as a folder that any verifier can take part in.

    benchmark.json     what the folder is: edition, settings, plan, version
    models/*.npz       the networks, for this package and the checker
    onnx/*.onnx        the same weights bit for bit, for any verifier
    vnnlib/*.vnnlib    the questions (VNN-LIB 2.0, L2 balls): sat means that another class ties or wins
    instances.csv      onnx, vnnlib, timeout: VNN-COMP's list
    ground_truth.csv   what is known about each instance

A verifier writes results.csv with VNN-COMP's six columns, and `score` reads it.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin import __version__
from polymargin.errors import InputError
from polymargin.vnnlib import write_robustness_query

Array = NDArray[np.float64]
FORMAT = "polymargin-soundness-1"
TIMEOUT = 100
UNVERIFIABLE, CLEAN = "unverifiable", "clean"


@dataclass(frozen=True, eq=False)
class Instance:
    """An instance: whether some point within `radius` of `point` has another class that ties with or beats `label`.

    onnx, vnnlib, model   files, relative to the folder
    kind                  'unverifiable' (a counterexample is known) or 'clean'
    truth                 'sat' or 'unsat' where proved, '' where unknown
    counterexample        planted, for unverifiable instances of the paper's kind
    margin_lower, margin_upper, nearest, certificate
                          in the exactly labelled edition: the certified margin, the nearest tie, and the file that proves it
    """

    onnx: str
    vnnlib: str
    model: str
    kind: str
    truth: str
    radius: float
    label: int
    point: Array
    counterexample: Array | None = None
    margin_lower: float | None = None
    margin_upper: float | None = None
    nearest: Array | None = None
    certificate: str = ""

    @property
    def name(self) -> str:
        """Return the name of the instance."""
        return Path(self.vnnlib).stem

    @property
    def key(self) -> tuple[str, str]:
        """Return the name by which results refer to this instance, without its folder."""
        return Path(self.onnx).name, Path(self.vnnlib).name


COLUMNS = [field.name for field in fields(Instance)]
_NUMBERS, _VECTORS = ("radius", "margin_lower", "margin_upper"), ("point", "counterexample", "nearest")


def write_header(directory: Path, edition: str, data: dict[str, Any]) -> None:
    """Write benchmark.json; refuse a folder that is another benchmark."""
    file = directory / "benchmark.json"
    content = {"format": FORMAT, "version": __version__, "edition": edition, **data}
    if file.exists() and read_header(directory) != content:
        raise InputError(f"{directory} already holds another benchmark; choose another folder or delete this one")
    directory.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_header(directory: Path) -> dict[str, Any]:
    """Read benchmark.json."""
    file = directory / "benchmark.json"
    if not file.is_file():
        raise InputError(f"{directory}: no benchmark.json; make one with: polymargin soundness generate {directory}")
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{file}: not a soundness benchmark of the format {FORMAT!r}")
    return content


def write_instances(directory: Path, instances: Sequence[Instance], classes: dict[str, int]) -> None:
    """Write queries, instances.csv and ground_truth.csv; `classes` is the number of classes of each model file."""
    (directory / "vnnlib").mkdir(exist_ok=True)
    for instance in {instance.vnnlib: instance for instance in instances}.values():
        write_robustness_query(
            directory / instance.vnnlib,
            instance.point,
            instance.radius,
            label=instance.label,
            classes=classes[instance.model],
        )
    _write_rows(directory / "instances.csv", ([i.onnx, i.vnnlib, str(TIMEOUT)] for i in instances))
    rows = ([_cell(getattr(instance, name)) for name in COLUMNS] for instance in instances)
    _write_rows(directory / "ground_truth.csv", [COLUMNS, *rows])


def read_instances(directory: Path) -> list[Instance]:
    """Return the instances of a folder, as ground_truth.csv lists them."""
    file = directory / "ground_truth.csv"
    if not file.is_file():
        read_header(directory)
        raise InputError(f"{directory} has no instances yet; make them with: polymargin soundness train {directory}")
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            if reader.fieldnames != COLUMNS:
                raise InputError(f"{file}: expected the columns {', '.join(COLUMNS)}")
            return [_instance(row, f"{file}: row {number}") for number, row in enumerate(reader, start=1)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file}: not a CSV file ({error})") from None


def _instance(row: dict[str, str], name: str) -> Instance:
    values: dict[str, Any] = dict(row)
    try:
        values["label"] = int(row["label"])
        values.update({key: float(row[key]) if row[key] else None for key in _NUMBERS})
        values.update({key: np.array(row[key].split(), dtype=np.float64) if row[key] else None for key in _VECTORS})
    except (ValueError, TypeError, AttributeError):
        raise InputError(f"{name}: a number is missing or cannot be read") from None
    if values["kind"] not in (UNVERIFIABLE, CLEAN) or values["truth"] not in ("sat", "unsat", ""):
        raise InputError(f"{name}: kind {row['kind']!r} and truth {row['truth']!r} are not those of an instance")
    if values["point"] is None or values["radius"] is None or not 0 < values["radius"] < math.inf:
        raise InputError(f"{name}: expected a point and a positive radius")
    return Instance(**values)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return " ".join(map(repr, value.tolist())) if isinstance(value, np.ndarray) else str(value)


def _write_rows(file: Path, rows: Iterable[Sequence[str]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)
