"""What a report says agrees with the margins it was made from, and its page with both; nothing hostile gets through."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.reports import About, Report
from polymargin.reports.page import embedded_json
from polymargin.standing import Standing

pytest.importorskip("matplotlib")

HOSTILE = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)> {{rows}} \x1b[31m \u2028 &amp; \"'"


@pytest.fixture(scope="module")
def made() -> Report:
    net = random_network([2, 5, 3], 3, seed=3)
    points = np.random.default_rng(5).normal(size=(30, 2))
    points[7] = np.nan
    labels = net.predict(np.nan_to_num(points))
    labels[:3] = (labels[:3] + 1) % 3
    found = pm.report(net, points, labels, title="Rings")
    return replace(found, about=replace(found.about, command="polymargin report a b"))


def rows_of(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


class Elements(HTMLParser):
    """Every element of a page, and the attributes that could load or run something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.handlers: list[str] = []
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.handlers.append(name)
            if name in ("src", "href", "action", "xlink:href"):
                self.addresses.append(value or "")


def test_numbers_agree_with_the_margins(made: Report) -> None:
    lower = np.array([m.lower for m in made.margins])
    right = np.array([m.label == label for m, label in zip(made.margins, made.labels.tolist(), strict=True)])
    assert made.accuracy.clean == 26 / 30  # three wrong labels and one row without an answer
    for radius in made.radii:
        assert made.accuracy.at(radius) == pytest.approx((right & (lower > radius)).mean())
    assert sum(c.count for c in made.classes) == 30
    for c in made.classes:
        own = made.labels == c.label
        assert c.smallest == np.nanmin(lower[own])
        assert c.robust == pytest.approx([(right & (lower > r))[own].mean() for r in made.radii])
    assert sum(made.rivals.values()) == sum(m.rival is not None for m in made.margins)
    order = [made.margins[row].upper for row in made.vulnerable if made.correct[row]]
    assert order == sorted(order)
    assert len(made.table) == 30
    assert made.table[7]["standing"] == "FAILED"
    assert "nan" in made.table[7]["notes"]


def test_the_page_holds_every_row(made: Report, tmp_path: Path) -> None:
    page = made.save(tmp_path / "report.html").read_text(encoding="utf-8")
    rows = rows_of(page)
    assert rows["lower"][7] is None
    for row, m in enumerate(made.margins):
        assert rows["class"][row] == m.label
        assert rows["standings"][rows["standing"][row]] == m.standing.name
        if math.isfinite(m.lower):
            assert rows["lower"][row] == pytest.approx(m.lower, rel=1e-4)
    assert "polymargin report a b" in page
    assert page.count("<svg") == 2


def test_the_page_loads_nothing(made: Report, tmp_path: Path) -> None:
    page = made.save(tmp_path / "report.html").read_text(encoding="utf-8")
    elements = Elements(page)
    assert elements.names.count("script") == 2
    assert not elements.handlers
    assert all(address.startswith(("data:image/png;base64,", "#")) for address in elements.addresses)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for used in re.findall(r'(?:href="#|url\(#)([^")]+)', page):
        assert used in ids


def test_figures_know_only_colours_of_the_page(made: Report, tmp_path: Path) -> None:
    """A colour that is not a variable would be invisible or glaring in one of the two modes."""
    page = made.save(tmp_path / "report.html").read_text(encoding="utf-8")
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        assert not re.findall(r"#[0-9a-fA-F]{6}\b", svg)
        assert "var(--ink)" in svg


def test_hostile_names_stay_text(made: Report, tmp_path: Path) -> None:
    about = About(HOSTILE, HOSTILE, "0", HOSTILE, HOSTILE, 0, 1.0, command=HOSTILE)
    failed = pm.Margin(math.nan, math.nan, math.nan, None, None, None, Standing.FAILED, HOSTILE, 0.0, error=HOSTILE)
    file = tmp_path / '"><script>.json'
    hostile = Report(
        made.points, made.labels, (*made.margins[:-1], failed), 3, None, (*made.certificates[:-1], file), about
    )
    page = hostile.save(tmp_path / "report.html").read_text(encoding="utf-8")
    plain = Elements(made.save(tmp_path / "plain.html").read_text(encoding="utf-8"))
    elements = Elements(page)
    assert elements.names.count("script") == 2
    assert elements.names.count("img") == plain.names.count("img") == 0
    assert not elements.handlers
    assert "\x1b" not in page
    rows = rows_of(page)
    assert rows["notes"][rows["note"]["29"]].startswith("</title></script><script>")
    assert rows["certificates"]["29"] == "%22%3E%3Cscript%3E.json"


