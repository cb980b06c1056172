"""What the command line prints and writes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import polymargin as pm
from polymargin.cli.app import app


def printed(*words: str) -> str:
    result = CliRunner().invoke(app, ["expected", *words])
    if isinstance(result.exception, pm.InputError):
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


def test_a_table() -> None:
    text = printed("--dimension", "2", "--degree", "3", "--point", "1,0.5", "--simulate", "50", "--threads", "1")
    assert "2.2156930" in text
    assert "mean of 50 networks" in text
    assert "networks with points in doubt  0" in text


def test_json() -> None:
    data = json.loads(printed("--dimension", "1", "--degree", "5", "--simulate", "20", "--seed", "3", "--json"))
    assert data["value"] == pytest.approx(5 / 3)
    assert data["complex_count"] == 5
    assert data["simulation"]["samples"] == 20


def test_a_bad_point() -> None:
    with pytest.raises(pm.InputError, match="separated by commas"):
        printed("--dimension", "2", "--degree", "3", "--point", "1;2")
