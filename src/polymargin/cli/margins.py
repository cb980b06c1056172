"""The `margin` command."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from polymargin import __version__
from polymargin.cli.models import read_both
from polymargin.cli.printing import print_json
from polymargin.cli.proofs import ProofFolder
from polymargin.cli.regions import L2, Given
from polymargin.cli.remarks import remarks
from polymargin.cli.row_table import Column, RowTable, widened
from polymargin.cli.work_options import WorkOptions
from polymargin.margins import Margin, Margins
from polymargin.standing import Standing
from polymargin.times import readable_time

COLUMNS = (
    Column("class", right=True),
    Column("rival", right=True),
    Column("margin", len("0.0142755 … 0.0142984"), right=True),
    Column("method", 12),
    Column("standing", 9),
    Column("time", 7, right=True),
)
# From here on ten decimals say nothing.
LARGE = 1e10


def run_margin(
    model: Path,
    points: Path,
    work: WorkOptions,
    *,
    as_json: bool,
    proof: bool,
    timeout: float,
    certificates: Path | None,
    near: Given = L2,
) -> int:
    """Margins of every row; 1 if a proof was asked for and a row has none, 2 if some row has no answer."""
    network, array = read_both(model, points, work.reading)
    proofs = ProofFolder(certificates, network)
    started = perf_counter()
    table = RowTable(f"{model.name}: {network!r}{near.words}", widened(COLUMNS, network), len(array), silent=as_json)

    def keep(row: int, found: Margin) -> None:
        proofs.keep(row, found.certificate)
        table.add(row, margin_cells(found))

    with table.filling(work) as executor:
        verifier = work.verifier(network, executor, near)
        margins = verifier.margin(array, proof=proof, timeout=timeout, checkpoint=work.checkpoint, progress=keep)
    if as_json:
        rows = [
            {"row": index, **row.to_dict(), "certificate": proofs.names[index]} for index, row in enumerate(margins)
        ]
        asked = {"version": __version__, "model": str(model), **near.named}
        print_json({**asked, "seed": work.seed, "margins": rows})
    else:
        for line in remarks(margin_remarks(margins)):
            table.say(line)
        table.say(f"{summary(margins)}; {readable_time(perf_counter() - started)}", "dim")
        if (command := proofs.how_to_check()) is not None:
            table.say(command)
    if Standing.FAILED in margins.standings:
        return 2
    return 1 if certificates is not None and set(margins.standings) != {Standing.CERTIFIED} else 0


def margin_cells(found: Margin) -> list[str]:
    """One row of the table."""
    return [
        found.label_name,
        found.rival_name,
        _size(found),
        found.method,
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
    if cells := sum(row.cells or 0 for row in margins):
        parts.append(f"{cells} cells")
    return "; ".join(parts)


def _size(found: Margin) -> str:
    if found.error is not None:
        return "–"
    if found.standing is Standing.BRACKETED:
        return f"{found.lower:.6g} … {found.upper:.6g}"
    if math.isinf(found.radius):
        return "infinite"
    return f"{found.radius:.10f}" if found.radius < LARGE else f"{found.radius:.10g}"
