"""The page of a report: a template, figures as SVG, rows as JSON that the script draws on demand.

Everything that comes from files or models is escaped here, or given to the script, which writes it as text.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from polymargin.errors import printable
from polymargin.plots.palette import NAMES
from polymargin.reports.cards import cards
from polymargin.reports.inline_svg import inline_svg
from polymargin.reports.record import Report
from polymargin.standing import Standing

# Confusions of more classes are a list of pairs.
LARGEST_MATRIX = 20
MOST_PAIRS = 40
# Longer remarks are cut in the table of rows.
LONGEST_NOTE = 300


def write_page(report: Report, file: Path) -> Path:
    """Write the page of a report."""
    template, style, script = (_resource(name) for name in ("report.html", "report.css", "report.js"))
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    drawn = report.figures
    parts = {
        "policy": f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        "style": style,
        "script": script,
        "title": _text(report.about.title),
        "summary": _summary(report),
        "accuracy": inline_svg(drawn["accuracy"], "accuracy", "Certified accuracy against radius"),
        "histogram": inline_svg(drawn["histogram"], "histogram", "Histogram of margins"),
        "radii": _radii(report),
        "classes": _classes(report),
        "rivals": _rivals(report),
        "cards": cards(report),
        "standings": _standings(report),
        "facts": _facts(report),
        "rows": embedded_json(_rows(report, file.parent)),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found.group(1)], template)
    file.write_text(page, encoding="utf-8")
    return file


def embedded_json(data: Any) -> str:
    """JSON that stands inside a script element and cannot end it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _resource(name: str) -> str:
    return files("polymargin.reports").joinpath("templates", name).read_text(encoding="utf-8")


def _text(value: object) -> str:
    return escape(printable(str(value)), quote=True)


