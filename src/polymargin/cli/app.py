"""`polymargin`: the commands, their options, and what every one of them does about errors.

Exit status: 0 every row has an answer (`verify`: all robust, `check`: all proved), 1 something is not robust or not
proved, 2 something could not be answered or the input is bad, 130 interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import polymargin

app = typer.Typer(
    help="Exact robustness margins for polynomial neural networks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Threads = Annotated[int | None, typer.Option(min=1, help="Worker threads.", show_default="all cores")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]
Limit = Annotated[int, typer.Option(min=1, help="Refuse boundaries with more critical points.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Keep no stage-1 solutions on disk.")]
Label = Annotated[int, typer.Option(min=0, help="One class of the boundary.")]
Rival = Annotated[int, typer.Option(min=0, help="The other class.")]
Exact = Annotated[bool, typer.Option("--exact", help="Take the weights as exact rationals.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polymargin {polymargin.__version__}")
        raise typer.Exit


@app.callback()
def polymargin_command(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Exact robustness margins for polynomial neural networks."""


@app.command(epilog="Example: polymargin margin model.npz points.csv --checkpoint run.jsonl")
def margin(
    model: Annotated[Path, typer.Argument(help="Network file (.npz).")],
    points: Annotated[Path, typer.Argument(help="Points, one per row (.npy, .npz or .csv).")],
    as_json: AsJson = False,
    threads: Threads = None,
    seed: Seed = 0,
    limit: Limit = 200_000,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File that collects finished rows; the same command continues where it stopped."),
    ] = None,
    no_cache: NoCache = False,
) -> None:
    """Distance from each point to the nearest tie with another class."""
    from polymargin.cli.margins import run_margin

    raise typer.Exit(
        run_margin(
            model,
            points,
            as_json=as_json,
            threads=threads,
            seed=seed,
            limit=limit,
            checkpoint=checkpoint,
            cache=not no_cache,
        )
    )


@app.command(epilog="Example: polymargin verify model.npz points.csv --radius 0.1 --certificates proofs")
def verify(
    model: Annotated[Path, typer.Argument(help="Network file (.npz).")],
    points: Annotated[Path, typer.Argument(help="Points, one per row (.npy, .npz or .csv).")],
    radius: Annotated[float, typer.Option(help="Radius of the ball around each point.")],
    certificates: Annotated[Path | None, typer.Option(help="Directory for the proofs, one file per point.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds per point.")] = 60.0,
    as_json: AsJson = False,
    threads: Threads = None,
    seed: Seed = 0,
    limit: Limit = 200_000,
    no_cache: NoCache = False,
) -> None:
    """Does the class stay the same within a radius? With a proof, or honestly unknown."""
    from polymargin.cli.verdicts import run_verify

    raise typer.Exit(
        run_verify(
            model,
            points,
            radius,
            as_json=as_json,
            threads=threads,
            seed=seed,
            limit=limit,
            timeout=timeout,
            certificates=certificates,
            cache=not no_cache,
        )
    )


@app.command(epilog="Example: polymargin check model.npz proofs/point-0.json")
def check(
    model: Annotated[Path, typer.Argument(help="Network file (.npz).")],
    certificates: Annotated[list[Path], typer.Argument(help="Certificate files.")],
) -> None:
    """Check certificates with the separate checker: 0 only if every one is proved."""
    from polymargin_checker.__main__ import main as checker

    raise typer.Exit(checker([str(model), *map(str, certificates)]))


@app.command(epilog="Example: polymargin discriminant --parameters model.npz")
def discriminant(
    model: Annotated[Path, typer.Argument(help="Network file (.npz) of degree two.")],
    parameters: Annotated[
        bool, typer.Option("--parameters", help="The parameter discriminant; the only one in this version.")
    ] = False,
    label: Label = 0,
    rival: Rival = 1,
    exact: Exact = False,
    as_json: AsJson = False,
) -> None:
    """Where the ED degree of a quadratic boundary drops: det A, det M, repeated eigenvalues."""
    from polymargin.cli.quadrics import run_discriminant

    if not parameters:
        raise typer.BadParameter("say which discriminant: --parameters")
    raise typer.Exit(run_discriminant(model, label=label, rival=rival, exact=exact, as_json=as_json))


@app.command(epilog="Example: polymargin ed-degree model.npz --label 0 --rival 1")
def ed_degree(
    model: Annotated[Path, typer.Argument(help="Network file (.npz) of degree two.")],
    label: Label = 0,
    rival: Rival = 1,
    exact: Exact = False,
    as_json: AsJson = False,
) -> None:
    """Number of critical points of the distance to a quadratic boundary, for a generic point."""
    from polymargin.cli.quadrics import run_ed_degree

    raise typer.Exit(run_ed_degree(model, label=label, rival=rival, exact=exact, as_json=as_json))


@app.command(epilog="Example: polymargin demo --radius 0.3")
def demo(
    radius: Annotated[float, typer.Option(min=0.0, help="Radius of the verdicts.")] = 0.2,
    as_json: AsJson = False,
    threads: Threads = None,
    seed: Seed = 0,
) -> None:
    """Margins of the small trained networks that come with the package."""
    from polymargin.cli.demo import run_demo

    raise typer.Exit(run_demo(radius, as_json=as_json, threads=threads, seed=seed))


def main() -> None:
    """Entry point: errors made for people are printed as one sentence, without a traceback."""
    from polymargin.errors import PolymarginError

    try:
        app()
    except PolymarginError as error:
        print(f"polymargin: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"polymargin: {error.filename or 'file'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("polymargin: interrupted; with --checkpoint the same command continues", file=sys.stderr)
        sys.exit(130)
