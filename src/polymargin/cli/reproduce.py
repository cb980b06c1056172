"""The `reproduce` command: tables and figures of the paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.table import Table

from polymargin.cli.margins import progress_bar, wide_console
from polymargin.reproduce.ed_degree_tables import TABLES, ed_degree_table

COLUMNS = ("printed", "ours", "trace_passed", "generic", "loops", "paths", "seconds")


def run_ed_degree_table(
    table: str, *, directory: Path, seed: int, threads: int | None, max_degree: int | None, as_json: bool
) -> int:
    """Table 1 or 2: status 0 if every row passed its trace test, whether it agrees with the printed value or not."""
    wanted = [row for row in TABLES[table]() if max_degree is None or row[1] <= max_degree]
    with progress_bar() as bar:
        task = bar.add_task(table, total=len(wanted))

        def advance(row: dict[str, Any]) -> None:
            bar.update(task, advance=1, description=f"{table} {row['name']}")

        rows = ed_degree_table(table, directory, seed=seed, threads=threads, max_degree=max_degree, progress=advance)
    if as_json:
        print(json.dumps({"table": table, "seed": seed, "rows": rows}, indent=1))
    else:
        wide_console().print(rows_as_table(f"{table}, seed {seed}; kept in {directory}", rows))
        wrong = [row for row in rows if row["agrees"] is False]
        print(f"{len(rows) - len(wrong)} of {len(rows)} rows agree with the printed values")
        for row in wrong:
            print(
                f"  {row['name']}: printed {row['printed']}, ours {row['ours']}, trace test passed: {row['trace_passed']}"
            )
    return 0 if all(row["trace_passed"] for row in rows) else 2


def rows_as_table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("architecture")
    for column in COLUMNS:
        table.add_column(column.replace("_", " "), justify="right")
    for row in rows:
        cells = [str(row[column]) if row[column] is not None else "–" for column in COLUMNS]
        table.add_row(row["name"], *cells, style="bold red" if row["agrees"] is False else None)
    return table