def _number(value: float) -> str:
    """
    >>> _number(0.123456), _number(float("inf")), _number(float("nan"))
    ('0.1235', '∞', '–')
    """
    return "–" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.4g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _summary(report: Report) -> str:
    accuracy, radii = report.accuracy, report.radii
    middle = radii[len(radii) // 2]
    failed = sum(m.standing is Standing.FAILED for m in report.margins)
    certified = float(accuracy.part(Standing.CERTIFIED, middle))
    proved = _percent(certified) if certified else "none"
    if accuracy.labelled:
        first = ("clean accuracy", _percent(accuracy.clean))
        second = (f"right within {middle:g} (proved: {proved})", _percent(accuracy.at(middle)))
    else:
        first = ("points with an answer", _percent(accuracy.clean))
        second = (f"keep their class within {middle:g} (proved: {proved})", _percent(accuracy.at(middle)))
    smallest = min((m.lower for m in report.margins if not math.isnan(m.lower)), default=math.nan)
    kind = "lower bound" if any(m.standing is Standing.BRACKETED for m in report.margins) else "margin"
    tiles = [
        ("points", f"{len(report.margins):,}"),
        first,
        second,
        (f"median {kind}", _number(report.median)),
        (f"smallest {kind}", _number(smallest)),
        ("median time a point", _time(float(np.median([m.seconds for m in report.margins])))),
    ]
    tiles += [("without an answer", str(failed))] if failed else []
    return "".join(f"<div><b>{_text(value)}</b><span>{_text(name)}</span></div>" for name, value in tiles)


def _radii(report: Report) -> str:
    """The curve in numbers, at a few round radii."""
    accuracy = report.accuracy
    parts = [s for s in NAMES if len(accuracy.lowers[s])]
    wide = sorted({*report.radii, 0.0, *(2 * radius for radius in report.radii[-1:])})
    head = ["radius", "together", *(NAMES[s] for s in parts), "at most"]
    rows = [
        [
            f"{r:g}",
            _percent(accuracy.at(r)),
            *(_percent(float(accuracy.part(s, r))) for s in parts),
            _percent(accuracy.possible(r)),
        ]
        for r in wide
    ]
    return _table(head, rows)


def _classes(report: Report) -> str:
    head = ["class", "points"] + (["accuracy"] if report.labels is not None else [])
    head += ["smallest", "median", *(f"at {radius:g}" for radius in report.radii)]
    rows = [
        [report.class_name(c.label), f"{c.count:,}"]
        + ([_percent(c.accuracy)] if report.labels is not None else [])
        + [_number(c.smallest), _number(c.median), *map(_percent, c.certified)]
        for c in report.classes
    ]
    return _table(head, rows)


def _rivals(report: Report) -> str:
    found = report.rivals
    if not found:
        return '<p class="soft">No point has a rival at a finite distance.</p>'
    most = max(found.values())
    if report.class_count > LARGEST_MATRIX:
        pairs = sorted(found.items(), key=lambda item: -item[1])
        more = f'<p class="soft">and {len(pairs) - MOST_PAIRS} more pairs</p>' if len(pairs) > MOST_PAIRS else ""
        return (
            _table(
                ["class", "nearest rival", "points"],
                [[report.class_name(a), report.class_name(b), str(n)] for (a, b), n in pairs[:MOST_PAIRS]],
            )
            + more
        )
    numbers = range(report.class_count)
    head = "".join(f"<th>{_text(report.class_name(b))}</th>" for b in numbers)
    lines = []
    for a in numbers:
        cells = "".join(
            '<td class="own"></td>'
            if a == b
            else f'<td style="--share:{round(100 * found.get((a, b), 0) / most)}%">{found.get((a, b), "") or ""}</td>'
            for b in numbers
        )
        lines.append(f"<tr><th>{_text(report.class_name(a))}</th>{cells}</tr>")
    return f'<div class="scroll"><table class="matrix"><tr><th></th>{head}</tr>{"".join(lines)}</table></div>'


def _standings(report: Report) -> str:
    standings, methods = Counter(m.standing for m in report.margins), Counter(m.method for m in report.margins)
    times = sorted(m.seconds for m in report.margins)
    lines = [[s.name, f"{standings[s]:,}", s.message] for s in Standing if standings[s]]
    ways = ", ".join(f"{name} {count:,}" for name, count in methods.most_common())
    spread = f"median {_time(times[len(times) // 2])}, longest {_time(times[-1])}"
    note = f'<p class="soft">Ways to the answer: {_text(ways)}. Time a point: {_text(spread)}.</p>'
    return _table(["standing", "points", "what it means"], lines, last_is_text=True) + note


def _facts(report: Report) -> str:
    about = report.about
    labels = "given" if report.labels is not None else "none: the predicted class takes the place of the right one"
    facts = [
        ("model", _text(about.model)),
        ("points", f"{len(report.points):,} with {report.points.shape[1]:,} inputs, {report.class_count} classes"),
        ("labels", labels),
        ("command", f"<code>{_text(about.command)}</code>" if about.command else "made in Python by pm.report"),
        ("seed", str(about.seed)),
        ("time", _text(f"{_time(about.seconds)}, without rows that were kept from before")),
        ("made", _text(f"{about.date} by polymargin {about.version}; {about.machine}")),
    ]
    if report.image_shape is not None:
        facts.insert(2, ("shown as", f"images of {' × '.join(map(str, report.image_shape))}"))
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts) + "</dl>"


def _rows(report: Report, folder: Path) -> dict[str, Any]:
    """Columns of numbers, five digits each; words and remarks once, by their number."""
    methods = sorted({m.method for m in report.margins})
    notes = sorted({note for m in report.margins if (note := _note(m))})
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
        "note": {str(row): position[_note(m)] for row, m in enumerate(ms) if _note(m)},
        "certificates": links,
    }


def _note(margin: Any) -> str:
    return str(margin.error) if margin.error is not None else "; ".join(margin.notes)


def _short(value: float, digits: int = 5) -> float | str | None:
    """Few digits; infinity as a word and NaN as nothing, because JSON has neither."""
    if math.isnan(value):
        return None
    return "inf" if math.isinf(value) else float(f"{value:.{digits}g}")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, last_is_text: bool = False) -> str:
    kind = ' class="worded"' if last_is_text else ""
    top = "".join(f"<th>{_text(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table{kind}><tr>{top}</tr>{body}</table></div>'


def _time(seconds: float) -> str:
    """
    >>> _time(0.0213), _time(3.21), _time(4000.0)
    ('21 ms', '3.2 s', '67 min')
    """
    if seconds < 1:
        return f"{1e3 * seconds:.2g} ms"
    return f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 60:.0f} min"
