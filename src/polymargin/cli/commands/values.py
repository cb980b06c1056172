"""`ranges`: which values a network computes over a set of inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymargin.cli.model_options import ModelOptions
from polymargin.cli.options import (
    DEFAULT_TIMEOUT,
    Activation,
    AsJson,
    InputShape,
    Model,
    Norm,
    Outputs,
    Seed,
    Timeout,
    Trust,
)


def ranges(
    model: Model,
    domain: Annotated[
        str | None, typer.Option(help="All inputs within lo,hi, such as 0,1.", show_default="see --points")
    ] = None,
    points: Annotated[
        Path | None,
        typer.Option(help="Data (.npy, .npz or .csv): their bounding box, or shown as observed beside --domain."),
    ] = None,
    radius: Annotated[float | None, typer.Option(help="Inputs within this distance of the only point.")] = None,
    norm: Norm = "l2",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the intervals as JSON.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Write the certificate, for `check`.")] = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    seed: Seed = 0,
    as_json: AsJson = False,
    trust: Trust = False,
    activation: Activation = None,
    outputs: Outputs = None,
    input_shape: InputShape = None,
) -> None:
    """Proved ranges of the values in every layer over a set of inputs, beside the extremes that search finds."""
    from polymargin.cli.ranges import run_ranges

    options = ModelOptions(trust, activation, outputs, input_shape)
    raise typer.Exit(
        run_ranges(
            model,
            options,
            points=points,
            domain=domain,
            radius=radius,
            norm=norm,
            output=output,
            certificate=certificate,
            timeout=timeout,
            seed=seed,
            as_json=as_json,
        )
    )
