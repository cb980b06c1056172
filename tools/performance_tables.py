"""Write the tables of `results/performance.json` into the pages: `python tools/performance_tables.py`.

A page marks a table with `<!-- table: name -->` on a line of its own, and a number with `<!--=name-->` (of "numbers") or
`<!--=table::row::column-->` directly before it. A test compares both with the file; a number may be rounded.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FILE = ROOT / "results" / "performance.json"
PAGES = (ROOT / "README.md", ROOT / "docs" / "performance.md")
TABLE = re.compile(r"<!-- table: (\w+) -->\n\n?((?:\|.*\n)*)")
NUMBER = re.compile(r"<!--=([^>]+?)-->(\d[\d.,]*(?:e\d+)?)")


def results() -> dict[str, Any]:
    """Return the content of the results file."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def markdown(table: dict[str, Any]) -> str:
    """Return a table of the results file as Markdown."""
    lines = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cell(name: str) -> str:
    """Return the entry of the results file that a marker names."""
    parts = name.split("::")
    found = results()
    if len(parts) == 1:
        return str(found["numbers"][name]["value"])
    table = found["tables"][parts[0]]
    row = next(row for row in table["rows"] if row[0] == parts[1])
    return str(row[table["columns"].index(parts[2])])


def main() -> None:
    """Rewrite the tables of all pages."""
    tables = results()["tables"]
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = TABLE.sub(lambda found: f"<!-- table: {found[1]} -->\n\n{markdown(tables[found[1]])}", text)
        page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
