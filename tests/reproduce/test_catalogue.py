"""The catalogue: names and commands, tables that disagree, and the command that runs one entry or all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("matplotlib")

from polymargin.cli import reproduce as command
from polymargin.errors import InputError
from polymargin.reproduce import ed_degree_tables, everything
from polymargin.reproduce.catalogue import ENTRIES, entry
from polymargin.reproduce.report_items import Comparison, Entry, Reproduced, Run


def test_every_table_and_figure_is_there_once() -> None:
    names = [one.name for one in ENTRIES]
    assert sorted(names) == sorted(
        ["table1", "table2", "table3"]
        + [f"figure-{what}" for what in "sphere tracking discriminant conics xor chambers kac-rice".split()]  # noqa: SIM905
    )
    assert all(one.title and one.shows.endswith(".") for one in ENTRIES)
    with pytest.raises(InputError, match="figure-sphere"):
        entry("figure-9")


def test_small_rows_of_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymargin.reproduce.catalogue.QUICK_DEGREES", {"table1": 40, "table2": 12})
    for name, count in (("table1", 1), ("table2", 10)):
        outcome = entry(name).compute(Run(tmp_path, seed=1, quick=True))
        assert len(outcome.rows) == count
        assert all(row.agrees for row in outcome.rows)
        assert outcome.seconds is not None
        assert "at most" in outcome.notes[0]
        assert outcome.files[0].exists()


@pytest.mark.parametrize(
    ("complete", "defect", "said"),
    [
        (True, 1e-16, "take our count to be complete"),
        (True, None, "the most that a boundary of this degree can have"),
        (False, 1e-3, "not settled"),
    ],
)
def test_a_count_that_disagrees_is_said(
    complete: bool, defect: float | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"name": "(3, 3, 3, 2)", "printed": 738, "ours": 743, "agrees": False, "complete": complete}
    row |= {"trace_defect": defect, "seconds": 300.0}
    monkeypatch.setattr(ed_degree_tables, "ed_degree_table", lambda *_, **__: [row])
    outcome = entry("table2").compute(Run(tmp_path))
    ours = "743" if complete else "743 (not known to be complete)"
    assert outcome.rows == (Comparison("(3, 3, 3, 2)", "738", ours, False),)
    assert said in outcome.notes[1]
    assert outcome.seconds == 300.0


def ended(status: int, *words: str) -> str:
    result = CliRunner().invoke(command.commands, words)
    assert result.exit_code == status, result.output
    return result.stdout


def test_one_figure_from_the_command_line(tmp_path: Path) -> None:
    words = ("figure-tracking", "--directory", str(tmp_path), "--quick")
    data = json.loads(ended(0, *words, "--json"))
    assert data["command"] == f"polymargin reproduce figure-tracking --quick --directory {tmp_path}"
    assert data["seed"] is None
    assert [row["agrees"] for row in data["rows"]] == [True, True, True]
    assert all(Path(file).exists() for file in data["files"])
    assert "again with:" in ended(0, *words)


def test_all_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(run: Run) -> Reproduced:
        raise InputError("no torch here")

    def differs(run: Run) -> Reproduced:
        return Reproduced((), (Comparison.of("ED degree", 738, 743),))

    entries = (Entry("a", "A", "x.", fails), Entry("b", "B", "y.", differs))
    reproduce_all, chosen = everything.reproduce_all, entries
    monkeypatch.setattr(everything, "reproduce_all", lambda *a, **k: reproduce_all(*a, entries=chosen, **k))
    words = ("all", "--directory", str(tmp_path), "--seed", "2")
    out = ended(2, *words)
    assert "a was not computed: no torch here" in out
    assert "b, ED degree: printed 738, ours 743" in out
    assert (tmp_path / "report.html").exists()
    chosen = entries[1:]
    data = json.loads(ended(0, *words, "--json"))
    assert data["entries"][0]["rows"][0]["agrees"] is False
