"""What the `soundness` commands do, and `reproduce table3`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymargin.cli.jobs import workers
from polymargin.cli.printing import plain_table, print_json, wide_console
from polymargin.errors import InputError
from polymargin.times import readable_time

if TYPE_CHECKING:
    from polymargin.soundness import Instance, Score


def run_generate(
    directory: Path,
    *,
    hidden: list[str] | None,
    degrees: list[int] | None,
    radii: list[float] | None,
    inputs: int,
    classes: int,
    count: int,
    epochs: int,
    powers: str,
    seed: int,
) -> int:
    from polymargin.soundness import Plan, generate_benchmark, settings_grid
    from polymargin.soundness.settings import PAPER_DEGREES, PAPER_HIDDEN, PAPER_RADII

    widths = [_widths(text) for text in hidden] if hidden else [(width,) for width in PAPER_HIDDEN]
    sizes = {"inputs": inputs, "classes": classes, "unverifiable": count, "clean": count}
    settings = settings_grid(widths, degrees or PAPER_DEGREES, radii or PAPER_RADII, **sizes)
    generate_benchmark(directory, settings, Plan(epochs=epochs, seed=seed), powers=powers)
    print(f"{len(settings)} networks planned in {directory}; next: polymargin soundness train {directory}")
    return 0


def run_generate_exact(directory: Path, *, points: int, seed: int) -> int:
    from polymargin.soundness import ExactPlan, generate_exact_edition

    instances = generate_exact_edition(directory, ExactPlan(points=points, seed=seed), progress=_remark)
    print(f"{len(instances)} instances with proved labels in {directory}")
    return 0


def run_train(directory: Path, *, jobs: int) -> int:
    from polymargin.soundness import train_benchmark

    with workers(jobs) as executor:
        networks = train_benchmark(directory, executor=executor, progress=_remark)
    failed = sum(network.attempt for network in networks)
    print(f"{len(networks)} networks trained in {directory}; {failed} attempts did not plant every counterexample")
    return 0


def run_verify_benchmark(directory: Path, *, timeout: float, jobs: int, seed: int, as_json: bool) -> int:
    from polymargin.soundness import read_instances, read_results, verify_benchmark
    from polymargin.soundness import score as score_of

    with workers(jobs) as executor:
        outcomes = verify_benchmark(directory, timeout=timeout, seed=seed, executor=executor, progress=_remark)
    instances = read_instances(directory)
    found = score_of(instances, read_results(directory / "results.csv"))
    if as_json:
        print_json({**found.to_dict(), "outcomes": [vars(item) for item in outcomes]})
    else:
        _print_scores(directory, instances, read_results(directory / "results.csv"))
        print(f"{sum(item.proved for item in outcomes)} of {len(outcomes)} certificates accepted by the checker")
    return _status(found)


def run_score(directory: Path, results: Path | None, *, as_json: bool) -> int:
    from polymargin.soundness import read_instances, read_results
    from polymargin.soundness import score as score_of

    instances = read_instances(directory)
    answers = read_results(directory / "results.csv" if results is None else results)
    found = score_of(instances, answers)
    if as_json:
        print_json(found.to_dict())
    else:
        _print_scores(directory, instances, answers)
    return 1 if found.soundness_errors else 0


def run_table3(directory: Path, *, epochs: int, seed: int, jobs: int, as_json: bool) -> int:
    """Status 0 if every unverifiable instance is falsified and every verdict proved."""
    from polymargin.reproduce.table3 import reproduce_table3

    with workers(jobs) as executor:
        rows = reproduce_table3(directory, epochs=epochs, seed=seed, executor=executor, progress=_remark)
    if as_json:
        print_json({"table": "table3", "seed": seed, "epochs": epochs, "rows": rows})
    else:
        _print_table3(f"table3, seed {seed}; kept in {directory}", rows)
    complete = all(row["falsified_unverifiable"] == 1.0 and row["proved"] == row["instances"] for row in rows)
    return 0 if complete else 2


def _print_scores(directory: Path, instances: list[Instance], answers: Any) -> None:
    """One line per network and one for all of them."""
    from polymargin.soundness import score as score_of

    table = plain_table(str(directory))
    table.add_column("network")
    names = (
        "unverifiable falsified",
        "verified",
        "clean falsified",
        "verified",
        "undecided",
        "soundness errors",
        "time",
    )
    for name in names:
        table.add_column(name, justify="right")
    groups = {instance.onnx: [other for other in instances if other.onnx == instance.onnx] for instance in instances}
    for name, group in [*((Path(onnx).stem, group) for onnx, group in groups.items()), ("all", instances)]:
        found = score_of(group, answers)
        ratios = (
            found.unverifiable_instance_falsified_ratio,
            found.unverifiable_instance_verified_ratio,
            found.clean_instance_falsified_ratio,
            found.clean_instance_verified_ratio,
        )
        counts = (str(found.undecided), str(found.soundness_errors), readable_time(found.seconds))
        style = "bold red" if found.soundness_errors else None
        table.add_row(name, *(f"{ratio:.0%}" for ratio in ratios), *counts, style=style)
    wide_console().print(table)


def _print_table3(title: str, rows: list[dict[str, Any]]) -> None:
    table = plain_table(title)
    for name in (
        "h",
        "d",
        "ε",
        "unverifiable",
        "printed",
        "clean",
        "printed",
        "seconds",
        "printed",
        "shared",
        "proved",
    ):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            str(row["hidden"]),
            str(row["degree"]),
            str(row["epsilon"]),
            f"{row['falsified_unverifiable']:.0%}",
            f"{row['falsified_unverifiable_printed']:.0%}",
            f"{row['falsified_clean']:.0%}",
            f"{row['falsified_clean_printed']:.0%}",
            f"{row['seconds_mean']:g} ({row['seconds_std']:g})",
            f"{row['seconds_mean_printed']:g} ({row['seconds_std_printed']:g})",
            f"{row['seconds_shared']:g}",
            f"{row['proved']} of {row['instances']}",
        )
    wide_console().print(table)


def _status(found: Score) -> int:
    if found.soundness_errors:
        return 1
    return 2 if found.undecided else 0


def _remark(text: str) -> None:
    print(text, file=sys.stderr)


def _widths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--hidden {text!r}: expected widths such as 6 or 10,10") from None
