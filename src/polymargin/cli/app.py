"""`polymargin`: the commands, their options, and what every one of them does about errors.

Exit status: 0 every row has an answer (`verify`: all robust, `check`: all proved), 1 something is not robust or not
proved, 2 something could not be answered or the input is bad; see `entry` for the rest.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

import polymargin
from polymargin.cli.group import Commands
from polymargin.cli.options import AsJson, Label, Limit, Model, NoCache, Points, Rival, Seed, Threads, Trust
from polymargin.cli.reproduce_commands import commands as reproduce_commands
from polymargin.cli.soundness import commands as soundness_commands
from polymargin.cli.vnnlib import commands as vnnlib_commands

app = typer.Typer(
    cls=Commands,
    help="Exact robustness margins for polynomial neural networks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.add_typer(reproduce_commands, name="reproduce")
app.add_typer(soundness_commands, name="soundness")
app.add_typer(vnnlib_commands, name="vnnlib")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polymargin {polymargin.__version__}")
        if find_spec("cupy") is not None:
            from polymargin.gpu import description

            typer.echo(f"GPU: {description()}")
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
    model: Model,
    points: Points,
    as_json: AsJson = False,
    threads: Threads = None,
    seed: Seed = 0,
    limit: Limit = 200_000,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File that collects finished rows; the same command continues where it stopped."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds per point, for ReLU networks.", show_default="none")
    ] = None,
    no_cache: NoCache = False,
    trust: Trust = False,
) -> None:
    """Distance from each point to the nearest tie with another class."""
    from polymargin.cli.margins import run_margin
    from polymargin.cli.piecewise import relu_network_in, run_relu_margin

    relu = relu_network_in(model)
    if relu is not None:
        if checkpoint is not None:
            raise typer.BadParameter("there are no checkpoints for ReLU networks; leave --checkpoint out")
        raise typer.Exit(run_relu_margin(relu, model, points, as_json=as_json, seed=seed, timeout=timeout))

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
            trust=trust,
        )
    )


@app.command(epilog="Example: polymargin verify model.npz points.csv --radius 0.1 --certificates proofs")
def verify(
    model: Model,
    points: Points,
    radius: Annotated[float, typer.Option(help="Radius of the ball around each point.")],
    certificates: Annotated[Path | None, typer.Option(help="Directory for the proofs, one file per point.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds per point.")] = 60.0,
    as_json: AsJson = False,
    threads: Threads = None,
    seed: Seed = 0,
    limit: Limit = 200_000,
    no_cache: NoCache = False,
    trust: Trust = False,
) -> None:
    """Does the class stay the same within a radius? With a proof, or honestly unknown."""
    from polymargin.cli.piecewise import relu_network_in, run_relu_verify
    from polymargin.cli.verdicts import run_verify

    relu = relu_network_in(model)
    if relu is not None:
        if certificates is not None:
            raise typer.BadParameter("there are no certificates for ReLU networks; leave --certificates out")
        raise typer.Exit(run_relu_verify(relu, model, points, radius, as_json=as_json, seed=seed, timeout=timeout))

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
            trust=trust,
        )
    )


@app.command(epilog="Example: polymargin report model.onnx images.npz --labels labels.csv -o report.html")
def report(
    model: Model,
    data: Annotated[
        Path, typer.Argument(help="Points, one per row, or images (.npy, .npz or .csv).", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Right classes, one per row (.npy, .npz or .csv).",
            show_default="'labels' in DATA if it is an .npz file",
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the page.", show_default="the name of the model")] = "",
    image: Annotated[
        str | None,
        typer.Option(help="Shape of an image, such as 28x28 or 3x32x32, or none.", show_default="squares from 8x8"),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Only so many rows, the first ones.", show_default="all")
    ] = None,
    certificates: Annotated[
        Path | None, typer.Option(help="Prove every row, and keep the certificates in this directory.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File that collects finished rows; the same command continues where it stopped."),
    ] = None,
    norm: Annotated[str, typer.Option(help="Norm of a perturbation: l2, linf or l1.")] = "l2",
    domain: Annotated[
        str | None, typer.Option(help="Perturbed points stay within lo,hi, such as 0,1.", show_default="anywhere")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds per point where all critical points are too many.")] = 30.0,
    threads: Threads = None,
    seed: Seed = 0,
    limit: Limit = 200_000,
    no_cache: NoCache = False,
    trust: Trust = False,
) -> None:
    """One page about a data set: certified accuracy, margins, classes, rivals, the most vulnerable inputs."""
    from polymargin.cli.report import run_report

    raise typer.Exit(
        run_report(
            model,
            data,
            output,
            labels=labels,
            title=title,
            image=image,
            rows=rows,
            certificates=certificates,
            checkpoint=checkpoint,
            norm=norm,
            domain=domain,
            timeout=timeout,
            threads=threads,
            seed=seed,
            limit=limit,
            cache=not no_cache,
            trust=trust,
        )
    )


@app.command(epilog="Example: polymargin explore model.npz points.csv")
def explore(
    model: Model,
    points: Annotated[
        Path | None, typer.Argument(help="Points, one per row, or images (.npy, .npz or .csv).", show_default=False)
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Right classes, one per row (.npy, .npz or .csv).",
            show_default="'labels' in POINTS if it is an .npz file",
        ),
    ] = None,
    plane: Annotated[
        str | None,
        typer.Option(help="Three rows i,j,k of POINTS: the plane through them.", show_default="the first three"),
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="Window s0,s1,c0,c1 of the plane.", show_default="around the points")
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(help="Shape of an image, such as 28x28 or 3x32x32, or none.", show_default="squares from 8x8"),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write a page that needs no server to this .html file, and serve nothing.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1.", show_default="any free one")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, open nothing.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds per answer where all critical points are too many.")] = 5.0,
    seed: Seed = 0,
    trust: Trust = False,
) -> None:
    """A page in which a point is dragged: boundary, margin, critical points, chambers, counterexamples."""
    from polymargin.cli.explore import run_explore

    raise typer.Exit(
        run_explore(
            model,
            points,
            labels=labels,
            plane=plane,
            window=window,
            image=image,
            export=export,
            port=port,
            browser=not no_browser,
            timeout=timeout,
            seed=seed,
            trust=trust,
        )
    )


@app.command(epilog="Example: polymargin check model.npz proofs/point-0.json")
def check(
    model: Model,
    certificates: Annotated[list[Path], typer.Argument(help="Certificate files.")],
    exact: Annotated[
        bool, typer.Option("--exact", help="Trust no floating-point arithmetic, however large the matrices.")
    ] = False,
) -> None:
    """Check certificates with the separate checker: 0 only if every one is proved."""
    from polymargin_checker.__main__ import main as checker

    raise typer.Exit(checker([*(["--exact"] if exact else []), str(model), *map(str, certificates)]))


@app.command(epilog="Example: polymargin discriminant model.npz --plot discriminant.png")
def discriminant(
    model: Model,
    parameters: Annotated[
        bool,
        typer.Option("--parameters", help="In the space of weights instead: where the ED degree of a quadric drops."),
    ] = False,
    label: Label = 0,
    rival: Rival = 1,
    exact: Annotated[
        bool, typer.Option("--exact", help="With --parameters: take the weights as exact rationals.")
    ] = False,
    window: Annotated[str, typer.Option(help="Window u0,u1,v0,v1 of the picture.")] = "-3,3,-3,3",
    plot: Annotated[list[Path] | None, typer.Option(help="Draw into this .png or .svg file; may be repeated.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for the exact polynomial.")] = 120.0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Where the number of real critical points changes: the ED discriminant, as a polynomial and as a picture."""
    if parameters:
        from polymargin.cli.quadrics import run_discriminant

        raise typer.Exit(run_discriminant(model, label=label, rival=rival, exact=exact, as_json=as_json))
    from polymargin.cli.discriminants import run_ed_discriminant

    raise typer.Exit(
        run_ed_discriminant(
            model,
            label=label,
            rival=rival,
            window=window,
            plot=plot or [],
            timeout=timeout,
            threads=threads,
            as_json=as_json,
        )
    )


