"""The `verify` and `check` commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.table import Table

from polymargin.certificates import Answer, Verdict, verify
from polymargin.cli.entry import going_on
from polymargin.cli.margins import progress_bar, wide_console
from polymargin.cli.points import read_points
from polymargin.cli.tables import literal
from polymargin.errors import PolymarginError
from polymargin.networks import load


def run_verify(
    model: Path,
    points: Path,
    radius: float,
    *,
    as_json: bool,
    threads: int | None,
    seed: int,
    limit: int,
    timeout: float,
    certificates: Path | None,
    cache: bool,
    trust: bool,
) -> int:
    """Verdicts for every row; 0 if all are robust, 1 if one is not, 2 if one could not be decided."""
    network = load(model, trust=trust)
    array = read_points(points)
    if certificates is not None:
        certificates.mkdir(parents=True, exist_ok=True)
    rows: list[Verdict | str] = []
    files: list[str | None] = []
    with going_on(lambda: _how_to_go_on(certificates, len(rows), len(array))), progress_bar() as progress:
        task = progress.add_task("verdicts", total=len(array))
        for index, point in enumerate(array):
            file = None
            try:
                verdict = verify(
                    network, point, radius, timeout=timeout, seed=seed, threads=threads, limit=limit, cache=cache
                )
                if certificates is not None and verdict.certificate is not None:
                    file = str(verdict.certificate.save(certificates / f"point-{index}.json"))
                rows.append(verdict)
            except PolymarginError as error:
                rows.append(str(error))
            files.append(file)
            progress.advance(task)
    if as_json:
        data = [_plain(index, row, file) for index, (row, file) in enumerate(zip(rows, files, strict=True))]
        print(json.dumps({"model": str(model), "radius": radius, "seed": seed, "verdicts": data}, indent=1))
    else:
        console = wide_console()
        console.print(verdict_table(rows, f"{model.name}: {network!r}, radius {radius:g}"))
    return _exit_status(rows)


def _how_to_go_on(certificates: Path | None, done: int, count: int) -> str:
    kept = f"proofs of the first {done} of {count} rows are in {certificates}" if certificates else "nothing is kept"
    return f"{kept}; the same command starts anew, on the rows it is given"


def verdict_table(rows: list[Verdict | str], title: str) -> Table:
    shown = literal(title)
    table = Table(title=shown, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold")
    for name in ("point", "class", "verdict", "standing", "time", "why"):
        table.add_column(name, justify="right" if name in ("point", "class", "time") else "left", overflow="fold")
    for index, row in enumerate(rows):
        if isinstance(row, str):
            table.add_row(str(index), "–", "–", "FAILED", "–", literal(row))
            continue
        time = f"{row.seconds * 1e3:.1f} ms"
        table.add_row(str(index), str(row.label), row.answer.name, row.status.name, time, literal(row.reason))
    return table


def _plain(index: int, row: Verdict | str, file: str | None) -> dict[str, Any]:
    if isinstance(row, str):
        return {"row": index, "answer": "UNKNOWN", "error": row}
    return {
        "row": index,
        "answer": row.answer.name,
        "label": row.label,
        "rival": row.rival,
        "counterexample": None if row.counterexample is None else row.counterexample.tolist(),
        "status": row.status.name,
        "lower": row.lower,
        "upper": row.upper if row.upper != float("inf") else "inf",
        "reason": row.reason,
        "seconds": row.seconds,
        "certificate": file,
    }


def _exit_status(rows: list[Verdict | str]) -> int:
    if any(isinstance(row, str) or row.answer is Answer.UNKNOWN for row in rows):
        return 2
    return 1 if any(isinstance(row, Verdict) and row.answer is Answer.VULNERABLE for row in rows) else 0
