"""Tables of a report's page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any

from polymargin.errors import printable
from polymargin.plots.palette import NAMES
from polymargin.reports.record import Report
from polymargin.standing import Standing
from polymargin.times import readable_time

# More classes get a list of pairs instead of a matrix.
LARGEST_MATRIX = 20
MOST_PAIRS = 40
# From so many classes, or so many letters, the names above a matrix are turned.
MANY_CLASSES, LONG_NAME = 13, 3
# Columns that fit on a phone.
MOST_ABREAST = 5
# Rows of the table that the page shows without a script.
FIRST_ROWS = 20


def page_text(value: object) -> str:
    """Escape a value for HTML, without control characters."""
    return escape(printable(str(value)), quote=True)


def number(value: float) -> str:
    """Format a number with four digits.

    >>> number(0.123456), number(float("inf")), number(float("nan"))
    ('0.1235', '∞', '–')
    """
    return "–" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.4g}"


def percent(share: float) -> str:
    """Format a share as a percentage."""
    return f"{100 * share:.1f} %"


def bounds(margin: Any) -> str:
    """Format a margin: one number, or its lower and upper bound."""
    return number(margin.lower) if margin.lower == margin.upper else f"{number(margin.lower)} … {number(margin.upper)}"


def radii(report: Report) -> str:
    """Return the curve of robust accuracy in numbers, at a few round radii."""
    accuracy = report.accuracy
    parts = [s for s in NAMES if len(accuracy.lowers[s])]
    wide = sorted({*report.radii, 0.0, *(2 * radius for radius in report.radii[-1:])})
    head = ["radius", "robust", *(f"of it {NAMES[s]}" for s in parts if len(parts) > 1), "at most"]
    rows = [
        [
            f"{r:g}",
            percent(accuracy.at(r)),
            *(percent(float(accuracy.part(s, r))) for s in parts if len(parts) > 1),
            percent(accuracy.possible(r)),
        ]
        for r in wide
    ]
    return table(head, rows)


def classes(report: Report) -> str:
    """Return counts, margins and robust shares per class."""
    labelled = report.labels is not None
    head = ["true class" if labelled else "predicted class", "points"] + (["accuracy"] if labelled else [])
    head += ["smallest margin", "median margin", *(f"robust at {radius:g}" for radius in report.radii)]
    rows = [
        [report.class_name(c.label), f"{c.count:,}"]
        + ([percent(c.accuracy)] if labelled else [])
        + [number(c.smallest), number(c.median), *map(percent, c.robust)]
        for c in report.classes
    ]
    return table(head, rows)


def rivals(report: Report) -> str:
    """Return how often each class is the nearest rival of each predicted class, as a matrix or a list of pairs."""
    found = report.rivals
    if not found:
        return '<p class="soft">No point has a rival at a finite distance.</p>'
    if not rivals_are_a_matrix(report):
        pairs = sorted(found.items(), key=lambda item: -item[1])
        more = f'<p class="soft">and {len(pairs) - MOST_PAIRS} more pairs</p>' if len(pairs) > MOST_PAIRS else ""
        rows = [[report.class_name(a), report.class_name(b), str(n)] for (a, b), n in pairs[:MOST_PAIRS]]
        return table(["predicted class", "nearest rival", "points"], rows) + more
    most, numbers = max(found.values()), range(report.class_count)
    names = [report.class_name(k) for k in numbers]
    lines = [f"<tr><th></th>{''.join(f'<th>{page_text(name)}</th>' for name in names)}</tr>"]
    for a in numbers:
        cells = "".join(
            '<td class="own"></td>'
            if a == b
            else f'<td style="--share:{round(100 * found.get((a, b), 0) / most)}%">{found.get((a, b), "") or ""}</td>'
            for b in numbers
        )
        lines.append(f"<tr><th>{page_text(names[a])}</th>{cells}</tr>")
    many = len(names) >= MANY_CLASSES or max(map(len, names)) > LONG_NAME
    return f'<table class="matrix{" many" if many else ""}">{"".join(lines)}</table>'


def rivals_are_a_matrix(report: Report) -> bool:
    """Return whether `rivals` is a matrix."""
    return report.class_count <= LARGEST_MATRIX


def standings(report: Report) -> str:
    """Return the standings with their meaning, the methods and the times."""
    counts, methods = Counter(m.standing for m in report.margins), Counter(m.method for m in report.margins)
    times = sorted(m.seconds for m in report.margins)
    lines = [[s.name, f"{counts[s]:,}", s.message] for s in Standing if counts[s]]
    ways = ", ".join(f"{name} ({count:,})" for name, count in methods.most_common())
    spread = f"median {readable_time(times[len(times) // 2])}, longest {readable_time(times[-1])}"
    note = f'<p class="soft">Methods: {page_text(ways)}. Time per point: {page_text(spread)}.</p>'
    return table(["standing", "points", "what it means"], lines, last_is_text=True) + note


def first_rows(report: Report) -> tuple[int, str]:
    """Return the number of rows with the smallest margins that are shown without a script, and their table."""
    order = sorted(
        range(len(report.margins)), key=lambda row: (math.isnan(report.margins[row].lower), report.margins[row].lower)
    )
    chosen = order[:FIRST_ROWS]
    labelled = report.labels is not None
    head = ["row", "predicted class", *(["true class"] if labelled else []), "nearest rival", "margin", "standing"]
    rows = []
    for row in chosen:
        m = report.margins[row]
        right = [report.class_name(int(report.labels[row]))] if report.labels is not None else []
        rows.append(
            [str(row), report.class_name(m.label), *right, report.class_name(m.rival), bounds(m), m.standing.name]
        )
    return len(chosen), table(head, rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, last_is_text: bool = False) -> str:
    """Return a table; `last_is_text` wraps the last column. A narrow screen shows the rows of a wide table as blocks."""
    kind = "worded" if last_is_text else "stacked" if len(head) > MOST_ABREAST else ""
    names = [page_text(name) for name in head]
    top = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(
        "<tr>"
        + "".join(f'<td data-name="{name}">{page_text(cell)}</td>' for name, cell in zip(names, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'
