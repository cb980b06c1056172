"""`polymargin ranges`: which values a network computes over a set of inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polymargin.cli.options import DEFAULT_TIMEOUT, AsJson, Model, Norm, Plots, ReadingOptions, Seed, Timeout, spread
from polymargin.errors import InputError
from polymargin.standing import Standing


@spread
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
    plot: Plots = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    seed: Seed = 0,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> int:
    """Prove ranges of the values in every layer over a set of inputs, beside the extremes that search finds."""
    from polymargin.cli.models import read_both, read_model
    from polymargin.cli.points import check_pictures, interval
    from polymargin.cli.printing import print_json
    from polymargin.cli.regions import RegionOptions
    from polymargin.value_ranges import ranges as ranges_of

    pictures = check_pictures(plot)
    network, data = (read_model(model, reading), None) if points is None else read_both(model, points, reading)
    if radius is None:
        if norm != "l2":
            raise InputError(f"--norm {norm} without --radius: expected a radius around one point")
        box = None if domain is None else interval(domain)
        found = ranges_of(network, data, domain=box, timeout=timeout, seed=seed)
    else:
        within = RegionOptions(norm=norm, domain=domain).region
        found = ranges_of(network, data, radius=radius, within=within, timeout=timeout, seed=seed)
    for file in pictures:
        from polymargin.plots.range_bars import draw_ranges

        draw_ranges(found, file)
    if output is not None:
        found.to_json(output)
    if certificate is not None:
        if found.certificate is None:
            raise InputError(f"--certificate {certificate}: there is none ({found.note}); a longer --timeout may help")
        found.certificate.save(certificate)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(repr(found))
        if found.note:
            typer.echo(found.note)
    return 0 if found.standing is Standing.CERTIFIED else 1
