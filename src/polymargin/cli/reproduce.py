"""The `reproduce` command: tables and figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from polymargin.cli.printing import plain_table, print_json, progress_bar, wide_console
from polymargin.reproduce.beyond_tables import attention_modules, beyond_table, deep_networks, trends
from polymargin.reproduce.ed_degree_tables import TABLES, ed_degree_table

COLUMNS = ("printed", "ours", "complete", "trace_defect", "generic", "loops", "paths", "seconds")


def run_ed_degree_table(
    table: str, *, directory: Path, seed: int, threads: int | None, largest_degree: int | None, as_json: bool
) -> int:
    """Table 1 or 2: status 0 if every row is known to be complete, whether it agrees with the printed value or not."""
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
        wide_console().print(rows_as_table(f"{table}, seed {seed}; kept in {directory}", rows))
        wrong = [row for row in rows if row["agrees"] is False]
        print(f"{len(rows) - len(wrong)} of {len(rows)} rows agree with the printed values")
        for row in wrong:
            print(f"  {row['name']}: printed {row['printed']}, ours {row['ours']}, complete: {row['complete']}")
    return 0 if all(row["complete"] for row in rows) else 2


def rows_as_table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = plain_table(title)
    table.add_column("architecture")
    for column in COLUMNS:
        table.add_column(column.replace("_", " "), justify="right")
    for row in rows:
        cells = [str(row[column]) if row[column] is not None else "–" for column in COLUMNS]
        table.add_row(row["name"], *cells, style="bold red" if row["agrees"] is False else None)
    return table


def run_beyond(*, directory: Path, seed: int, timeout: float, as_json: bool) -> int:
    """Rows the paper leaves out, by Gröbner bases, and the picture of their trends."""
    found: dict[str, list[dict[str, Any]]] = {}
    with progress_bar() as bar:
        for kind, total in (("deep", len(deep_networks())), ("attention", len(attention_modules()))):
            task = bar.add_task(kind, total=total)

            def advance(row: dict[str, Any], task: Any = task, kind: str = kind) -> None:
                bar.update(task, advance=1, description=f"{kind} {row['name']}")

            found[kind] = beyond_table(kind, directory, seed=seed, timeout=timeout, progress=advance)
    picture = trends(found["attention"], directory / "trends.png")
    if as_json:
        print_json({"seed": seed, **found, "plot": str(picture)})
        return 0
    for kind, rows in found.items():
        table = plain_table(f"{kind}: rows beyond the tables")
        table.add_column("architecture")
        for column in ("ed_degree", "lower", "upper", "printed", "seconds"):
            table.add_column(column.replace("_", " "), justify="right")
        for row in rows:
            cells = [
                "–" if row[c] is None else str(row[c]) for c in ("ed_degree", "lower", "upper", "printed", "seconds")
            ]
            table.add_row(row["name"], *cells)
        wide_console().print(table)
    print(f"trends drawn into {picture}")
    return 0
