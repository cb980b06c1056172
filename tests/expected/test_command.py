"""What the command line prints and writes."""

from __future__ import annotations

import json

import pytest

import polymargin as pm
from polymargin.cli.expected import run_expected


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_expected(2, 3, point="1,0.5", simulate=50, seed=0, threads=1, as_json=False, cluster=None) == 0
    text = capsys.readouterr().out
    assert "2.2156930" in text
    assert "mean of 50 networks" in text
    assert "networks with points in doubt  0" in text


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_expected(1, 5, point=None, simulate=20, seed=3, threads=None, as_json=True, cluster=None) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["value"] == pytest.approx(5 / 3)
    assert data["complex_count"] == 5
    assert data["simulation"]["samples"] == 20


def test_a_bad_point() -> None:
    with pytest.raises(pm.InputError, match="separated by commas"):
        run_expected(2, 3, point="1;2", simulate=None, seed=0, threads=None, as_json=True, cluster=None)
