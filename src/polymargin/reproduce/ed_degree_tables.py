"""Tables 1 and 2: ED degrees of deep networks and of lightning self-attention, printed beside ours."""

from __future__ import annotations

import csv
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any

from polymargin.boundary import Architecture, AttentionArchitecture, NetworkArchitecture, architecture_family
from polymargin.continuation import Tracker
from polymargin.geometry.ed_degrees.monodromy_count import monodromy_count
from polymargin.reproduce.rows import Row, resumable_rows


def printed_table(name: str) -> list[dict[str, str]]:
    """Format a table as in the paper."""
    text = files("polymargin.reproduce").joinpath("printed", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def table1_rows() -> list[tuple[NetworkArchitecture, int]]:
    """Return deep architectures with intermediate widths, and the printed ED degrees."""
    return [
        (
            NetworkArchitecture((int(row["n"]), *map(int, row["hidden"].split()), 2), int(row["activation_degree"])),
            int(row["ed_degree"]),
        )
        for row in printed_table("deep_ed_degrees")
    ]


def table2_rows() -> list[tuple[AttentionArchitecture, int]]:
    """Return attention modules, and the printed ED degrees."""
    rows = []
    for row in printed_table("attention_ed_degrees"):
        t, d, d_prime, a = (int(row[key]) for key in ("t", "d", "d_prime", "a"))
        rows.append((AttentionArchitecture(t, d, d_prime, a), int(row["ed_degree"])))
    return rows


TABLES: dict[str, Callable[[], list[tuple[Any, int]]]] = {"table1": table1_rows, "table2": table2_rows}


def ed_degree_table(
    table: str,
    directory: Path,
    *,
    seed: int = 0,
    threads: int | None = None,
    largest_degree: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Compute the rows of a table with a printed ED degree up to `largest_degree`; a run resumes in its `directory`."""
    rows = [(a, printed) for a, printed in TABLES[table]() if largest_degree is None or printed <= largest_degree]
    found = resumable_rows(
        partial(count_row, tracker=Tracker(threads=threads), seed=seed),
        rows,
        [str(architecture) for architecture, _ in rows],
        directory / f"{table}-seed{seed}.jsonl",
        header={"table": table, "seed": seed},
        executor=executor,
        progress=progress,
    )
    write_csv(directory / f"{table}-seed{seed}.csv", found)
    return found


def count_row(task: tuple[Architecture, int | None], *, tracker: Tracker, seed: int) -> Row:
    """Compute one row: the count by monodromy, its trace test, and its time; `printed` may be None."""
    architecture, printed = task
    started = perf_counter()
    found = monodromy_count(architecture_family(architecture.reduced()), tracker, seed=seed)
    value, seconds = len(found.solutions), perf_counter() - started
    return {
        "printed": printed,
        "ours": value,
        "agrees": None if printed is None else value == printed,
        "complete": found.complete,
        "trace_defect": None if found.trace is None else float(f"{found.trace.defect:.1e}"),
        "generic": architecture.bound,
        "loops": found.loops,
        "paths": found.paths,
        "seconds": round(seconds, 2),
    }


def write_csv(file: Path, rows: list[Row]) -> None:
    """Write the rows of a table."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else ["name"])
        writer.writeheader()
        writer.writerows(rows)
