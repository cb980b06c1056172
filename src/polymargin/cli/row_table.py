"""A table that grows while the answers come in, with a bar below it on a terminal.

The widths of the columns are chosen with the first row, so that every row can be printed as soon as it is known. Rows are
printed in the order of the points: one that has to wait for an earlier row is held back until that is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from polymargin.class_names import class_name
from polymargin.cli.entry import going_on
from polymargin.cli.models import how_to_go_on
from polymargin.cli.options import WorkOptions
from polymargin.cli.printing import STYLES, progress_bar, wide_console
from polymargin.errors import printable
from polymargin.work import Workers

GAP = "  "


@dataclass(frozen=True)
class Column:
    """`width` is the least; a longer first cell widens the column, a longer cell further down moves what follows it."""

    name: str
    width: int = 0
    right: bool = False


def widened(columns: Sequence[Column], network: Any) -> list[Column]:
    """Return the columns, wide enough for the longest name of a class."""
    longest = max(cell_len(class_name(network, number)) for number in range(network.class_count))
    return [replace(column, width=longest) if column.name in ("class", "rival") else column for column in columns]


class RowTable:
    """Rows of answers as they finish; silent (but for the bar) where the answers are printed as JSON in the end."""

    def __init__(self, title: str, columns: Sequence[Column], count: int, *, silent: bool = False) -> None:
        self._title, self._columns, self._count, self._silent = title, columns, count, silent
        self._console = wide_console()
        self._waiting: dict[int, Sequence[str]] = {}
        self._next = 0
        self._widths: list[int] = []
        self.finished = 0
        shared = self._console.is_terminal and not silent
        self._bar = progress_bar(self._console if shared else None)
        self._task = self._bar.add_task("points", total=count)

    def __enter__(self) -> RowTable:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._bar.stop()

    @contextmanager
    def filling(self, work: WorkOptions) -> Iterator[Workers | None]:
        """Yield the executor for the rows, and say how to resume if the block is interrupted."""
        with (
            going_on(lambda: how_to_go_on(work.checkpoint, self.finished, self._count)),
            self,
            work.workers() as executor,
        ):
            yield executor

    def add(self, row: int, cells: Sequence[str]) -> None:
        """Add the cells of one row, after the point's number."""
        self.finished += 1
        self._bar.advance(self._task)
        self._waiting[row] = (str(row), *cells)
        while self._next in self._waiting:
            self._print(self._waiting.pop(self._next))
            self._next += 1

    def say(self, text: str, style: str = "") -> None:
        """Print a line below the table."""
        if not self._silent:
            self._line(Text(printable(text), style=style))

    def _print(self, cells: Sequence[str]) -> None:
        if self._silent:
            return
        columns = (Column("point", 5, right=True), *self._columns)
        if not self._widths:
            self._widths = [
                max(column.width, cell_len(column.name), cell_len(cell))
                for column, cell in zip(columns, cells, strict=True)
            ]
            self.say(self._title, "bold")
            self._line(self._joined(columns, [column.name for column in columns], "bold"))
        self._line(self._joined(columns, cells))

    def _joined(self, columns: Sequence[Column], cells: Sequence[str], style: str = "") -> Text:
        line = Text(style=style)
        for place, (column, cell, width) in enumerate(zip(columns, cells, self._widths, strict=True)):
            text = Text(printable(cell), style=STYLES.get(cell, ""))
            padding = " " * max(0, width - text.cell_len)
            last = place == len(columns) - 1 and not column.right
            line.append(GAP if place else "")
            line.append(padding if column.right else text)
            line.append(text if column.right else "" if last else padding)
        return line

    def _line(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)
