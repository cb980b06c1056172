"""`polymargin soundness`: generate, train, verify, score.

Exit status of verify and score: 0 if nothing is answered against a known truth and, for verify, everything is answered with a
proof; 1 for a soundness error; 2 if something stayed open, or for bad input.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin.cli.options import AsJson, Jobs, Seed, spread
from polymargin.times import readable_time

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


@commands.command(epilog="Example: polymargin soundness generate benchmark && polymargin soundness train benchmark")
@spread
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
    powers: Annotated[str, typer.Option(help="How z^d is written in ONNX files: Pow or Mul.")] = "Pow",
    seed: Seed = 0,
) -> int:
    """Lay out a benchmark: the paper's by default, to be trained, or with --exact one that needs no training."""
    if exact:
        for name in ("hidden", "degree", "epsilon", "inputs", "classes", "epochs", "powers"):
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise typer.BadParameter(f"--{name} belongs to trained networks; --exact takes --count and --seed")
        from polymargin.soundness import ExactPlan, generate_exact_edition

        instances = generate_exact_edition(directory, ExactPlan(points=count, seed=seed), progress=_remark)
        print(f"{len(instances)} instances with proved labels in {directory}")
        return 0
    from polymargin.cli.points import whole_numbers
    from polymargin.soundness import Plan, generate_benchmark, settings_grid
    from polymargin.soundness.settings import PAPER_DEGREES, PAPER_HIDDEN, PAPER_RADII

    widths = [tuple(whole_numbers(text, "--hidden", "widths such as 6 or 10,10")) for text in hidden or []]
    sizes = {"inputs": inputs, "classes": classes, "unverifiable": count, "clean": count}
    radii, planned = epsilon or PAPER_RADII, widths or [(width,) for width in PAPER_HIDDEN]
    settings = settings_grid(planned, degree or PAPER_DEGREES, radii, **sizes)
    generate_benchmark(directory, settings, Plan(epochs=epochs, seed=seed), powers=powers)
    print(f"{len(settings)} networks planned in {directory}; next: polymargin soundness train {directory}")
    return 0


@commands.command(epilog="Example: polymargin soundness train benchmark --jobs 2")
@spread
def train(directory: Folder, jobs: Jobs = 1) -> int:
    """Train the networks until every counterexample is planted, and write ONNX, VNN-LIB and instances.csv."""
    from polymargin.cli.jobs import workers
    from polymargin.soundness import train_benchmark

    with workers(jobs) as executor:
        networks = train_benchmark(directory, executor=executor, progress=_remark)
    failed = sum(network.attempt for network in networks)
    print(f"{len(networks)} networks trained in {directory}; {failed} attempts did not plant every counterexample")
    return 0


@commands.command(epilog="Example: polymargin soundness verify benchmark")
@spread
def verify(
    directory: Folder,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds per instance.")] = 60.0,
    jobs: Jobs = 1,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Compute exact margins, verdicts and certificates of every instance; the separate checker judges each certificate."""
    from polymargin.cli.jobs import workers
    from polymargin.soundness import verify_benchmark

    with workers(jobs) as executor:
        outcomes = verify_benchmark(directory, timeout=timeout, seed=seed, executor=executor, progress=_remark)
    more = {"outcomes": [vars(item) for item in outcomes]}
    found = _scored(directory, directory / "results.csv", more, as_json=as_json)
    if not as_json:
        print(f"{sum(item.proved for item in outcomes)} of {len(outcomes)} certificates accepted by the checker")
    return 1 if found.soundness_errors else 2 if found.undecided else 0


@commands.command(epilog="Example: polymargin soundness score benchmark --results other_verifier.csv")
@spread
def score(
    directory: Folder,
    results: Annotated[
        Path | None, typer.Option(help="VNN-COMP results of any verifier.", show_default="results.csv of the folder")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Return score a verifier's results: verified and falsified shares, and soundness errors."""
    found = _scored(directory, directory / "results.csv" if results is None else results, {}, as_json=as_json)
    return 1 if found.soundness_errors else 0


def _scored(directory: Path, results: Path, more: dict[str, Any], *, as_json: bool) -> Score:
    """Print the score of a verifier's results, and return it."""
    from polymargin.cli.printing import print_json
    from polymargin.soundness import read_instances, read_results
    from polymargin.soundness import score as score_of

    instances, answers = read_instances(directory), read_results(results)
    found = score_of(instances, answers)
    if as_json:
        print_json({**found.to_dict(), **more})
    else:
        _print_scores(directory, instances, answers)
    return found


def _print_scores(directory: Path, instances: list[Instance], answers: Any) -> None:
    """Print one line per network and one for all of them."""
    from polymargin.cli.printing import plain_table, wide_console
    from polymargin.soundness import score as score_of

    columns = (
        ">unverifiable falsified",
        ">verified",
        ">clean falsified",
        ">verified",
        ">undecided",
        ">soundness errors",
        ">time",
    )
    table = plain_table(str(directory), "network", *columns)
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


def _remark(text: str) -> None:
    print(text, file=sys.stderr)