def test_json_cannot_end_its_element() -> None:
    text = embedded_json({"a": "</script><!--&"})
    assert "<" not in text
    assert json.loads(text) == {"a": "</script><!--&"}


def test_images_and_certificates(tmp_path: Path) -> None:
    net = random_network([64, 3, 2], 2, seed=0)
    images = np.random.default_rng(1).random((3, 8, 8))
    made = pm.report(net, images, certificates=tmp_path / "proofs")
    assert made.image_shape == (8, 8)
    assert {m.standing for m in made.margins} == {Standing.CERTIFIED}
    page = made.save(tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 9
    links = rows_of(page)["certificates"]
    assert links == {str(row): f"proofs/point-{row}.json" for row in range(3)}
    assert all((tmp_path / link).is_file() for link in links.values())
    net.save(tmp_path / "model.npz")
    from polymargin_checker.checker import check

    assert check(str(tmp_path / "model.npz"), str(tmp_path / links["0"])).accepted


def test_without_labels_and_for_piecewise_networks(tmp_path: Path) -> None:
    pytest.importorskip("daqp")
    from piecewise.networks import random_relu

    net = random_relu([2, 6, 3], 1)
    made = pm.report(net, np.random.default_rng(0).normal(size=(4, 2)))
    assert made.labels is None
    assert made.accuracy.clean == 1.0
    assert "every predicted class counts as right" in made.save(tmp_path / "report.html").read_text(encoding="utf-8")
    pm.report(net, [[0.1, 0.2]], certificates=tmp_path / "proofs")
    assert any((tmp_path / "proofs").iterdir())


def test_ten_thousand_images_fit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    points = rng.random((10_000, 784), dtype=np.float32).astype(np.float64)
    radii = rng.gamma(2.0, 0.2, size=10_000)
    margins = tuple(
        pm.Margin(r, r, r, points[i], i % 10, (i + 1) % 10, Standing.NUMERICAL, "quadric", 0.001)
        for i, r in enumerate(radii.tolist())
    )
    about = About("Many", "a network", "0", "", "", 0, 1.0)
    made = Report(points, np.arange(10_000) % 10, margins, 10, (28, 28), (None,) * 10_000, about)
    assert made.save(tmp_path / "report.html").stat().st_size < 800_000


def test_another_norm_is_said(tmp_path: Path) -> None:
    net = random_network([2, 3, 2], 2, seed=0)
    points = np.random.default_rng(0).normal(size=(3, 2))
    made = pm.report(net, points, within=pm.Linf())
    expected = pm.margin(net, points, proof=False, within=pm.Linf())
    assert [m.lower for m in made.margins] == pytest.approx([m.lower for m in expected])
    assert "radius (L∞)" in made.save(tmp_path / "report.html").read_text(encoding="utf-8")
    proved = pm.report(net, points, within=pm.Linf(), certificates=tmp_path)
    assert {m.standing for m in proved.margins} == {pm.Standing.CERTIFIED}
    with pytest.raises(pm.InputError, match="expected one norm"):
        pm.plots.RobustAccuracy.of([*expected, *pm.margin(net, points, proof=False)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"image_shape": (3, 3)}, "image shape"),
        ({"image_shape": "square"}, "expected a shape such as"),
        ({"labels": [0, 1, 2]}, "one class per point"),
    ],
)
def test_what_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(pm.InputError, match=words):
        pm.report(random_network([2, 3, 2], 2, seed=0), [[0.0, 0.0], [1.0, 1.0]], **options)


def test_without_a_single_answer_there_is_a_page_and_no_warning(tmp_path: Path) -> None:
    made = pm.report(random_network([2, 5, 3], 3, seed=3), np.full((2, 2), np.nan))
    assert [row.standing for row in made.margins] == [Standing.FAILED] * 2
    assert "without an answer" in made.save(tmp_path / "none.html").read_text(encoding="utf-8")
