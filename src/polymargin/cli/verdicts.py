"""The `verify` command."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

from polymargin.certificates import Answer, Verdict, Verdicts, verify
from polymargin.cli.entry import going_on
from polymargin.cli.jobs import workers
from polymargin.cli.margins import no_proofs_for_relu
from polymargin.cli.models import how_to_go_on, read_both
from polymargin.cli.neighbourhoods import L2, Given
from polymargin.cli.printing import print_json
from polymargin.cli.proofs import ProofFolder
from polymargin.cli.remarks import remarks
from polymargin.cli.row_table import Column, RowTable
from polymargin.piecewise import ReLUNetwork, piecewise_verify
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
    *,
    as_json: bool,
    threads: int | None,
    jobs: int,
    cluster: str | None,
    seed: int,
    limit: int,
    timeout: float | None,
    certificates: Path | None,
    checkpoint: Path | None,
    cache: bool,
    trust: bool,
    near: Given = L2,
) -> int:
    """Verdicts for every row; 0 if all are robust, 1 if one is not, 2 if one could not be decided."""
    network, array = read_both(model, points, trust)
    if certificates is not None and isinstance(network, ReLUNetwork):
        raise no_proofs_for_relu("--certificates")
    folder = None if certificates is None else ProofFolder(certificates, network)  # type: ignore[arg-type]
    files: dict[int, str | None] = {}
    started = perf_counter()
    table = RowTable(f"{model.name}: {network!r}, radius {radius:g}", COLUMNS, len(array), silent=as_json)

    def keep(row: int, verdict: Verdict) -> None:
        files[row] = None if folder is None else folder.keep(row, verdict.certificate)
        table.add(row, verdict_cells(verdict))

    with (
        going_on(lambda: how_to_go_on(checkpoint, table.finished, len(array))),
        table,
        workers(jobs, cluster) as executor,
    ):
        shared: dict[str, Any] = {"timeout": timeout, "seed": seed, "checkpoint": checkpoint, "executor": executor}
        if isinstance(network, ReLUNetwork):
            near.refuse_for_relu()
            verdicts = piecewise_verify(network, array, radius, on_row=keep, **shared)
        else:
            shared |= near.keywords
            verdicts = verify(network, array, radius, threads=threads, limit=limit, cache=cache, on_row=keep, **shared)
    if as_json:
        rows = [{"row": index, **row.to_dict(), "certificate": files[index]} for index, row in enumerate(verdicts)]
        print_json({"model": str(model), "radius": radius, "seed": seed, "verdicts": rows})
    else:
        failed = [(row, found.reason) for row, found in enumerate(verdicts) if found.status is Standing.FAILED]
        for line in remarks(failed):
            table.say(line)
        table.say(f"{verdicts.summary()}; {readable_time(perf_counter() - started)}", "dim")
        if folder is not None:
            table.say(folder.how_to_check)
    return _exit_status(verdicts)


def verdict_cells(found: Verdict) -> list[str]:
    """One row of the table; why a row failed is said below it, once for all rows with the same trouble."""
    if found.status is Standing.FAILED:
        return ["–", "–", "FAILED", readable_time(found.seconds), "see below"]
    return [str(found.label), found.answer.name, found.status.name, readable_time(found.seconds), found.reason]


def _exit_status(verdicts: Verdicts) -> int:
    if Answer.UNKNOWN in verdicts.answers:
        return 2
    return 1 if Answer.VULNERABLE in verdicts.answers else 0
