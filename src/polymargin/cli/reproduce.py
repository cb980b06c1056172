"""`polymargin reproduce`: tables and figures of the paper, and a report that compares printed values with ours.

Exit status 0 if everything was computed, whether it agrees with the paper or not, and 2 if something was not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymargin.cli.options import AsJson, Jobs, Seed, Threads, spread
from polymargin.times import readable_time

if TYPE_CHECKING:
    from polymargin.reproduce.report_items import Reproduction

commands = typer.Typer(help="Tables and figures of the paper, recomputed.", no_args_is_help=True)

RESULTS = Path("results")
Directory = Annotated[Path, typer.Option(help="Folder for results; run the same command again to resume.")]
LargestDegree = Annotated[int | None, typer.Option(min=1, help="Leave out rows with a larger printed ED degree.")]


def _add_ed_degree_table(table: str, summary: str) -> None:
    @commands.command(table, help=summary, epilog=f"Example: polymargin reproduce {table} --largest-degree 100")
    @spread
    def command(
        directory: Directory = RESULTS / "tables",
        largest_degree: LargestDegree = None,
        seed: Seed = 0,
        threads: Threads = None,
        as_json: AsJson = False,
    ) -> int:
        return _ed_degree_table(table, directory, largest_degree, seed=seed, threads=threads, as_json=as_json)


_add_ed_degree_table("table1", "ED degrees of deep networks, printed and ours.")
_add_ed_degree_table("table2", "ED degrees of lightning self-attention, printed and ours.")


@commands.command("table3", epilog="Example: polymargin reproduce table3 --jobs 2")
@spread
def table3(
    directory: Directory = RESULTS / "soundness",
    epochs: Annotated[int, typer.Option(min=1, help="Training epochs.")] = 5000,
    jobs: Jobs = 1,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Train and verify the soundness benchmark with planted counterexamples, beside the printed numbers."""
    from polymargin.cli.jobs import workers
    from polymargin.cli.printing import plain_table, print_json, wide_console
    from polymargin.reproduce.table3 import reproduce_table3

    def remark(text: str) -> None:
        print(text, file=sys.stderr)

    with workers(jobs) as executor:
        rows = reproduce_table3(directory, epochs=epochs, seed=seed, executor=executor, progress=remark)
    if as_json:
        print_json({"table": "table3", "seed": seed, "epochs": epochs, "rows": rows})
    else:
        columns = (
            "h",
            "d",
            "ε",
            "unverifiable",
            "printed",
            "clean",
            "printed",
            "seconds",
            "printed",
            "shared",
            "proved",
        )
        table = plain_table(f"table3, seed {seed}; kept in {directory}", *(f">{name}" for name in columns))
        for row in rows:
            table.add_row(
                *(str(row[name]) for name in ("hidden", "degree", "epsilon")),
                *(
                    f"{row[f'falsified_{kind}{of}']:.0%}"
                    for kind in ("unverifiable", "clean")
                    for of in ("", "_printed")
                ),
                *(f"{row[f'seconds_mean{of}']:g} ({row[f'seconds_std{of}']:g})" for of in ("", "_printed")),
                f"{row['seconds_shared']:g}",
                f"{row['proved']} of {row['instances']}",
            )
        wide_console().print(table)
    complete = all(row["falsified_unverifiable"] == 1.0 and row["proved"] == row["instances"] for row in rows)
    return 0 if complete else 2


def _add_reproduction(name: str, summary: str) -> None:
    @commands.command(name, help=summary, epilog=f"Example: polymargin reproduce {name} --quick")
    @spread
    def command(
        quick: Annotated[
            bool, typer.Option("--quick", help="Fewer rows, samples and epochs: minutes instead of hours.")
        ] = False,
        directory: Annotated[
            Path | None, typer.Option(help="Folder for the files.", show_default="results, or results/quick")
        ] = None,
        seed: Seed = 0,
        as_json: AsJson = False,
    ) -> int:
        # Quick results have a folder of their own, so that they never replace full ones.
        folder = directory or Path("results/quick" if quick else "results")
        run = _everything if name == "all" else _figure
        return run(name, folder, quick=quick, seed=seed, as_json=as_json)


for _name, _summary in (
    ("all", "Every table and figure, and a report.html that compares printed values with ours."),
    ("figure-sphere", "A margin sphere touching a decision surface in three inputs."),
    ("figure-tracking", "A predictor–corrector step and tracked paths."),
    ("figure-discriminant", "A conic, its evolute and the regions with two and four real critical points."),
    ("figure-conics", "The strata of conics."),
    ("figure-xor", "XOR with and without the regulariser."),
    ("figure-chambers", "Three slices of the chambers of lightning self-attention."),
    ("figure-kac-rice", "Simulated real critical points and the Kac–Rice expectation."),
):
    _add_reproduction(_name, _summary)


