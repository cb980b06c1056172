"""`discriminant`, `ed-degree`, `chambers`, `critical-points` and `expected`: questions about a boundary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymargin.cli.model_options import ModelOptions
from polymargin.cli.options import (
    Activation,
    AsJson,
    Cluster,
    InputShape,
    Label,
    Outputs,
    Plots,
    Rival,
    Seed,
    Threads,
    Trust,
)

CountLimit = Annotated[
    int, typer.Option(min=1, help="Refuse to count a boundary that may have more critical points than this.")
]

OptionalModel = Annotated[
    Path | None, typer.Argument(help="Network file, for the boundary between two of its classes.")
]
Expression = Annotated[
    str | None, typer.Option(help="A polynomial or an equation instead of a model, such as 'x**2 + 4*y**2 = 4'.")
]
Expressions = Annotated[
    list[str] | None,
    typer.Option("--expression", help="A polynomial or an equation instead of a model; several are a variety."),
]
Variables = Annotated[
    str | None, typer.Option(help="Names of the inputs of the expression, in order.", show_default="all, sorted")
]
MetricText = Annotated[
    str | None,
    typer.Option(
        "--metric", help="Weights 1,4 of the inputs, rows of a matrix '2,1;1,3', or generic.", show_default="Euclidean"
    ),
]


def discriminant(
    model: OptionalModel = None,
    expression: Expression = None,
    variables: Variables = None,
    metric: MetricText = None,
    parameters: Annotated[
        bool,
        typer.Option("--parameters", help="In the space of weights instead: where the ED degree of a quadric drops."),
    ] = False,
    label: Label = 0,
    rival: Rival = 1,
    window: Annotated[str, typer.Option(help="Window left,right,bottom,top of the picture.")] = "-3,3,-3,3",
    plot: Plots = None,
    timeout: Annotated[float, typer.Option(help="Seconds for the exact polynomial.")] = 120.0,
    threads: Threads = None,
    trust: Trust = False,
    activation: Activation = None,
    outputs: Outputs = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
) -> None:
    """Where the number of real critical points changes: the ED discriminant, as a polynomial and as a picture."""
    from polymargin.cli.subjects import GivenModel

    reading = ModelOptions(trust, activation, outputs, input_shape)
    subject = GivenModel(model, reading, [expression] if expression else [], variables, label, rival, metric)
    if parameters:
        from polymargin.cli.quadrics import run_discriminant

        raise typer.Exit(run_discriminant(subject, as_json=as_json))
    from polymargin.cli.discriminants import run_ed_discriminant

    raise typer.Exit(
        run_ed_discriminant(
            subject,
            window=window,
            plot=plot or [],
            timeout=timeout,
            threads=threads,
            as_json=as_json,
        )
    )


def ed_degree(
    model: OptionalModel = None,
    expression: Expressions = None,
    variables: Variables = None,
    metric: MetricText = None,
    architecture: Annotated[str | None, typer.Option(help="Inputs, hidden widths, classes: 3,3,2,2.")] = None,
    degree: Annotated[int | None, typer.Option(min=1, help="Degree of the activation, with --architecture.")] = None,
    attention: Annotated[str | None, typer.Option(help="Lightning self-attention t,d,d',a: 2,2,1,1.")] = None,
    method: Annotated[str, typer.Option(help="auto, formula, numeric, symbolic or all.")] = "auto",
    label: Label = 0,
    rival: Rival = 1,
    seed: Seed = 0,
    threads: Threads = None,
    limit: CountLimit = 200_000,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for the symbolic method.")] = 600.0,
    trust: Trust = False,
    activation: Activation = None,
    outputs: Outputs = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
) -> None:
    """Number of critical points of the distance to a boundary, for a generic point: a measure of how hard margins are."""
    from polymargin.cli.ed_degrees import run_ed_degree
    from polymargin.cli.subjects import GivenModel

    reading = ModelOptions(trust, activation, outputs, input_shape)
    raise typer.Exit(
        run_ed_degree(
            GivenModel(model, reading, expression or [], variables, label, rival, metric),
            architecture=architecture,
            degree=degree,
            attention=attention,
            method=method,
            seed=seed,
            threads=threads,
            limit=limit,
            timeout=timeout,
            as_json=as_json,
        )
    )


def chambers(
    model: OptionalModel = None,
    expression: Expression = None,
    variables: Variables = None,
    metric: MetricText = None,
    label: Label = 0,
    rival: Rival = 1,
    window: Annotated[str, typer.Option(help="Window left,right,bottom,top of the plane.")] = "-3,3,-3,3",
    samples: Annotated[int, typer.Option(min=9, help="Samples in the plane.")] = 15_000,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the plane where there are more than two inputs.")] = 0,
    threads: Threads = None,
    limit: CountLimit = 200_000,
    cluster: Cluster = None,
    plot: Plots = None,
    trust: Trust = False,
    activation: Activation = None,
    outputs: Outputs = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
) -> None:
    """Regions of a plane of inputs in which the number of real critical points is constant."""
    from polymargin.cli.chambers import run_chambers
    from polymargin.cli.subjects import GivenModel

    reading = ModelOptions(trust, activation, outputs, input_shape)
    raise typer.Exit(
        run_chambers(
            GivenModel(model, reading, [expression] if expression else [], variables, label, rival, metric),
            window=window,
            samples=samples,
            seed=seed,
            threads=threads,
            limit=limit,
            cluster=cluster,
            plot=plot or [],
            as_json=as_json,
        )
    )


def critical_points(
    model: OptionalModel = None,
    point: Annotated[str, typer.Option(help="The point, numbers separated by commas.")] = "",
    expression: Expressions = None,
    variables: Variables = None,
    metric: MetricText = None,
    label: Label = 0,
    rival: Rival = 1,
    seed: Seed = 0,
    threads: Threads = None,
    limit: CountLimit = 200_000,
    trust: Trust = False,
    activation: Activation = None,
    outputs: Outputs = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
) -> None:
    """All critical points of the distance from one point to a boundary, real and complex, the nearest first."""
    from polymargin.cli.critical_points import run_critical_points
    from polymargin.cli.subjects import GivenModel

    reading = ModelOptions(trust, activation, outputs, input_shape)
    subject = GivenModel(model, reading, expression or [], variables, label, rival, metric)
    raise typer.Exit(run_critical_points(subject, point, seed=seed, threads=threads, limit=limit, as_json=as_json))


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
    cluster: Cluster = None,
    seed: Seed = 0,
) -> None:
    """Expected number of real critical points of a random wide shallow network."""
    from polymargin.cli.expected import run_expected

    raise typer.Exit(
        run_expected(
            dimension,
            degree,
            point=point,
            simulate=simulate,
            seed=seed,
            threads=threads,
            cluster=cluster,
            as_json=as_json,
        )
    )
