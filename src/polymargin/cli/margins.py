"""The `margin` command."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from polymargin import __version__
from polymargin.cli.models import read_both
from polymargin.cli.printing import print_json
from polymargin.cli.regions import L2, Given
from polymargin.cli.remarks import remarks
from polymargin.cli.row_table import Column, RowTable, widened
from polymargin.cli.work_options import WorkOptions
from polymargin.margins import Margin, Margins, margin
from polymargin.piecewise import PiecewiseMargin, piecewise_margin
from polymargin.standing import Standing
from polymargin.times import readable_time

COLUMNS = (
    Column("class", right=True),
    Column("rival", right=True),
    Column("margin", len("0.0142755 … 0.0142984"), right=True),
    Column("method", 12),
    Column("complex / real", right=True),
    Column("standing", 9),
    Column("time", 7, right=True),
)
# Methods that answer without a list of critical points.
NOTHING_LISTED = ("tie", "exclusion", "constant")
# From here on ten decimals say nothing.
LARGE = 1e10


def run_margin(
    model: Path,
    points: Path,
    work: WorkOptions,
    *,
    as_json: bool,
    timeout: float | None,
    near: Given = L2,
) -> int:
    """Margins of every row; 2 if some row has no answer."""
    network, array = read_both(model, points, work.reading)
    started = perf_counter()
    table = RowTable(f"{model.name}: {network!r}{near.words}", widened(COLUMNS, network), len(array), silent=as_json)
    with table.filling(work) as executor:
        shared: dict[str, Any] = {
            "executor": executor,
            "on_row": lambda row, found: table.add(row, margin_cells(found)),
        }
        if not network.is_polynomial:
            near.refuse_for_piecewise()
            margins = piecewise_margin(network, array, timeout=timeout, **work.for_any_network, **shared)
        else:
            bounds = near.keywords
            bounds |= {} if timeout is None else {"timeout": timeout}
            margins = margin(network, array, **bounds, **work.for_polynomial_networks, **shared)
    if as_json:
        rows = [{"row": index, **row.to_dict()} for index, row in enumerate(margins)]
        asked = {"version": __version__, "model": str(model), **near.named}
        print_json({**asked, "seed": work.seed, "margins": rows})
    else:
        for line in remarks(margin_remarks(margins)):
            table.say(line)
        table.say(f"{summary(margins)}; {readable_time(perf_counter() - started)}", "dim")
    return 2 if Standing.FAILED in margins.standings else 0


def margin_cells(found: Margin) -> list[str]:
    """One row of the table."""
    listed = found.complex_count is not None and found.method not in NOTHING_LISTED
    return [
        found.label_name,
        found.rival_name,
        _size(found),
        found.method,
        f"{found.complex_count} / {found.real_count}" if listed else "–",
        found.standing.name,
        readable_time(found.seconds),
    ]


def margin_remarks(margins: Sequence[Margin]) -> list[tuple[int, str]]:
    """Errors and notes with the rows they belong to."""
    return [
        (index, text)
        for index, row in enumerate(margins)
        for text in (row.notes if row.error is None else (row.error,))
    ]


def summary(margins: Margins) -> str:
    """How many answers of which standing, and where the margins lie."""
    finite = margins.radii[np.isfinite(margins.radii)]
    parts = [margins.summary()]
    if len(finite) > 1:
        parts.append(f"margins from {finite.min():.6g} to {finite.max():.6g}, median {np.median(finite):.6g}")
    searched = [row for row in margins if isinstance(row, PiecewiseMargin)]
    if searched:
        cells, programs = sum(row.cells for row in searched), sum(row.programs for row in searched)
        parts.append(f"{cells} cells, {programs} quadratic programs")
    return "; ".join(parts)


def _size(found: Margin) -> str:
    if found.error is not None:
        return "–"
    if found.standing is Standing.BRACKETED:
        return f"{found.lower:.6g} … {found.upper:.6g}"
    if math.isinf(found.radius):
        return "infinite"
    return f"{found.radius:.10f}" if found.radius < LARGE else f"{found.radius:.10g}"
