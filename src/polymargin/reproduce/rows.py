"""Rows of a table that take long: computed once, kept in a file, continued where a run stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from polymargin import __version__
from polymargin.errors import InputError
from polymargin.work import completed

Row = dict[str, Any]


def resumable_rows(
    compute: Callable[[Any], Row],
    tasks: Sequence[Any],
    names: Sequence[str],
    file: Path,
    *,
    header: Row,
    executor: Executor | None = None,
    progress: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Return compute(task) for every task in order; rows already in the file are not computed again.

    The file holds one JSON object a line: the header (version, seed, …), then {"name": …, …} per finished row. A file with
    another header is refused rather than mixed.
    """
    stored = _read(file, {"version": __version__, **header})
    for name in names:
        if name in stored and progress is not None:
            progress(stored[name])
    missing = [index for index, name in enumerate(names) if name not in stored]
    with file.open("a", encoding="utf-8") as out:
        for position, row in completed(compute, [tasks[index] for index in missing], executor):
            name = names[missing[position]]
            stored[name] = {"name": name, **row}
            out.write(json.dumps(stored[name]) + "\n")
            out.flush()
            if progress is not None:
                progress(stored[name])
    return [stored[name] for name in names]


def _read(file: Path, header: Row) -> dict[str, Row]:
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(header) + "\n", encoding="utf-8")
        return {}
    *whole, last = file.read_text(encoding="utf-8").split("\n")
    try:
        first, *rows = [json.loads(line) for line in whole]
        found = {row["name"]: row for row in rows}
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{file}: not a file of table rows; move it away to start anew") from None
    if first != header:
        raise InputError(f"{file}: made with {first}, now asked for {header}; move it away or choose another directory")
    if last:  # a run that was killed left half a line; that row is computed again
        file.write_text("".join(line + "\n" for line in whole), encoding="utf-8")
    return found
