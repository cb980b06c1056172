"""The `verify` command."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from polymargin import __version__
from polymargin.cli.models import read_both
from polymargin.cli.printing import print_json
from polymargin.cli.proofs import ProofFolder
from polymargin.cli.regions import L2, Given
from polymargin.cli.remarks import remarks
from polymargin.cli.row_table import Column, RowTable, widened
from polymargin.cli.work_options import WorkOptions
from polymargin.margins import Answer, Verdict, Verdicts
from polymargin.standing import Standing
from polymargin.times import readable_time

COLUMNS = (
    Column("class", right=True),
    Column("verdict", 10),
    Column("standing", 9),
    Column("time", 7, right=True),
    Column("why"),
)


def run_verify(
    model: Path,
    points: Path,
    radius: float,
    work: WorkOptions,
    *,
    as_json: bool,
    timeout: float,
    certificates: Path | None,
    near: Given = L2,
) -> int:
    """Verdicts for every row; 0 if all are robust, 1 if one is not, 2 if one could not be decided."""
    network, array = read_both(model, points, work.reading)
    proofs = ProofFolder(certificates, network)
    started = perf_counter()
    title = f"{model.name}: {network!r}, radius {radius:g}{near.words}"
    table = RowTable(title, widened(COLUMNS, network), len(array), silent=as_json)

    def keep(row: int, verdict: Verdict) -> None:
        proofs.keep(row, verdict.certificate)
        table.add(row, verdict_cells(verdict))

    with table.filling(work) as executor:
        verifier = work.verifier(network, executor, near)
        verdicts = verifier.verify(array, radius, timeout=timeout, checkpoint=work.checkpoint, progress=keep)
    if as_json:
        rows = [
            {"row": index, **row.to_dict(), "certificate": proofs.names[index]} for index, row in enumerate(verdicts)
        ]
        asked = {"version": __version__, "model": str(model), "radius": radius, **near.named}
        print_json({**asked, "seed": work.seed, "verdicts": rows})
    else:
        failed = [(row, found.reason) for row, found in enumerate(verdicts) if found.standing is Standing.FAILED]
        for line in remarks(failed):
            table.say(line)
        table.say(f"{verdicts.summary()}; {readable_time(perf_counter() - started)}", "dim")
        if (command := proofs.how_to_check()) is not None:
            table.say(command)
    return _exit_status(verdicts)


def verdict_cells(found: Verdict) -> list[str]:
    """One row of the table; why a row failed is said below it, once for all rows with the same trouble."""
    if found.standing is Standing.FAILED:
        return ["–", "–", "FAILED", readable_time(found.seconds), "see below"]
    return [found.label_name, found.answer.name, found.standing.name, readable_time(found.seconds), found.reason]


def _exit_status(verdicts: Verdicts) -> int:
    if Answer.UNKNOWN in verdicts.answers:
        return 2
    return 1 if Answer.VULNERABLE in verdicts.answers else 0
