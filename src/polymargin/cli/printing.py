"""Output of answers: a console as wide as needed, strict JSON, and a progress bar with the time left."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from polymargin.errors import printable
from polymargin.times import readable_time

# What a glance should see first; only on a terminal, and not where NO_COLOR is set.
STYLES = {
    "ROBUST": "bold green",
    "VULNERABLE": "bold red",
    "UNKNOWN": "bold yellow",
    "CERTIFIED": "green",
    "NUMERICAL": "cyan",
    "BRACKETED": "yellow",
    "FAILED": "bold red",
}


def wide_console() -> Console:
    """Return standard output; tables in a file or a pipe are not limited to 80 columns."""
    console = _Console(highlight=False)
    return console if console.is_terminal else _Console(highlight=False, width=140)


class _Console(Console):
    """rich ends the process with 1 where a reader stopped reading; `entry` knows better."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def literal(text: str) -> str:
    """Return a text for a table, without markup and control sequences."""
    return escape(printable(text))


def plain_table(title: str | None, *columns: str) -> Table:
    """Return a table without lines, for answers that come all at once; the names of columns of numbers begin with >."""
    table = Table(
        title=None if title is None else literal(title),
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for column in columns:
        table.add_column(column.removeprefix(">"), justify="right" if column.startswith(">") else "left")
    return table


def print_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    table = plain_table(title, "", "")
    table.show_header, table.columns[0].style = False, "dim"
    for name, value in facts:
        table.add_row(name, value)
    wide_console().print(table)


def print_json(data: dict[str, Any]) -> None:
    """Print JSON that every reader accepts: null for numbers that are infinite or missing."""
    print(json.dumps(_strict(data), indent=1, allow_nan=False))


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _strict(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def progress_bar(console: Console | None = None) -> Progress:
    """Return a bar, shown on a terminal only: on standard error, or on the console that rows are printed to."""
    console = Console(stderr=True) if console is None else console
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _TimeLeft(),
        console=console
        if console.is_terminal
        else Console(quiet=True),  # a bar that is not shown ends with an empty line
        transient=True,
        disable=not console.is_terminal,
    )


class _TimeLeft(ProgressColumn):
    """The time that is left."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        left = task.time_remaining
        if task.finished or left is None:
            return Text("" if task.finished else "time left: not known yet", style="dim")
        return Text(f"about {readable_time(left)} left" if left >= 1 else "about 1 s left", style="dim")
