"""Margins as a table that lines up."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from polymargin.certificates import Verdict
from polymargin.errors import printable
from polymargin.margins import Margin
from polymargin.standing import Standing


def literal(text: str) -> str:
    """A text that stands in a table as it is: names of files hold neither markup nor orders to the terminal."""
    return escape(printable(text))


def margin_table(
    margins: Sequence[Margin], verdicts: Sequence[Verdict] | None = None, title: str | None = None
) -> Table:
    """One row per point: class, rival, margin, method, critical points, standing, time, verdict."""
    shown = None if title is None else literal(title)
    table = Table(title=shown, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold")
    for name, side in (
        ("point", "right"),
        ("class", "right"),
        ("rival", "right"),
        ("margin", "right"),
        ("method", "left"),
        ("complex / real", "right"),
        ("standing", "left"),
        ("time", "right"),
    ):
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    if verdicts is not None:
        table.add_column(f"radius {verdicts[0].radius:g}" if verdicts else "verdict")
    for index, margin in enumerate(margins):
        cells = [
            str(index),
            _class(margin.label),
            _class(margin.rival),
            _size(margin),
            margin.method,
            "–" if margin.complex_count is None else f"{margin.complex_count} / {margin.real_count}",
            margin.status.name,
            _time(margin.seconds),
        ]
        if verdicts is not None:
            cells.append(verdicts[index].answer.name)
        table.add_row(*cells)
    return table


def remarks(margins: Sequence[Margin]) -> list[str]:
    """Errors and notes, one line each, with the row they belong to."""
    lines = []
    for index, margin in enumerate(margins):
        texts = margin.notes if margin.error is None else (margin.error,)
        lines += [f"point {index}: {text}" for text in texts]
    return lines


def _class(value: int | None) -> str:
    return "–" if value is None else str(value)


def _size(margin: Margin) -> str:
    if margin.error is not None:
        return "–"
    if margin.status is Standing.BRACKETED:
        return f"{margin.lower:.6g} … {margin.upper:.6g}"
    return "infinite" if math.isinf(margin.radius) else f"{margin.radius:.10f}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
