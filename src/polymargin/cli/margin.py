"""`polymargin margin`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from polymargin.cli import options as opt
from polymargin.cli.noise import NoiseOptions
from polymargin.cli.options import spread
from polymargin.cli.regions import RegionOptions
from polymargin.standing import Standing
from polymargin.times import readable_time

if TYPE_CHECKING:
    from polymargin.cli.rows import Presentation
    from polymargin.margins import Margin, Margins

# From here on ten decimals say nothing.
LARGE = 1e10


@spread
def margin(
    model: opt.Model,
    points: opt.Points,
    certificates: opt.Certificates = None,
    no_proof: Annotated[bool, typer.Option("--no-proof", help="The number alone.")] = False,
    timeout: opt.Timeout = opt.DEFAULT_TIMEOUT,
    as_json: opt.AsJson = False,
    *,
    near: RegionOptions,
    inexact: NoiseOptions,
    work: opt.WorkOptions,
    reading: opt.ReadingOptions,
) -> int:
    """Compute the distance from each point to the nearest tie with another class, with a proof."""
    from polymargin.cli.rows import RowsCommand

    keywords = inexact.keywords
    command = RowsCommand(model, points, certificates, near, as_json, work, reading)
    margins = command.answers(
        presentation(),
        lambda asked, array, **how: asked.margin(array, proof=not no_proof, timeout=timeout, **keywords, **how),
    )
    if Standing.FAILED in margins.standings:
        return 2
    return 1 if certificates is not None and set(margins.standings) != {Standing.CERTIFIED} else 0


def presentation() -> Presentation:
    """Return how margins are shown."""
    from polymargin.cli.row_table import Column
    from polymargin.cli.rows import Presentation

    columns = (
        Column("class", right=True),
        Column("rival", right=True),
        Column("margin", len("0.0142755 … 0.0142984"), right=True),
        Column("method", 12),
        Column("standing", 9),
        Column("time", 7, right=True),
    )
    return Presentation("margins", columns, cells, _notes, _summary)


def cells(found: Margin) -> list[str]:
    """Return one row of the table."""
    time = readable_time(found.seconds)
    return [found.label_name, found.rival_name, _size(found), found.method, found.standing.name, time]


def _notes(margins: Margins) -> Iterable[tuple[int, str]]:
    """Return errors and notes with their rows."""
    for index, row in enumerate(margins):
        for text in row.notes if row.error is None else (row.error,):
            yield index, text


def _summary(margins: Margins) -> str:
    """Return the numbers of answers of each standing, and the range of the margins."""
    import numpy as np

    finite = margins.radii[np.isfinite(margins.radii)]
    parts = [margins.summary()]
    if len(finite) > 1:
        parts.append(f"margins from {finite.min():.6g} to {finite.max():.6g}, median {np.median(finite):.6g}")
    if number := sum(row.cells or 0 for row in margins):
        parts.append(f"{number} cells")
    return "; ".join(parts)


def _size(found: Margin) -> str:
    if found.error is not None:
        return "–"
    if found.standing is Standing.BRACKETED:
        return f"{found.lower:.6g} … {found.upper:.6g}"
    if math.isinf(found.radius):
        return "infinite"
    return f"{found.radius:.10f}" if found.radius < LARGE else f"{found.radius:.10g}"
