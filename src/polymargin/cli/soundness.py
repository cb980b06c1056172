"""The `soundness` commands: generate, train, verify, score; and `reproduce table3`.

Exit status of verify and score: 0 if nothing is answered against a known truth and, for verify, everything is answered with a
proof; 1 for a soundness error; 2 if something stayed open, or for bad input.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from polymargin.soundness import Instance, Score

commands = typer.Typer(
    help="The soundness benchmark: networks with planted counterexamples, or with exactly known margins.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Folder = Annotated[Path, typer.Argument(help="Folder of the benchmark.")]
Jobs = Annotated[int, typer.Option(min=1, help="Networks worked on at the same time, one thread each.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@commands.command(epilog="Example: polymargin soundness generate benchmark && polymargin soundness train benchmark")
def generate(
    context: typer.Context,
    directory: Folder,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="The exactly labelled edition: random networks, radii around certified margins."),
    ] = False,
    hidden: Annotated[
        list[str] | None, typer.Option(help="Hidden widths, such as 6 or 10,10; may be repeated.", show_default="6, 10")
    ] = None,
    degree: Annotated[
        list[int] | None, typer.Option(min=1, help="Activation degree; may be repeated.", show_default="2, 3")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Radius; may be repeated.", show_default="0.2, 0.5")
    ] = None,
    inputs: Annotated[int, typer.Option(min=1, help="Number of inputs.")] = 8,
    classes: Annotated[int, typer.Option(min=2, help="Number of classes.")] = 2,
    count: Annotated[
        int, typer.Option(min=1, help="Unverifiable instances, and as many clean ones; --exact: points.")
    ] = 10,
    epochs: Annotated[int, typer.Option(min=1, help="Training epochs.")] = 5000,
    powers: Annotated[str, typer.Option(help="How z^d is spelled in ONNX files: Pow or Mul.")] = "Pow",
    seed: Seed = 0,
) -> None:
    """Lay out a benchmark: the paper's by default, to be trained, or with --exact one that needs no training."""
    if exact:
        for name in ("hidden", "degree", "epsilon", "inputs", "classes", "epochs", "powers"):
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise typer.BadParameter(f"--{name} belongs to trained networks; --exact takes --count and --seed")
        raise typer.Exit(run_generate_exact(directory, points=count, seed=seed))
    raise typer.Exit(
        run_generate(
            directory,
            hidden=hidden,
            degrees=degree,
            radii=epsilon,
            inputs=inputs,
            classes=classes,
            count=count,
            epochs=epochs,
            powers=powers,
            seed=seed,
        )
    )


@commands.command(epilog="Example: polymargin soundness train benchmark --jobs 2")
def train(directory: Folder, jobs: Jobs = 1) -> None:
    """Train the networks until every counterexample is planted, and write ONNX, VNN-LIB and instances.csv."""
    raise typer.Exit(run_train(directory, jobs=jobs))


@commands.command(epilog="Example: polymargin soundness verify benchmark")
def verify(
    directory: Folder,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds per instance.")] = 60.0,
    jobs: Jobs = 1,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Exact margins, verdicts and certificates of every instance, each certificate given to the separate checker."""
    raise typer.Exit(run_verify_benchmark(directory, timeout=timeout, jobs=jobs, seed=seed, as_json=as_json))


@commands.command(epilog="Example: polymargin soundness score benchmark --results other_verifier.csv")
def score(
    directory: Folder,
    results: Annotated[
        Path | None, typer.Option(help="VNN-COMP results of any verifier.", show_default="results.csv of the folder")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verified and falsified shares of a verifier's results, and its soundness errors."""
    raise typer.Exit(run_score(directory, results, as_json=as_json))


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

    with _pool(jobs) as executor:
        networks = train_benchmark(directory, executor=executor, progress=_remark)
    failed = sum(network.attempt for network in networks)
    print(f"{len(networks)} networks trained in {directory}; {failed} attempts did not plant every counterexample")
    return 0


def run_verify_benchmark(directory: Path, *, timeout: float, jobs: int, seed: int, as_json: bool) -> int:
    from polymargin.soundness import read_instances, read_results, verify_benchmark
    from polymargin.soundness import score as score_of

    with _pool(jobs) as executor:
        outcomes = verify_benchmark(directory, timeout=timeout, seed=seed, executor=executor, progress=_remark)
    instances = read_instances(directory)
    found = score_of(instances, read_results(directory / "results.csv"))
    if as_json:
        print(json.dumps({**found.to_dict(), "outcomes": [vars(item) for item in outcomes]}, indent=1))
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
        print(json.dumps(found.to_dict(), indent=1))
    else:
        _print_scores(directory, instances, answers)
    return 1 if found.soundness_errors else 0


def run_table3(directory: Path, *, epochs: int, seed: int, jobs: int, as_json: bool) -> int:
    """Status 0 if every unverifiable instance is falsified and every verdict proved."""
    from polymargin.reproduce.table3 import reproduce_table3

    with _pool(jobs) as executor:
        rows = reproduce_table3(directory, epochs=epochs, seed=seed, executor=executor, progress=_remark)
    if as_json:
        print(json.dumps({"table": "table3", "seed": seed, "epochs": epochs, "rows": rows}, indent=1))
    else:
        _print_table3(f"table3, seed {seed}; kept in {directory}", rows)
    complete = all(row["falsified_unverifiable"] == 1.0 and row["proved"] == row["instances"] for row in rows)
    return 0 if complete else 2


def _print_scores(directory: Path, instances: list[Instance], answers: Any) -> None:
    """One line per network and one for all of them."""
    from rich.table import Table

    from polymargin.cli.margins import wide_console
    from polymargin.cli.tables import literal
    from polymargin.soundness import score as score_of

    table = Table(title=literal(str(directory)), title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("network")
    names = (
        "unverifiable falsified",
        "verified",
        "clean falsified",
        "verified",
        "undecided",
        "soundness errors",
        "seconds",
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
        counts = (str(found.undecided), str(found.soundness_errors), f"{found.seconds:.3f}")
        style = "bold red" if found.soundness_errors else None
        table.add_row(name, *(f"{ratio:.0%}" for ratio in ratios), *counts, style=style)
    wide_console().print(table)


def _print_table3(title: str, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from polymargin.cli.margins import wide_console

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
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
    from polymargin.errors import InputError

    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--hidden {text!r}: expected widths such as 6 or 10,10") from None


@contextmanager
def _pool(jobs: int) -> Iterator[Executor | None]:
    """Processes that start afresh: torch does not survive a fork once it has threads."""
    if jobs == 1:
        yield None
        return
    from multiprocessing import get_context

    from polymargin.processes import die_with

    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=die_with, initargs=(os.getpid(),)) as executor:
        yield executor
