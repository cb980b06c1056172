"""Cards of the most vulnerable inputs: the input, its nearest counterexample and the difference."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from polymargin.plots.thumbnails import data_address, difference_png, image_png, image_range
from polymargin.reports.record import Report
from polymargin.standing import Standing

COUNT = 24
# For inputs that are no images, the coordinates that change most are shown.
COORDINATES = 6


def cards(report: Report) -> str:
    """Return the HTML of the cards, the nearest counterexamples first."""
    rows = report.vulnerable[:COUNT]
    if not rows:
        return '<p class="soft">There are no counterexamples.</p>'
    limits = image_range(report.points) if report.image_shape is not None else (0.0, 1.0)
    kind = "cards" if report.image_shape is not None else "cards wide"
    return f'<div class="{kind}">{"".join(_card(report, row, limits) for row in rows)}</div>'


def _card(report: Report, row: int, limits: tuple[float, float]) -> str:
    margin = report.margins[row]
    point, nearest = report.points[row], np.asarray(margin.point)
    right = "" if report.labels is None else f", true class {report.class_name(int(report.labels[row]))}"
    wrong = ' class="card wrong"' if not report.correct[row] else ' class="card"'
    size = f"{margin.upper:.4g}"
    if margin.standing is Standing.BRACKETED:
        size = f"{margin.lower:.3g} … {margin.upper:.3g}"
    shown = _images(report, point, nearest, limits) if report.image_shape is not None else _changes(point, nearest)
    words = f"row {row}: class {margin.label_name} ties with {margin.rival_name}{right}"
    return (
        f'<figure{wrong}>{shown}<figcaption><b class="{margin.standing.name.lower()}">{escape(size)}</b> '
        f"{escape(words)}</figcaption></figure>"
    )


def _images(report: Report, point: Any, nearest: Any, limits: tuple[float, float]) -> str:
    shape = report.image_shape
    assert shape is not None
    pictures = (
        ("input", image_png(point, shape, limits)),
        ("difference", difference_png(nearest - point, shape)),
        ("counterexample", image_png(nearest, shape, limits)),
    )
    return '<div class="trio">' + "".join(f'<img alt="{n}" src="{data_address(p)}">' for n, p in pictures) + "</div>"


def _changes(point: Any, nearest: Any) -> str:
    order = np.argsort(-np.abs(nearest - point), kind="stable")[:COORDINATES]
    lines = "".join(
        f"<tr><td>x<sub>{i + 1}</sub></td><td>{point[i]:.4g}</td><td>{nearest[i]:.4g}</td>"
        f"<td>{nearest[i] - point[i]:+.3g}</td></tr>"
        for i in sorted(order.tolist())
    )
    more = f'<tr><td colspan="4">and {len(point) - COORDINATES} more</td></tr>' if len(point) > COORDINATES else ""
    head = "<tr><th></th><th>input</th><th>nearest tie</th><th>change</th></tr>"
    return f"<table>{head}{lines}{more}</table>"
