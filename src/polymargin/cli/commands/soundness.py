"""The `soundness` commands and their options: generate, train, verify, score.

Exit status of verify and score: 0 if nothing is answered against a known truth and, for verify, everything is answered with a
proof; 1 for a soundness error; 2 if something stayed open, or for bad input.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymargin.cli.options import AsJson, Jobs, Seed

commands = typer.Typer(
    help="The soundness benchmark: networks with planted counterexamples, or with exactly known margins.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Folder = Annotated[Path, typer.Argument(help="Folder of the benchmark.")]


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
    powers: Annotated[str, typer.Option(help="How z^d is written in ONNX files: Pow or Mul.")] = "Pow",
    seed: Seed = 0,
) -> None:
    """Lay out a benchmark: the paper's by default, to be trained, or with --exact one that needs no training."""
    if exact:
        for name in ("hidden", "degree", "epsilon", "inputs", "classes", "epochs", "powers"):
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise typer.BadParameter(f"--{name} belongs to trained networks; --exact takes --count and --seed")
        from polymargin.cli.soundness import run_generate_exact

        raise typer.Exit(run_generate_exact(directory, points=count, seed=seed))
    from polymargin.cli.soundness import run_generate

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
    from polymargin.cli.soundness import run_train

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
    from polymargin.cli.soundness import run_verify_benchmark

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
    from polymargin.cli.soundness import run_score

    raise typer.Exit(run_score(directory, results, as_json=as_json))
