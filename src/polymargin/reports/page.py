"""The page of a report: a template, figures as SVG, and rows as JSON that the script draws.

Text from files and models is escaped here, or passed to the script, which writes it as text.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from base64 import b64encode
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from polymargin.errors import printable
from polymargin.reports import tables
from polymargin.reports.cards import cards
from polymargin.reports.inline_svg import inline_svg
from polymargin.reports.record import Report
from polymargin.reports.tables import number, page_text, percent
from polymargin.standing import Standing
from polymargin.times import readable_time

# Longer remarks are cut in the table of rows.
LONGEST_NOTE = 300
# A remark on more than this share of all points stands above the table instead of in every row.
SHARED = 0.5
RADII_WORDS = (
    "The share of points whose class is right and stays the same at this distance or less, and how this was established: only "
    "the part called proved rests on proofs. “At most” adds the points between their bounds."
)

RIVALS_WORDS = "Rows: predicted class. Columns: the class whose boundary is nearest. Cells: number of points."
COLOURS_WORDS = " In the differences red is more and blue is less, relative to the largest change."


def write_page(report: Report, file: Path) -> Path:
    """Write the page of a report."""
    template, style, script = (_resource(name) for name in ("report.html", "report.css", "report.js"))
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    drawn = report.figures
    word = "Robust accuracy" if report.labels is not None else "Share of points that keep their class"
    first, rows = tables.first_rows(report)
    parts = {
        "policy": f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        "style": style,
        "script": script,
        "title": page_text(report.about.title),
        "summary": _summary(report),
        "accuracy_title": f"{word} against radius",
        "accuracy": inline_svg(drawn["accuracy"], "accuracy", f"{word} against radius"),
        "histogram": inline_svg(drawn["histogram"], "histogram", "Histogram of margins"),
        "radii": tables.radii(report),
        "radii_words": RADII_WORDS,
        "classes": tables.classes(report),
        "classes_words": "Robust at a radius: the share of points whose class is right and stays the same within it.",
        "rivals": tables.rivals(report),
        "rivals_words": RIVALS_WORDS if tables.rivals_are_a_matrix(report) else "How often each pair occurs.",
        "cards": cards(report),
        "colours": COLOURS_WORDS if report.image_shape is not None and report.vulnerable else "",
        "standings": tables.standings(report),
        "shared_notes": _shared_notes(report),
        "first": str(first),
        "first_rows": rows,
        "facts": _facts(report),
        "rows": embedded_json(_rows(report, file.parent)),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found.group(1)], template)
    file.write_text(page, encoding="utf-8")
    return file


def embedded_json(data: Any) -> str:
    """Return JSON that cannot end the script element around it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _resource(name: str) -> str:
    return files("polymargin.reports").joinpath("templates", name).read_text(encoding="utf-8")


def _summary(report: Report) -> str:
    accuracy, radii = report.accuracy, report.radii
    middle = radii[len(radii) // 2]
    failed = sum(m.standing is Standing.FAILED for m in report.margins)
    certified = float(accuracy.part(Standing.CERTIFIED, middle))
    proved = percent(certified) if certified else "none"
    if accuracy.labelled:
        first = ("clean accuracy", percent(accuracy.clean))
        second = (f"robust within {middle:g} (proved: {proved})", percent(accuracy.at(middle)))
    else:
        first = ("points with an answer", percent(accuracy.clean))
        second = (f"keep their class within {middle:g} (proved: {proved})", percent(accuracy.at(middle)))
    smallest = min((m.lower for m in report.margins if not math.isnan(m.lower)), default=math.nan)
    kind = "lower bound" if any(m.standing is Standing.BRACKETED for m in report.margins) else "margin"
    tiles = [
        ("points", f"{len(report.margins):,}"),
        first,
        second,
        (f"median {kind}", number(report.median)),
        (f"smallest {kind}", number(smallest)),
        ("median time per point", readable_time(float(np.median([m.seconds for m in report.margins])))),
    ]
    tiles += [("points without an answer", str(failed))] if failed else []
    return "".join(f"<div><b>{page_text(value)}</b><span>{page_text(name)}</span></div>" for name, value in tiles)


def _facts(report: Report) -> str:
    about = report.about
    labels = "given" if report.labels is not None else "none: every predicted class counts as right"
    facts = [
        ("model", page_text(about.model)),
        ("points", f"{len(report.points):,} with {report.points.shape[1]:,} inputs, {report.class_count} classes"),
        ("labels", labels),
        ("command", f"<code>{page_text(about.command)}</code>" if about.command else "pm.report in Python"),
        ("seed", str(about.seed)),
        ("time", page_text(f"{readable_time(about.seconds)}, not counting rows read from a checkpoint")),
        ("date", page_text(f"{about.date} by polymargin {about.version}; {about.machine}")),
    ]
    if report.image_shape is not None:
        facts.insert(2, ("shown as", f"images of {' × '.join(map(str, report.image_shape))}"))
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts) + "</dl>"


def _rows(report: Report, folder: Path) -> dict[str, Any]:
    """Return columns of numbers with five digits; words and remarks are stored once and referred to by number."""
    methods = sorted({m.method for m in report.margins})
    shared = _shared(report)
    of_row = ["; ".join(note for note in _notes(m) if note not in shared) for m in report.margins]
    notes = sorted(set(of_row) - {""})
    position = {note: index for index, note in enumerate(notes)}
    standings = list(Standing)
    ms = report.margins
    links = {
        str(row): quote(os.path.relpath(file, folder).replace(os.sep, "/"))
        for row, file in enumerate(report.certificates)
        if file is not None
    }
    return {
        "standings": [s.name for s in standings],
        "methods": methods,
        "notes": [printable(note)[:LONGEST_NOTE] for note in notes],
        "names": None if report.class_names is None else [printable(name) for name in report.class_names],
        "class": [m.label for m in ms],
        "right": None if report.labels is None else report.labels.tolist(),
        "rival": [m.rival for m in ms],
        "lower": [_short(m.lower) for m in ms],
        "upper": [_short(m.upper) if m.upper != m.lower else 0 for m in ms],
        "standing": [standings.index(m.standing) for m in ms],
        "method": [methods.index(m.method) for m in ms],
        "seconds": [_short(m.seconds, 2) for m in ms],
        "note": {str(row): position[note] for row, note in enumerate(of_row) if note},
        "certificates": links,
    }


def _notes(margin: Any) -> tuple[str, ...]:
    return (str(margin.error),) if margin.error is not None else tuple(margin.notes)


def _shared(report: Report) -> list[str]:
    """Return the remarks on most points, of reports with several points."""
    counts = Counter(note for m in report.margins for note in _notes(m))
    return [note for note, count in counts.items() if count > max(1, SHARED * len(report.margins))]


def _shared_notes(report: Report) -> str:
    """Return the remarks on most points as one paragraph."""
    shared = [page_text(note[:LONGEST_NOTE]) for note in _shared(report)]
    return f'<p class="soft">For most points: {"; ".join(shared)}.</p>' if shared else ""


def _short(value: float, digits: int = 5) -> float | str | None:
    """Round for JSON: "inf" for infinity, None for NaN."""
    if math.isnan(value):
        return None
    return "inf" if math.isinf(value) else float(f"{value:.{digits}g}")
