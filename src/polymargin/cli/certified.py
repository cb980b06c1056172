"""The `certify` command."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from time import perf_counter

from polymargin import __version__
from polymargin.certificates import CertifiedMargin, certify
from polymargin.cli.margins import LARGE, margin_remarks
from polymargin.cli.models import read_both
from polymargin.cli.printing import print_json
from polymargin.cli.proofs import ProofFolder, no_proofs_for_piecewise
from polymargin.cli.regions import L2, Given
from polymargin.cli.remarks import remarks
from polymargin.cli.row_table import Column, RowTable, widened
from polymargin.cli.work_options import WorkOptions
from polymargin.standing import Standing
from polymargin.times import readable_time

COLUMNS = (
    Column("class", right=True),
    Column("rival", right=True),
    Column("at least", 12, right=True),
    Column("at most", 12, right=True),
    Column("standing", 9),
    Column("time", 7, right=True),
    Column("proved by"),
)
LAST_DIGIT = Decimal("1e-10")


def run_certify(
    model: Path,
    points: Path,
    work: WorkOptions,
    *,
    method: str,
    as_json: bool,
    timeout: float,
    certificates: Path | None,
    near: Given = L2,
) -> int:
    """Proved bounds of the margin of every row; 0 if all are CERTIFIED, 1 if the bounds of one do not meet, 2 if one has none."""
    network, array = read_both(model, points, work.reading)
    if not network.is_polynomial:
        raise no_proofs_for_piecewise(str(model))
    proofs = ProofFolder(certificates, network)
    started = perf_counter()
    table = RowTable(
        f"{model.name}: {network!r}, margins between proved bounds{near.words}",
        widened(COLUMNS, network),
        len(array),
        silent=as_json,
    )

    def keep(row: int, found: CertifiedMargin) -> None:
        proofs.keep(row, found.certificate)
        table.add(row, certified_cells(found))

    with table.filling(work) as executor:
        found = certify(
            network,
            array,
            method=method,
            timeout=timeout,
            on_row=keep,
            executor=executor,
            **near.keywords,
            **work.for_polynomial_networks,
        )
    if as_json:
        rows = [{"row": index, **row.to_dict(), "certificate": proofs.names[index]} for index, row in enumerate(found)]
        asked = {"version": __version__, "model": str(model), **near.named}
        print_json({**asked, "seed": work.seed, "margins": rows})
    else:
        for line in remarks(margin_remarks([row.margin for row in found])):
            table.say(line)
        table.say(f"{found.summary()}; {readable_time(perf_counter() - started)}", "dim")
        if (command := proofs.how_to_check()) is not None:
            table.say(command)
    if Standing.FAILED in found.standings:
        return 2
    return 1 if Standing.BRACKETED in found.standings else 0


def certified_cells(found: CertifiedMargin) -> list[str]:
    """One row of the table; bounds are rounded outward, so that they are true as printed."""
    margin = found.margin
    if margin.error is not None:
        return ["–", "–", "–", "–", "FAILED", readable_time(margin.seconds), "see below"]
    return [
        found.label_name,
        found.rival_name,
        _rounded(margin.lower, ROUND_FLOOR),
        _rounded(margin.upper, ROUND_CEILING),
        margin.standing.name,
        readable_time(margin.seconds),
        margin.method,
    ]


def _rounded(value: float, direction: str) -> str:
    """
    >>> _rounded(0.1, ROUND_FLOOR), _rounded(0.1, ROUND_CEILING)
    ('0.1000000000', '0.1000000001')
    >>> _rounded(1e30 / 3, ROUND_FLOOR), _rounded(1e30 / 3, ROUND_CEILING)
    ('3.333333333e+29', '3.333333334e+29')
    """
    if math.isinf(value):
        return "infinite"
    if value < LARGE:
        return str(Decimal(value).quantize(LAST_DIGIT, rounding=direction))
    return f"{Context(prec=10, rounding=direction).create_decimal(Decimal(value)):e}"
