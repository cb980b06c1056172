"""`margin`, `verify`, `check`, `report`, `explore` and `demo`: questions about the points of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymargin.cli.model_options import ModelOptions
from polymargin.cli.options import (
    DEFAULT_TIMEOUT,
    Abstain,
    Activation,
    AsJson,
    Certificates,
    Data,
    DataOrNone,
    Domain,
    Image,
    InputShape,
    Labels,
    Model,
    Movable,
    Norm,
    Outputs,
    Points,
    Rivals,
    Seed,
    Threads,
    Timeout,
    Trust,
    Weights,
)
from polymargin.cli.regions import Given
from polymargin.cli.work_options import WorkOptions, spread


@spread
def margin(
    model: Model,
    points: Points,
    certificates: Certificates = None,
    no_proof: Annotated[bool, typer.Option("--no-proof", help="The number alone.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    norm: Norm = "l2",
    weights: Weights = None,
    domain: Domain = None,
    movable: Movable = None,
    rivals: Rivals = None,
    abstain: Abstain = 0.0,
    as_json: AsJson = False,
    *,
    work: WorkOptions,
) -> None:
    """Distance from each point to the nearest tie with another class, with a proof."""
    from polymargin.cli.margins import run_margin

    near = Given(norm, weights, domain, movable, rivals, abstain)
    raise typer.Exit(
        run_margin(
            model,
            points,
            work,
            as_json=as_json,
            proof=not no_proof,
            timeout=timeout,
            certificates=certificates,
            near=near,
        )
    )


@spread
def verify(
    model: Model,
    points: Points,
    radius: Annotated[float, typer.Option(help="Radius of the ball around each point, in the norm.")],
    certificates: Certificates = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    norm: Norm = "l2",
    weights: Weights = None,
    domain: Domain = None,
    movable: Movable = None,
    rivals: Rivals = None,
    abstain: Abstain = 0.0,
    as_json: AsJson = False,
    *,
    work: WorkOptions,
) -> None:
    """Does the class stay the same within a radius? Yes or no with a proof, otherwise unknown."""
    from polymargin.cli.verdicts import run_verify

    near = Given(norm, weights, domain, movable, rivals, abstain)
    raise typer.Exit(
        run_verify(model, points, radius, work, as_json=as_json, timeout=timeout, certificates=certificates, near=near)
    )


def check(
    model: Model,
    certificates: Annotated[list[Path], typer.Argument(help="Certificate files.")],
    exact: Annotated[
        bool, typer.Option("--exact", help="Trust no floating-point arithmetic, however large the matrices.")
    ] = False,
    trust: Trust = False,
    activation: Activation = None,
    outputs: Outputs = None,
    input_shape: InputShape = None,
) -> None:
    """Check certificates with the separate checker: 0 only if every one is proved."""
    from polymargin.cli.checks import run_check

    raise typer.Exit(run_check(model, certificates, ModelOptions(trust, activation, outputs, input_shape), exact=exact))


@spread
def report(
    model: Model,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    labels: Labels = None,
    title: Annotated[str, typer.Option(help="Title of the page.", show_default="the name of the model")] = "",
    image: Image = None,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Use only the first so many rows.", show_default="all")
    ] = None,
    certificates: Annotated[
        Path | None, typer.Option(help="Prove every row and save the certificates in this folder.")
    ] = None,
    norm: Norm = "l2",
    domain: Domain = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    *,
    work: WorkOptions,
) -> None:
    """Write one page about a data set: robust accuracy, margins, classes, rivals, the most vulnerable inputs."""
    from polymargin.cli.report import run_report

    raise typer.Exit(
        run_report(
            model,
            data,
            output,
            work,
            labels=labels,
            title=title,
            image=image,
            rows=rows,
            certificates=certificates,
            norm=norm,
            domain=domain,
            timeout=timeout,
        )
    )


def explore(
    model: Model,
    points: DataOrNone = None,
    labels: Labels = None,
    plane: Annotated[
        str | None,
        typer.Option(help="Three rows i,j,k of POINTS: the plane through them.", show_default="the first three"),
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="Window left,right,bottom,top of the plane.", show_default="around the points")
    ] = None,
    image: Image = None,
    export: Annotated[
        Path | None, typer.Option(help="Write a page that needs no server to this .html file instead of serving one.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1.", show_default="any free one")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address without opening a browser.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds for one answer.")] = 5.0,
    seed: Seed = 0,
    trust: Trust = False,
    activation: Activation = None,
    outputs: Outputs = None,
    input_shape: InputShape = None,
) -> None:
    """A page in which you drag a point: boundary, margin, critical points, chambers, counterexamples."""
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
            reading=ModelOptions(trust, activation, outputs, input_shape),
        )
    )


def demo(
    radius: Annotated[float, typer.Option(min=0.0, help="Radius of the verdicts.")] = 0.2,
    as_json: AsJson = False,
    threads: Threads = None,
    seed: Seed = 0,
) -> None:
    """Margins of the small trained networks that come with the package."""
    from polymargin.cli.demo import run_demo

    raise typer.Exit(run_demo(radius, as_json=as_json, threads=threads, seed=seed))