@app.command(epilog="Example: polymargin ed-degree --architecture 3,3,2,2 --degree 2 --method all")
def ed_degree(
    model: Annotated[
        Path | None, typer.Argument(help="Network file, for the boundary between two of its classes.")
    ] = None,
    architecture: Annotated[str | None, typer.Option(help="Inputs, hidden widths, classes: 3,3,2,2.")] = None,
    degree: Annotated[int | None, typer.Option(min=1, help="Degree of the activation, with --architecture.")] = None,
    attention: Annotated[str | None, typer.Option(help="Lightning self-attention t,d,d',a: 2,2,1,1.")] = None,
    method: Annotated[str, typer.Option(help="auto, formula, numeric, blend, symbolic or all.")] = "auto",
    label: Label = 0,
    rival: Rival = 1,
    seed: Seed = 0,
    threads: Threads = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for the symbolic method.")] = 600.0,
    as_json: AsJson = False,
) -> None:
    """Number of critical points of the distance to a boundary, for a generic point: a measure of how hard margins are."""
    from polymargin.cli.ed_degrees import run_ed_degree

    raise typer.Exit(
        run_ed_degree(
            model,
            architecture=architecture,
            degree=degree,
            attention=attention,
            method=method,
            label=label,
            rival=rival,
            seed=seed,
            threads=threads,
            timeout=timeout,
            as_json=as_json,
        )
    )


@app.command(epilog="Example: polymargin chambers model.npz --window -3,3,-3,3 --plot chambers.png")
def chambers(
    model: Model,
    label: Label = 0,
    rival: Rival = 1,
    window: Annotated[str, typer.Option(help="Window s0,s1,c0,c1 of the plane.")] = "-3,3,-3,3",
    samples: Annotated[int, typer.Option(min=9, help="Samples in the plane.")] = 15_000,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the plane where there are more than two inputs.")] = 0,
    threads: Threads = None,
    plot: Annotated[list[Path] | None, typer.Option(help="Draw into this .png or .svg file; may be repeated.")] = None,
    as_json: AsJson = False,
) -> None:
    """Regions of a plane of points with equal numbers of real critical points."""
    from polymargin.cli.chambers import run_chambers

    raise typer.Exit(
        run_chambers(
            model,
            label=label,
            rival=rival,
            window=window,
            samples=samples,
            seed=seed,
            threads=threads,
            plot=plot or [],
            as_json=as_json,
        )
    )


@app.command(epilog="Example: polymargin expected --dimension 2 --degree 3 --simulate 1000")
def expected(
    dimension: Annotated[int, typer.Option(min=1, max=100, help="Number of inputs.")],
    degree: Annotated[int, typer.Option(min=1, help="Degree of the activation.")],
    point: Annotated[
        str | None, typer.Option(help="The point, numbers separated by commas.", show_default="origin")
    ] = None,
    simulate: Annotated[
        int | None, typer.Option(min=1, help="Also count critical points of this many random networks.")
    ] = None,
    as_json: AsJson = False,
    threads: Threads = None,
    seed: Seed = 0,
) -> None:
    """Expected number of real critical points of a random wide shallow network."""
    from polymargin.cli.expected import run_expected

    raise typer.Exit(
        run_expected(dimension, degree, point=point, simulate=simulate, seed=seed, threads=threads, as_json=as_json)
    )


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
