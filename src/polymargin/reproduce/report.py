"""The report: one page that opens from disk, with its pictures inside, printed values beside ours.

Disagreements come first. Every table and figure has its command, seed and time.
"""

from __future__ import annotations

import platform
from base64 import b64encode
from collections.abc import Sequence
from datetime import date
from html import escape
from importlib.resources import files
from pathlib import Path

from polymargin import __version__
from polymargin.continuation import available_threads
from polymargin.reproduce.report_items import Comparison, Reproduced, Reproduction
from polymargin.times import readable_time

# Longer tables are folded, except for the rows that disagree.
LONGEST_OPEN_TABLE = 12


def write_report(found: Sequence[Reproduction], file: Path) -> Path:
    """Write the page; links to the other files are relative to its directory."""
    template = files("polymargin.reproduce").joinpath("templates", "report.html").read_text(encoding="utf-8")
    parts = {
        "origin": escape(_origin(found)),
        "verdict": _verdict(found),
        "overview": "\n".join(map(_overview_row, found)),
        "sections": "\n".join(_section(one, file.parent) for one in found),
    }
    for name, text in parts.items():
        template = template.replace("{{" + name + "}}", text)
    file.write_text(template, encoding="utf-8")
    return file


def _origin(found: Sequence[Reproduction]) -> str:
    kind = "quick run" if any(one.run.quick for one in found) else "full run"
    machine = (
        f"{platform.system()} {platform.machine()}, {available_threads()} cores, Python {platform.python_version()}"
    )
    return f"polymargin {__version__}, {date.today().isoformat()}; {kind}; {machine}"


def _verdict(found: Sequence[Reproduction]) -> str:
    compared = sum(one.compared for one in found)
    wrong = [(one, row) for one in found for row in one.disagreements]
    failed = [one for one in found if one.outcome is None]
    text = f"<strong>{compared - len(wrong)} of {compared}</strong> compared values agree with the paper."
    if wrong:
        items = "".join(
            f'<li><a href="#{one.entry.name}">{escape(one.entry.title)}</a>, {escape(row.name)}: '
            f'<span class="no">printed {escape(row.printed)}, ours {escape(row.ours)}</span></li>'
            for one, row in wrong
        )
        text += f"<ul>{items}</ul>"
    unjudged = sum(one.unjudged for one in found)
    if unjudged:
        text += f" {unjudged} printed values that depend on a training or a machine are shown beside ours without a verdict."
    if any(one.run.quick for one in found):
        text += " A quick run leaves out rows of the tables that take long; the notes there say which."
    if failed:
        names = ", ".join(f'<a href="#{one.entry.name}">{escape(one.entry.title)}</a>' for one in failed)
        text += f' <span class="no">Not computed: {names}.</span>'
    return text


def _overview_row(one: Reproduction) -> str:
    if one.outcome is None:
        agrees = '<span class="no">not computed</span>'
    elif not one.compared:
        agrees = "nothing printed"
    else:
        kind = "no" if one.disagreements else "yes"
        agrees = f'<span class="{kind}">{one.compared - len(one.disagreements)} of {one.compared}</span>'
    link = f'<a href="#{one.entry.name}">{escape(one.entry.title)}</a>'
    return f"<tr><td>{link}</td><td>{agrees}</td><td>{readable_time(one.seconds)}</td></tr>"


def _section(one: Reproduction, directory: Path) -> str:
    entry = one.entry
    wrong = ' class="wrong"' if one.outcome is None or one.disagreements else ""
    parts = [f'<section id="{entry.name}"{wrong}>', f"<h2>{escape(entry.title)}</h2>"]
    parts.append(f'<p class="soft">In the paper: {escape(entry.shows)}</p>')
    if one.outcome is None:
        parts.append(f'<p class="no">Not computed:</p><pre>{escape(one.error)}</pre>')
    else:
        parts += [_picture(file, entry.title) for file in one.outcome.files if file.suffix in (".png", ".html")]
        parts.append(_table(one.outcome))
        parts += [f"<p>{escape(note)}</p>" for note in one.outcome.notes]
    parts += [_facts(one, directory), "</section>"]
    return "\n".join(parts)


def _picture(file: Path, title: str) -> str:
    if file.suffix == ".html":
        page = escape(file.read_text(encoding="utf-8"), quote=True)
        return f'<iframe title="{escape(title)}" srcdoc="{page}"></iframe>'
    data = b64encode(file.read_bytes()).decode("ascii")
    return f'<img alt="{escape(title)}" src="data:image/png;base64,{data}">'


def _table(outcome: Reproduced) -> str:
    rows = outcome.rows
    if not rows:
        return ""
    if len(rows) <= LONGEST_OPEN_TABLE:
        return _html_rows(rows)
    folded = f"<details><summary>all {len(rows)} values</summary>{_html_rows(rows)}</details>"
    wrong = [row for row in rows if row.agrees is False]
    return (_html_rows(wrong) if wrong else "") + folded


def _html_rows(rows: Sequence[Comparison]) -> str:
    lines = []
    for row in rows:
        kind = "" if row.agrees is None else ' class="yes"' if row.agrees else ' class="no"'
        mark = "" if row.agrees is None else " ✓" if row.agrees else " ✗"
        cells = f"<td>{escape(row.name)}</td><td>{escape(row.printed)}</td><td>{escape(row.ours)}{mark}</td>"
        lines.append(f"<tr{kind if row.agrees is False else ''}>{cells}</tr>")
    head = "<tr><th></th><th>printed</th><th>ours</th></tr>"
    return f'<div class="scroll"><table>{head}{"".join(lines)}</table></div>'


def _facts(one: Reproduction, directory: Path) -> str:
    links = [
        f'<a href="{escape(file.relative_to(directory).as_posix())}">{escape(file.name)}</a>'
        for file in (one.outcome.files if one.outcome else ())
    ]
    facts = [
        ("command", f"<code>{escape(one.command)}</code>"),
        ("seed", str(one.run.seed) if one.entry.random else "fixed"),
        ("time", readable_time(one.seconds)),
        ("files", ", ".join(links) or "none"),
    ]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts) + "</dl>"