def _ed_degree_table(
    table: str, directory: Path, largest_degree: int | None, *, seed: int, threads: int | None, as_json: bool
) -> int:
    from polymargin.cli.printing import print_json, progress_bar
    from polymargin.reproduce.ed_degree_tables import TABLES, ed_degree_table

    wanted = [row for row in TABLES[table]() if largest_degree is None or row[1] <= largest_degree]
    with progress_bar() as bar:
        task = bar.add_task(table, total=len(wanted))

        def advance(row: dict[str, Any]) -> None:
            bar.update(task, advance=1, description=f"{table} {row['name']}")

        rows = ed_degree_table(
            table, directory, seed=seed, threads=threads, largest_degree=largest_degree, progress=advance
        )
    if as_json:
        print_json({"table": table, "seed": seed, "rows": rows})
    else:
        columns = ("printed", "ours", "complete", "trace_defect", "generic", "loops", "paths", "seconds")
        _print_rows(f"{table}, seed {seed}; kept in {directory}", rows, columns)
        wrong = [row for row in rows if row["agrees"] is False]
        print(f"{len(rows) - len(wrong)} of {len(rows)} rows agree with the printed values")
        for row in wrong:
            print(f"  {row['name']}: printed {row['printed']}, ours {row['ours']}, complete: {row['complete']}")
    return 0 if all(row["complete"] for row in rows) else 2


def _print_rows(title: str, rows: list[dict[str, Any]], columns: Sequence[str]) -> None:
    from polymargin.cli.printing import plain_table, wide_console

    table = plain_table(title, "architecture", *(f">{column.replace('_', ' ')}" for column in columns))
    for row in rows:
        cells = ["–" if row[column] is None else str(row[column]) for column in columns]
        table.add_row(row["name"], *cells, style="bold red" if row.get("agrees") is False else None)
    wide_console().print(table)


def _figure(name: str, directory: Path, *, quick: bool, seed: int, as_json: bool) -> int:
    from polymargin.cli.printing import plain_table, print_json, progress_bar, wide_console
    from polymargin.reproduce.catalogue import entry
    from polymargin.reproduce.everything import reproduce
    from polymargin.reproduce.report_items import Run

    with progress_bar() as bar:
        task = bar.add_task(name, total=1)
        run = Run(directory, seed, quick, lambda message: bar.update(task, description=f"{name} {message}"))
        found = reproduce(entry(name), run)
        bar.update(task, completed=1)
    outcome = found.outcome
    if as_json or outcome is None:
        print_json(_plain(found))
        return 0
    table = plain_table(found.entry.title, "", "printed", "ours", "agrees")
    for row in outcome.rows:
        agrees = {True: "yes", False: "NO", None: ""}[row.agrees]
        table.add_row(row.name, row.printed, row.ours, agrees, style="bold red" if row.agrees is False else None)
    wide_console().print(table)
    print(*outcome.notes, *(f"wrote {file}" for file in outcome.files), sep="\n")
    print(f"{readable_time(found.seconds)}; again with: {found.command}")
    return 0


def _everything(name: str, directory: Path, *, quick: bool, seed: int, as_json: bool) -> int:
    from polymargin.cli.printing import plain_table, print_json, progress_bar, wide_console
    from polymargin.reproduce.catalogue import ENTRIES
    from polymargin.reproduce.everything import reproduce_all

    with progress_bar() as bar:
        task = bar.add_task("reproduce", total=len(ENTRIES))

        def advance(name: str, message: str) -> None:
            bar.update(task, advance=0 if message else 1, description=f"{name} {message}")

        found = reproduce_all(directory, quick=quick, seed=seed, progress=advance)
    report = directory / "report.html"
    if as_json:
        print_json({"report": str(report), "entries": [_plain(one) for one in found]})
        return 2 if any(one.outcome is None for one in found) else 0
    table = plain_table(None, "entry", ">agrees", ">time")
    for one in found:
        agrees = f"{one.compared - len(one.disagreements)} of {one.compared}" if one.outcome else "not computed"
        style = "bold red" if one.outcome is None or one.disagreements else None
        table.add_row(one.entry.name, agrees, readable_time(one.seconds), style=style)
    wide_console().print(table)
    for one in found:
        for row in one.disagreements:
            print(f"  {one.entry.name}, {row.name}: printed {row.printed}, ours {row.ours}")
        if one.outcome is None:
            print(f"  {one.entry.name} was not computed: {one.error.strip().splitlines()[-1]}")
    print(f"report: {report}")
    return 2 if any(one.outcome is None for one in found) else 0


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
