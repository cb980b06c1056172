"""The `ranges` command."""

from __future__ import annotations

from pathlib import Path

import typer

from polymargin.cli.model_options import ModelOptions
from polymargin.cli.models import read_both, read_model
from polymargin.cli.points import interval
from polymargin.cli.printing import print_json
from polymargin.cli.regions import Given
from polymargin.errors import InputError
from polymargin.standing import Standing


def run_ranges(
    model: Path,
    options: ModelOptions,
    *,
    points: Path | None,
    domain: str | None,
    radius: float | None,
    norm: str,
    output: Path | None,
    certificate: Path | None,
    timeout: float,
    seed: int,
    as_json: bool,
) -> int:
    """Print the ranges of all layers; 0 if they are proved, 1 if not."""
    from polymargin.value_ranges import ranges

    if points is None:
        network, data = read_model(model, options), None
    else:
        network, data = read_both(model, points, options)
    if radius is None:
        if norm != "l2":
            raise InputError(f"--norm {norm} without --radius: expected a radius around one point")
        box = None if domain is None else interval(domain)
        found = ranges(network, data, domain=box, timeout=timeout, seed=seed)
    else:
        within = Given(norm=norm, domain=domain).region
        found = ranges(network, data, radius=radius, within=within, timeout=timeout, seed=seed)
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
