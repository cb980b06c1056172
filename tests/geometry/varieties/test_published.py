"""ED degrees and polar degrees against published ones, in several metrics."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import pytest
from published_degrees import TABLE, Published

import polymargin as pm
from polymargin.geometry import Variety, polar_degrees
from polymargin.standing import Standing

ROWS = [pytest.param(row, id=row.name, marks=[pytest.mark.slow] if row.slow else []) for row in TABLE]
GENERIC = [pytest.param(row, id=row.name, marks=pytest.mark.slow) for row in TABLE if row.generic]


@pytest.mark.parametrize("row", ROWS)
def test_published_numbers(row: Published) -> None:
    variety = Variety(row.equations)
    for expected, metric in ((row.euclidean, None), (row.weighted, row.weights)):
        if expected is not None:
            found = pm.ed_degree(variety, metric=metric)
            assert (found.value, found.standing) == (expected, Standing.NUMERICAL)
    if row.generic is not None:
        polar = polar_degrees(variety)
        assert sum(polar) == row.generic
        assert row.polar in (None, polar)


@pytest.mark.parametrize("row", GENERIC)
def test_the_generic_ed_degree_is_the_sum_of_the_polar_degrees(row: Published) -> None:
    assert int(pm.ed_degree(Variety(row.equations), metric="generic")) == row.generic


@pytest.mark.parametrize("row", [row for row in TABLE if len(row.equations) == 1], ids=lambda row: row.name)
def test_hypersurfaces_are_counted_alike_by_the_other_way(row: Published) -> None:
    boundary = pm.Boundary.from_expression(row.equations[0])
    for expected, metric in ((row.euclidean, None), (row.weighted, row.weights)):
        if expected is not None:
            assert int(pm.ed_degree(boundary, method="symbolic", metric=metric)) == expected
    if row.generic is not None:
        assert sum(polar_degrees(boundary)) == row.generic


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("M2") is None, reason="Macaulay2 is not installed")
@pytest.mark.parametrize("row", [row for row in TABLE if not row.slow], ids=lambda row: row.name)
def test_macaulay2_counts_the_same(row: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    benchmark = importlib.import_module("geometry")
    theirs, _ = benchmark.run_macaulay2(benchmark.macaulay2_script(row), 300.0)
    assert theirs == int(pm.ed_degree(Variety(row.equations), metric=row.weights))
