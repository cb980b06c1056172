"""What the command line prints and writes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import polymargin as pm
from polymargin.cli.expected import reproduce_kac_rice, run_expected


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_expected(2, 3, point="1,0.5", simulate=50, seed=0, threads=1, as_json=False) == 0
    text = capsys.readouterr().out
    assert "2.2156930" in text
    assert "mean of 50 networks" in text
    assert "networks with points in doubt  0" in text


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_expected(1, 5, point=None, simulate=20, seed=3, threads=None, as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["value"] == pytest.approx(5 / 3)
    assert data["complex_count"] == 5
    assert data["simulation"]["samples"] == 20


def test_a_bad_point() -> None:
    with pytest.raises(pm.InputError, match="separated by commas"):
        run_expected(2, 3, point="1;2", simulate=None, seed=0, threads=None, as_json=True)


def test_the_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture, table = reproduce_kac_rice(tmp_path / "figures", samples=40, most=4)
    assert picture.stat().st_size > 10_000
    lines = table.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# polymargin ")
    rows = list(csv.DictReader(lines[1:]))
    assert [row["degree"] for row in rows] == ["1", "2", "3", "4"]
    assert float(rows[3]["expected"]) == pytest.approx(4 / 7**0.5)
    assert rows[0]["deviation_in_standard_errors"] == "–"
