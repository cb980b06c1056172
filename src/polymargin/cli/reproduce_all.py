"""The `reproduce` command: one table or figure of the paper, or all of them with a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from polymargin.cli.printing import plain_table, print_json, progress_bar, wide_console
from polymargin.cli.reproduce import run_ed_degree_table
from polymargin.reproduce.catalogue import ENTRIES, QUICK_DEGREES, entry
from polymargin.reproduce.everything import reproduce, reproduce_all
from polymargin.reproduce.report_items import Comparison, Reproduced, Reproduction, Run
from polymargin.times import readable_time

MARKS = {True: "yes", False: "NO", None: ""}


def run_reproduce(name: str, *, directory: Path | None, quick: bool, seed: int, as_json: bool) -> int:
    """A name of the catalogue, or "all": status 0 if everything was computed, whether it agrees with the paper or not.

    Quick results have a folder of their own, so that they never replace full ones.
    """
    folder = directory or Path("results/quick" if quick else "results")
    if name == "all":
        return _run_all(folder, quick=quick, seed=seed, as_json=as_json)
    if name in QUICK_DEGREES:
        most = QUICK_DEGREES[name] if quick else None
        return run_ed_degree_table(
            name, directory=folder, seed=seed, threads=None, largest_degree=most, as_json=as_json
        )
    chosen = entry(name)
    with progress_bar() as bar:
        task = bar.add_task(name, total=1)
        found = reproduce(
            chosen, Run(folder, seed, quick, lambda message: bar.update(task, description=f"{name} {message}"))
        )
        bar.update(task, completed=1)
    if as_json or found.outcome is None:
        print_json(_plain(found))
    else:
        _print_one(found, found.outcome)
    return 0


def _run_all(directory: Path, *, quick: bool, seed: int, as_json: bool) -> int:
    with progress_bar() as bar:
        task = bar.add_task("reproduce", total=len(ENTRIES))

        def advance(name: str, message: str) -> None:
            bar.update(task, advance=0 if message else 1, description=f"{name} {message}")

        found = reproduce_all(directory, quick=quick, seed=seed, progress=advance)
    report = directory / "report.html"
    if as_json:
        print_json({"report": str(report), "entries": [_plain(one) for one in found]})
    else:
        wide_console().print(_overview(found))
        for one in found:
            for row in one.disagreements:
                print(f"  {one.entry.name}, {row.name}: printed {row.printed}, ours {row.ours}")
            if one.outcome is None:
                print(f"  {one.entry.name} was not computed: {one.error.strip().splitlines()[-1]}")
        print(f"report: {report}")
    return 2 if any(one.outcome is None for one in found) else 0


def _overview(found: Sequence[Reproduction]) -> Table:
    table = plain_table()
    table.add_column("entry")
    table.add_column("agrees", justify="right")
    table.add_column("time", justify="right")
    for one in found:
        agrees = f"{one.compared - len(one.disagreements)} of {one.compared}" if one.outcome else "not computed"
        style = "bold red" if one.outcome is None or one.disagreements else None
        table.add_row(one.entry.name, agrees, readable_time(one.seconds), style=style)
    return table


def _print_one(found: Reproduction, outcome: Reproduced) -> None:
    wide_console().print(_comparisons(found.entry.title, outcome.rows))
    for note in outcome.notes:
        print(note)
    for file in outcome.files:
        print(f"wrote {file}")
    print(f"{readable_time(found.seconds)}; again with: {found.command}")


def _comparisons(title: str, rows: Sequence[Comparison]) -> Table:
    table = plain_table(title)
    for column in ("", "printed", "ours", "agrees"):
        table.add_column(column)
    for row in rows:
        cells = (row.name, row.printed, row.ours, MARKS[row.agrees])
        table.add_row(*cells, style="bold red" if row.agrees is False else None)
    return table


def _plain(found: Reproduction) -> dict[str, Any]:
    outcome = found.outcome
    return {
        "entry": found.entry.name,
        "command": found.command,
        "seed": found.run.seed if found.entry.random else None,
        "seconds": round(found.seconds, 2),
        "error": found.error or None,
        "rows": [vars(row) for row in outcome.rows] if outcome else [],
        "notes": list(outcome.notes) if outcome else [],
        "files": [str(file) for file in outcome.files] if outcome else [],
    }
