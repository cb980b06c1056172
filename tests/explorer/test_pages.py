"""The real pages in a real browser: dragged, clicked, exported, at the width of a phone, in the dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer.browser import Watched, browser
from problems import random_network

import polymargin as pm
from polymargin.explorer import Scene
from polymargin.explorer.export import export_page

pytest.importorskip("waitress")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


def settled(page: Any) -> int:
    """Wait until nothing asked for is without an answer; how many answers there were."""
    page.locator("body[data-settled=true]").wait_for()
    assert not page.is_visible("#trouble"), page.inner_text("#trouble")
    return int(page.evaluate("() => Number(document.body.dataset.answers)"))


def picture(page: Any) -> str:
    """What the canvas shows once what was asked of it is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
    return str(page.evaluate("() => document.getElementById('picture').toDataURL()"))


def drag(page: Any, across: float, up: float) -> None:
    """Press in the middle of the picture and move by these shares of it."""
    box = page.locator("#picture").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across * box["width"], y - up * box["height"], steps=5)
    page.mouse.up()


def place_shown(page: Any) -> list[float]:
    return [float(part) for part in page.inner_text("#place").removeprefix("at (").removesuffix(")").split(",")]


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_dragging_shows_the_margin(chromium: Any, width: int, scheme: str) -> None:
    net = random_network([2, 4, 3], 3, seed=1)
    points = np.random.default_rng(0).normal(size=(4, 2))
    with pm.explore(net, points, window=(-2.0, 2.0, -2.0, 2.0), browser=False) as served:
        watched = Watched(chromium, served.address, width=width, scheme=scheme)
        page = watched.page
        before = settled(page)
        assert "Drag the point" in page.inner_text("header")
        assert [page.locator("#marks .key").nth(k).inner_text() for k in range(3)] == ["class 0", "class 1", "class 2"]
        shapes = page.evaluate("() => [...document.querySelectorAll('#marks svg > *')].map((s) => s.outerHTML)")
        assert len(set(shapes)) == 3
        drag(page, 0.2, 0.1)
        assert settled(page) > before
        place = place_shown(page)
        assert place == pytest.approx([0.8, 0.4], abs=0.02)
        expected = pm.margin(net, place, proof=False)
        assert float(page.inner_text("#margin")) == pytest.approx(expected.radius, rel=2e-3)  # the place is rounded
        assert page.inner_text("#standing") == "NUMERICAL"
        assert f"class {expected.label}; the nearest tie is with class {expected.rival}" in page.inner_text("#sentence")
        assert page.locator("#rivals tr").count() == 2
        page.focus("#picture")
        page.keyboard.press("ArrowLeft")
        settled(page)
        assert place_shown(page)[0] == pytest.approx(place[0] - 0.04, abs=2e-3)
        page.locator("#strip button").nth(2).click()
        page.locator("#picked .cards figure").first.wait_for()
        assert page.locator("#picked .cards figure").count() == 2
        assert watched.fits()
        assert watched.complaints == []
        assert all(address.startswith(served.address) for address in watched.requests)


def test_chambers_on_demand(chromium: Any) -> None:
    net = random_network([2, 3, 2], 2, seed=1)
    with pm.explore(net, browser=False) as served:
        page = Watched(chromium, served.address).page
        settled(page)
        for name, words in (
            ("chambers", "Number of real critical points"),
            ("discriminant", "ED discriminant of degree"),
        ):
            before = picture(page)
            page.click(f"#{name}")
            page.locator(f"#{name}[aria-pressed=true]:not([disabled])").wait_for()
            assert words in page.inner_text("#legend")
            assert picture(page) != before
            assert not page.is_visible("#work")


def test_chambers_have_the_colours_of_their_legend(chromium: Any) -> None:
    net = random_network([2, 4, 2], 3, seed=1)
    with pm.explore(net, browser=False) as served:
        page = Watched(chromium, served.address).page
        settled(page)
        page.click("#chambers")
        page.locator("#chambers[aria-pressed=true]:not([disabled])").wait_for()
        picture(page)
        named = page.evaluate("() => [...document.querySelectorAll('#legend .swatch')].map((s) => s.style.background)")
        seen = page.evaluate("""() => {
            const canvas = document.getElementById("picture"), found = new Map();
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            for (let at = 0; at < data.length; at += 4) {
                const key = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
                found.set(key, (found.get(key) || 0) + 1);
            }
            return [...found].filter((entry) => entry[1] > 1000).map((entry) => entry[0]);
        }""")
        assert len(named) > 1
        assert set(named) <= set(seen)


def test_a_cancelled_discriminant_leaves_chambers_and_legend(chromium: Any) -> None:
    net = random_network([2, 4, 2], 4, seed=1)  # a discriminant of degree 36: long enough to cancel
    with pm.explore(net, browser=False) as served:
        page = Watched(chromium, served.address).page
        settled(page)
        page.click("#chambers")
        page.locator("#chambers[aria-pressed=true]:not([disabled])").wait_for()
        before = picture(page)
        page.click("#discriminant")
        page.locator("#work").wait_for()
        assert "Number of real critical points" in page.inner_text("#legend")
        page.click("#cancel")
        page.locator("#discriminant:not([disabled])").wait_for()
        assert "Number of real critical points" in page.inner_text("#legend")
        assert page.get_attribute("#chambers", "aria-pressed") == "true"
        assert picture(page) == before


