"""Every instance of a benchmark: its exact margin, a verdict at its radius, and a proof that the checker accepts.

What is timed, on one thread: `margin_seconds` is the full margin of the point, all critical points and the nearest one, after
work shared by the points of a network (`shared_seconds`: base solutions, or an eigendecomposition); `verdict_seconds`
is `verify` at the radius with its certificate. The margin and the verdict come from different computations and must agree.
"""

from __future__ import annotations

import csv
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from polymargin.errors import PolymarginError
from polymargin.margins import Answer, Margin, Settings, Verdict, Verifier
from polymargin.networks import load
from polymargin.soundness.benchmark_files import Instance, read_instances
from polymargin.soundness.checking import proved
from polymargin.standing import Standing
from polymargin.vnnlib.competition import ResultRow, write_results
from polymargin.work import Workers, completed

RESULTS = {Answer.ROBUST: "unsat", Answer.VULNERABLE: "sat", Answer.UNKNOWN: "unknown"}
# Beyond this relative distance from the margin, margin and verdict have no excuse to disagree.
SLIVER = 1e-9


@dataclass(frozen=True)
class VerifierOutcome:
    """The outcome for one instance.

    margin, standing, method     of `margin`; margin_seconds its time, shared_seconds the network's share done once
    result                       sat or unsat where the checker proves the verdict, unknown otherwise; verdict_seconds its time
    answer, proved               of `verify`, and whether the separate checker accepts its certificate
    """

    onnx: str
    vnnlib: str
    kind: str
    radius: float
    label: int
    margin: float
    standing: str
    method: str
    margin_seconds: float
    shared_seconds: float
    answer: str
    proved: bool
    result: str
    verdict_seconds: float
    certificate: str


def verify_benchmark(
    directory: str | Path,
    *,
    timeout: float = 60.0,
    seed: int = 0,
    executor: Workers | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[VerifierOutcome]:
    """Answer every instance; write outcomes.csv, results.csv (VNN-COMP's columns) and the certificates."""
    folder = Path(directory)
    groups: dict[tuple[str, str], list[Instance]] = {}
    for instance in read_instances(folder):
        groups.setdefault((instance.model, instance.onnx), []).append(instance)
    (folder / "certificates").mkdir(exist_ok=True)
    work = partial(verify_network, folder, timeout=timeout, seed=seed)
    found: dict[int, list[VerifierOutcome]] = {}
    for index, outcomes in completed(work, list(groups.values()), executor):
        found[index] = outcomes
        if progress is not None:
            progress(outcomes[0].onnx)
    outcomes = [outcome for index in range(len(groups)) for outcome in found[index]]
    write_outcomes(folder / "outcomes.csv", outcomes)
    rows = [ResultRow("polymargin", o.onnx, o.vnnlib, 0.0, o.result, o.verdict_seconds) for o in outcomes]
    write_results(folder / "results.csv", rows)
    return outcomes


def verify_network(folder: Path, instances: Sequence[Instance], *, timeout: float, seed: int) -> list[VerifierOutcome]:
    """Answer the instances of one network on one thread."""
    network = load(folder / instances[0].model)
    points, row = np.unique(np.stack([instance.point for instance in instances]), axis=0, return_inverse=True)
    with tempfile.TemporaryDirectory() as cache:
        started = perf_counter()
        verifier = Verifier(network, workers=1, seed=seed, settings=Settings(cache=cache))
        margins = verifier.margin(points, proof=False)
        shared = perf_counter() - started - sum(found.seconds for found in margins)
        verdicts = [
            verifier.verify(instance.point[None], instance.radius, timeout=timeout)[0] for instance in instances
        ]
    names = [f"{Path(instance.onnx).stem}_{instance.name}.json" for instance in instances]
    files = [
        verdict.certificate.save(folder / "certificates" / name) if verdict.certificate is not None else None
        for verdict, name in zip(verdicts, names, strict=True)
    ]
    answers = iter(proved(folder / instances[0].model, [file for file in files if file is not None]))
    outcomes = []
    for instance, verdict, file, index in zip(instances, verdicts, files, row.ravel().tolist(), strict=True):
        found = margins[index]
        check_agreement(instance, found, verdict)
        accepted = file is not None and next(answers)
        outcomes.append(
            VerifierOutcome(
                onnx=instance.onnx,
                vnnlib=instance.vnnlib,
                kind=instance.kind,
                radius=instance.radius,
                label=instance.label,
                margin=found.radius,
                standing=found.standing.name,
                method=found.method,
                margin_seconds=found.seconds,
                shared_seconds=shared,
                answer=verdict.answer.name,
                proved=accepted,
                result=RESULTS[verdict.answer] if accepted else "unknown",
                verdict_seconds=verdict.seconds,
                certificate="" if file is None else f"certificates/{file.name}",
            )
        )
    return outcomes


def check_agreement(instance: Instance, found: Margin, verdict: Verdict) -> None:
    """Stop if the enumeration and the proof contradict each other, or the class is not the one of the instance."""
    if verdict.label != instance.label:
        raise PolymarginError(f"{instance.name}: the network says class {verdict.label}, the instance {instance.label}")
    if found.standing is Standing.FAILED or verdict.answer is Answer.UNKNOWN:
        return
    above = found.lower > instance.radius * (1 + SLIVER)
    below = found.upper < instance.radius * (1 - SLIVER)
    if (above and verdict.answer is Answer.VULNERABLE) or (below and verdict.answer is Answer.ROBUST):
        raise PolymarginError(f"{instance.name}: {found!r} contradicts {verdict!r}; this is a bug, please report it")


def write_outcomes(file: Path, outcomes: Sequence[VerifierOutcome]) -> None:
    """Write outcomes.csv."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([field.name for field in fields(VerifierOutcome)])
        writer.writerows([[_cell(getattr(item, field.name)) for field in fields(VerifierOutcome)] for item in outcomes])


def _cell(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) and math.isfinite(value) else value
