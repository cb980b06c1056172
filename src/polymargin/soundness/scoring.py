"""Scores with the names of SoundnessBench, of any verifier that wrote results as VNN-COMP has them.

sat counts as falsified and unsat as verified; everything else, and what is missing, is undecided. A verified instance with a
known counterexample is a soundness error. Where the truth is known to be unsat, so is a falsified one.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polymargin.errors import InputError
from polymargin.soundness.benchmark_files import CLEAN, UNVERIFIABLE, Instance

# What verifiers write; violated and holds are older words for the same.
WORDS = {"sat": "sat", "violated": "sat", "unsat": "unsat", "holds": "unsat"}


@dataclass(frozen=True)
class Score:
    """Counts and ratios; a ratio over no instances is NaN.

    soundness_errors   instances answered against the known truth
    undecided          instances with neither sat nor unsat, missing ones included
    seconds            of all answers together
    """

    clean_instance_verified_ratio: float
    clean_instance_falsified_ratio: float
    unverifiable_instance_verified_ratio: float
    unverifiable_instance_falsified_ratio: float
    instances: int
    verified: int
    falsified: int
    undecided: int
    soundness_errors: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; a ratio over zero is null."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }


def score(instances: Sequence[Instance], results: Mapping[tuple[str, str], tuple[str, float]]) -> Score:
    """Score results: (onnx name, vnnlib name) to (word, seconds)."""
    answers = [WORDS.get(results.get(instance.key, ("", 0.0))[0], "undecided") for instance in instances]
    pairs = list(zip(instances, answers, strict=True))
    errors = sum(answer in ("sat", "unsat") and instance.truth not in ("", answer) for instance, answer in pairs)
    return Score(
        clean_instance_verified_ratio=_ratio(pairs, CLEAN, "unsat"),
        clean_instance_falsified_ratio=_ratio(pairs, CLEAN, "sat"),
        unverifiable_instance_verified_ratio=_ratio(pairs, UNVERIFIABLE, "unsat"),
        unverifiable_instance_falsified_ratio=_ratio(pairs, UNVERIFIABLE, "sat"),
        instances=len(instances),
        verified=answers.count("unsat"),
        falsified=answers.count("sat"),
        undecided=answers.count("undecided"),
        soundness_errors=errors,
        seconds=sum(results[instance.key][1] for instance in instances if instance.key in results),
    )


def read_results(file: str | Path) -> dict[tuple[str, str], tuple[str, float]]:
    """Read VNN-COMP's results: category, onnx, vnnlib, seconds to prepare, result, seconds to run."""
    path = Path(file)
    if not path.is_file():
        raise InputError(
            f"{path}: no such file; expected VNN-COMP results: category, onnx, vnnlib, seconds, result, seconds"
        )
    found: dict[tuple[str, str], tuple[str, float]] = {}
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            rows = [row for row in csv.reader(lines) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file ({error})") from None
    for number, row in enumerate(rows, start=1):
        try:
            _, onnx, vnnlib, _, result, seconds = (cell.strip() for cell in row)
            found[Path(onnx).name, Path(vnnlib).name] = (result.lower(), float(seconds))
        except ValueError:
            raise InputError(
                f"{path}: row {number} is {','.join(row)[:80]!r}; expected category, onnx, vnnlib, seconds, result, seconds"
            ) from None
    return found


def _ratio(pairs: list[tuple[Instance, str]], kind: str, answer: str) -> float:
    of_kind = [given for instance, given in pairs if instance.kind == kind]
    return of_kind.count(answer) / len(of_kind) if of_kind else math.nan