def test_without_scripts(chromium: Any, tmp_path: Path) -> None:
    net = random_network([2, 4, 3], 3, seed=1)
    points = np.random.default_rng(0).normal(size=(6, 2))
    scene = Scene.of(net, points)
    file = export_page(scene, tmp_path / "page.html")
    with pm.explore(net, points, browser=False) as served:
        for address in (file.as_uri(), served.address):
            page = chromium.new_context(java_script_enabled=False, viewport={"width": 390, "height": 900}).new_page()
            page.goto(address)
            assert page.locator("svg.still").is_visible()
            assert "needs JavaScript" in page.inner_text("main")
            for name in ("#picture", "#chambers", "#gallery", "#margin"):
                assert not page.is_visible(name)
            marks = page.locator("svg.still circle:not(.disc), svg.still polygon").count()
            assert marks == 6 + (address != served.address)  # the points, and in the export the start
            page.close()
    margin = pm.margin(net, scene.start, proof=False)
    text = file.read_text(encoding="utf-8")
    assert f"is in class {margin.label} and keeps it within {margin.lower:.4g}" in text
    assert "This file contains the polynomials of the network and 6 points." in text


@pytest.mark.parametrize(
    ("widths", "degree", "kind"), [([2, 4, 3], 3, "solve"), ([2, 4, 2], 4, "solve"), ([3, 3, 2], 3, "grid")]
)
def test_an_exported_page_drags_without_a_server(
    chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, widths: list[int], degree: int, kind: str
) -> None:
    monkeypatch.setattr("polymargin.explorer.export.GRID", 9)
    net = random_network(widths, degree, seed=1)
    window = (-2.0, 2.0, -2.0, 2.0)
    scene = Scene.of(net, None, window=window, title="</script><script>alert(1)</script>")
    file = export_page(scene, tmp_path / "page.html")
    assert f'"kind":"{kind}"' in file.read_text(encoding="utf-8")
    watched = Watched(chromium, file.as_uri())
    page = watched.page
    settled(page)
    for across, up in ((0.25, 0.125), (-0.25, 0.25), (0.1, -0.3)):
        drag(page, across, up)
        settled(page)
        place = place_shown(page)
        expected = pm.margin(net, scene.plane.points([place])[0], proof=False)
        assert float(page.inner_text("#margin")) == pytest.approx(expected.radius, rel=5e-3, abs=2e-3)
        assert f"class {expected.label};" in page.inner_text("#sentence")
        nearest = page.locator("#rivals tr.nearest td").all_inner_texts()
        assert (int(nearest[2]), int(nearest[3])) == (expected.complex_count, expected.real_count)
    assert watched.complaints == []
    assert watched.requests == [file.as_uri()]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_report_sorts_and_filters(chromium: Any, tmp_path: Path, width: int, scheme: str) -> None:
    net = random_network([2, 5, 3], 3, seed=3)
    points = np.random.default_rng(5).normal(size=(120, 2))
    labels = net.predict(points)
    labels[:9] = (labels[:9] + 1) % 3
    made = pm.report(net, points, labels, title='<img src=x onerror="alert(1)">')
    file = made.save(tmp_path / "report.html")
    watched = Watched(chromium, file.as_uri(), width=width, scheme=scheme)
    page = watched.page

    def column(number: int) -> list[str]:
        return page.locator(f"#table tbody tr td:nth-child({number})").all_inner_texts()

    assert page.inner_text("h1") == '<img src=x onerror="alert(1)">'
    assert page.locator("#table tbody tr").count() == 50
    order = np.argsort([m.lower for m in made.margins], kind="stable")
    assert column(1) == [str(row) for row in order[:50]]  # the smallest margins first
    page.click("#table th:nth-child(1) button")
    assert column(1) == [str(row) for row in range(50)]
    page.click("#table th:nth-child(1) button")
    assert column(1)[0] == "119"
    page.click("#next")
    page.click("#next")
    assert page.locator("#table tbody tr").count() == 20
    page.select_option("[data-filter=answer]", label="wrong")
    assert page.inner_text("#count") == "9 of 120 points"
    assert sorted(map(int, column(1))) == list(range(9))
    page.select_option("[data-filter=answer]", label="all")
    page.fill("[data-filter=below]", "0.1")
    assert page.inner_text("#count") == f"{sum(m.lower < 0.1 for m in made.margins)} of 120 points"
    assert watched.fits()
    assert watched.cut_off() == []
    assert watched.complaints == []
    assert watched.requests == [file.as_uri()]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_without_scripts(chromium: Any, tmp_path: Path, width: int) -> None:
    net = random_network([2, 5, 10], 3, seed=3)
    points = np.random.default_rng(5).normal(size=(60, 2))
    made = pm.report(net, points, net.predict(points))
    file = made.save(tmp_path / "report.html")
    context = chromium.new_context(java_script_enabled=False, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(file.as_uri())
    for name in (".filters", "#table", ".pages", "#count"):
        assert not page.locator(name).first.is_visible()
    assert "needs JavaScript" in page.inner_text("#rows")
    smallest = min(range(60), key=lambda row: made.margins[row].lower)
    first = page.locator("#rows tbody tr").filter(visible=True).first.locator("td").all_inner_texts()
    assert first[0].split()[-1] == str(smallest)
    context.close()
    watched = Watched(chromium, file.as_uri(), width=width)
    assert watched.cut_off() == []
