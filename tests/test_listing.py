"""Results of a batch: a sequence, a table in a file, in pandas and in a notebook; single results in a notebook."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm

NETWORK = random_network([2, 4, 3], 2, seed=0)
POINTS = np.array([[0.1, 0.2], [np.nan, 1.0], [0.5, -0.5]])


@pytest.fixture(scope="module")
def margins() -> pm.Margins:
    found = pm.margin(NETWORK, POINTS, proof=False)
    assert isinstance(found, pm.Margins)
    return found


def test_margins_are_a_sequence_with_columns(margins: pm.Margins) -> None:
    assert isinstance(margins, Sequence)
    assert margins.standings == [row.standing for row in margins]
    assert margins.radii.shape == (3,)
    assert math.isnan(margins.radii[1])
    assert margins.radii[2] == margins[2].radius
    assert isinstance(margins[:2], pm.Margins)
    assert isinstance(margins[0], pm.Margin)
    assert repr(margins).startswith("Margins(3 points: ")
    assert "1 FAILED" in repr(margins)


def test_a_csv_file_keeps_every_digit(margins: pm.Margins, tmp_path: Path) -> None:
    with margins.to_csv(tmp_path / "margins.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["row"] for row in rows] == ["0", "1", "2"]
    assert float(rows[0]["radius"]) == margins[0].radius
    assert (rows[1]["radius"], rows[1]["standing"]) == ("", "FAILED")
    assert "contains nan" in rows[1]["error"]


def test_verdicts_and_certified_margins(tmp_path: Path) -> None:
    verdicts = pm.verify(NETWORK, POINTS, 1e-3)
    assert isinstance(verdicts, pm.Verdicts)
    assert [answer.name for answer in verdicts.answers] == ["ROBUST", "UNKNOWN", "ROBUST"]
    assert repr(verdicts) == "Verdicts(3 points: 2 ROBUST, 1 FAILED)"
    assert "contains nan" in verdicts[1].reason
    certified = pm.margin(NETWORK, POINTS)
    assert isinstance(certified, pm.Margins)
    assert (certified.lower[[0, 2]] <= certified.upper[[0, 2]]).all()
    assert certified[1].certificate is None
    assert len(certified.to_csv(tmp_path / "c.csv").read_text().splitlines()) == 4
    for answer in (*verdicts, *certified):
        again = type(answer).from_dict(answer.to_dict())
        assert repr(again) == repr(answer)


def test_notebooks(margins: pm.Margins) -> None:
    page = margins._repr_html_()
    assert page.count("<tr>") == 4
    many = pm.Margins(list(margins) * 20)._repr_html_()
    assert "and 40 more" in many
    assert "<th>radius</th>" in margins[0]._repr_html_()
    strange = pm.Margins([pm.Margin.from_dict(margins[1].to_dict() | {"error": "<script>"})])
    assert "<script>" not in strange._repr_html_()


def test_notebooks_draw_the_plane() -> None:
    """Discs are to scale, and each ends where its line ends: at the tie."""
    net = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])], degree=2)
    points = np.array([[0.0, 0.25], [1.0, 0.0], [np.nan, 0.0], [3.0, 0.5]])
    found = pm.margin(net, points)
    page = found._repr_html_()
    discs = [float(r) for r in re.findall(r'r="([\d.]+)" fill="[^"]+" fill-opacity', page)]
    lines = np.array(
        [[float(n) for n in line] for line in re.findall(r'x1="(.+?)" y1="(.+?)" x2="(.+?)" y2="(.+?)"', page)]
    )
    radii = found.radii[[0, 1, 3]]
    assert np.allclose(np.array(discs) / discs[0], radii / radii[0], atol=1e-3)
    assert np.allclose(np.hypot(lines[:, 2] - lines[:, 0], lines[:, 3] - lines[:, 1]), discs, atol=0.02)
    turned = (lines[1, :2] - lines[0, :2]) * (1, -1)  # up is up
    assert np.allclose(
        turned / np.linalg.norm(turned), (points[1] - points[0]) / np.linalg.norm(points[1] - points[0]), atol=1e-3
    )
    assert "<svg" not in pm.margin(net, points[:2], within=pm.Linf())._repr_html_()
    assert "<svg" not in pm.margin(net, points[2:3])._repr_html_()


def test_frames(margins: pm.Margins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(pm.PolymarginError, match="pip install pandas"):
        margins.to_frame()
    monkeypatch.undo()
    pandas = pytest.importorskip("pandas")
    frame = margins.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["radius"][0] == margins[0].radius
    assert list(frame["standing"]) == [standing.name for standing in margins.standings]


def test_attacks_take_batches() -> None:
    good = POINTS[[0, 2]]
    attacks = pm.attack(NETWORK, good)
    for row, found, margin in zip(good, attacks, pm.margin(NETWORK, good, proof=False), strict=True):
        assert found.distance >= margin.radius * (1 - 1e-9)
        assert found.distance == pm.attack(NETWORK, row).distance
    with pytest.raises(pm.InputError, match=r"row 1: .*contains nan"):
        pm.attack(NETWORK, POINTS)


def test_columns_arrays_and_json(margins: pm.Margins, tmp_path: Path) -> None:
    assert np.array_equal(np.asarray(margins), margins.radii, equal_nan=True)
    assert np.array_equal(margins["radius"], margins.radii, equal_nan=True)
    assert np.array_equal(margins["upper"], margins.upper, equal_nan=True)
    assert list(margins["standing"]) == [standing.name for standing in margins.standings]
    with pytest.raises(KeyError, match="expected one of label, rival"):
        margins["status"]
    rows = json.loads(margins.to_json(tmp_path / "margins.json").read_text())
    assert [row["row"] for row in rows] == [0, 1, 2]
    assert pm.Margin.from_dict({k: v for k, v in rows[0].items() if k != "row"}).radius == margins[0].radius
    verdicts = pm.verify(NETWORK, POINTS, 1e-3)
    assert list(np.asarray(verdicts)) == ["ROBUST", "UNKNOWN", "ROBUST"]
    for page in (margins._repr_html_(), verdicts._repr_html_()):
        assert page.count("<th>") <= 6
