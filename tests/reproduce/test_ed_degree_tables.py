"""Tables 1 and 2: small rows against the printed values, resuming, and files that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polymargin.errors import InputError
from polymargin.reproduce import ed_degree_tables
from polymargin.reproduce.ed_degree_tables import ed_degree_table, table1_rows, table2_rows


def test_all_printed_rows_are_there() -> None:
    assert len(table1_rows()) == 8
    assert len(table2_rows()) == 64


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("table", "limit"), [("table1", 128), ("table2", 46)])
def test_small_rows_agree_for_every_seed(table: str, limit: int, seed: int, tmp_path: Path) -> None:
    rows = ed_degree_table(table, tmp_path, seed=seed, largest_degree=limit, threads=1)
    assert len(rows) == {"table1": 4, "table2": 24}[table]
    assert all(row["complete"] for row in rows)
    assert [row["ours"] for row in rows] == [row["printed"] for row in rows]


@pytest.mark.slow
def test_every_row_agrees_but_two(tmp_path: Path) -> None:
    """The two printed values that monodromy and Gröbner bases both contradict (docs/ed-degrees.md)."""
    for table, wrong in (("table1", {}), ("table2", {"(3, 3, 3, 2)": 743, "(2, 5, 2, 3)": 1035})):
        rows = ed_degree_table(table, tmp_path, seed=3)
        assert all(row["complete"] for row in rows)
        assert {row["name"]: row["ours"] for row in rows if not row["agrees"]} == wrong


def test_finished_rows_are_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ed_degree_table("table2", tmp_path, largest_degree=12, threads=1)
    file = tmp_path / "table2-seed0.jsonl"
    # As if the run had been killed in the middle of the last line.
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])
    computed = []
    count_row = ed_degree_tables.count_row

    def spy(task, **options):
        computed.append(task)
        return count_row(task, **options)

    monkeypatch.setattr(ed_degree_tables, "count_row", spy)
    seen: list[str] = []
    again = ed_degree_table(
        "table2", tmp_path, largest_degree=12, threads=1, progress=lambda row: seen.append(row["name"])
    )
    assert len(computed) == 1
    assert [row["ours"] for row in again] == [row["ours"] for row in first]
    assert sorted(seen) == sorted(row["name"] for row in first)
    assert all(json.loads(line) for line in file.read_text().splitlines())


def test_a_file_of_another_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table1-seed0.jsonl").write_text('{"table": "table1", "seed": 5}\n')
    with pytest.raises(InputError, match="move it away"):
        ed_degree_table("table1", tmp_path, largest_degree=36, threads=1)
    (tmp_path / "table1-seed0.jsonl").write_text("no table\n{}\n")
    with pytest.raises(InputError, match="table rows"):
        ed_degree_table("table1", tmp_path, largest_degree=36, threads=1)
