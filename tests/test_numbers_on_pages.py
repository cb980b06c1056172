"""Every measured number on a page is the one of the results file."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tools"))

from performance_tables import NUMBER, PAGES, TABLE, cell, markdown, results  # noqa: E402

# Numbers of these units are measured. Versions, sizes of networks and numbers of points are not.
UNITS = r"(?:ms|s|µs|min|minutes|seconds|hours|%|times|MiB|GB|frames|answers|paths per)"
MEASURED = re.compile(rf"(?<![\w.-])\d[\d.,]*(?:e\d+)? ?{UNITS}\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_file(page: Path) -> None:
    tables = results()["tables"]
    for name, text in TABLE.findall(page.read_text(encoding="utf-8")):
        assert text == markdown(tables[name]), f"{page.name}: run python tools/performance_tables.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_numbers_are_those_of_the_file(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    marked = NUMBER.findall(text)
    assert len(marked) == text.count("<!--=")
    for name, shown in marked:
        entry = re.match(r"[\d.,e]+", cell(name))
        assert entry is not None, name
        stored = float(entry[0].rstrip(".,").replace(",", ""))
        digits = len(shown.partition(".")[2])
        assert round(stored, digits) == float(shown.rstrip(".,").replace(",", "")), (page.name, name, shown, stored)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_measured_number_is_without_a_marker(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    text = NUMBER.sub("", TABLE.sub("", text))
    assert MEASURED.findall(text) == []


def test_every_result_says_where_it_comes_from() -> None:
    found = results()
    for entry in (*found["tables"].values(), *found["numbers"].values()):
        assert all(entry[name] for name in ("command", "version", "date", "machine"))
    for table in found["tables"].values():
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_every_result_is_shown() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    found = results()
    assert {name for name, _ in TABLE.findall(pages)} == set(found["tables"])
    assert set(found["numbers"]) <= {name for name, _ in NUMBER.findall(pages)}
