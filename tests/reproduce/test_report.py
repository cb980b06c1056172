"""The report: what it says of agreement, disagreement and failure, that it needs nothing else, and how a browser shows it."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from base64 import b64decode
from pathlib import Path

import pytest

from polymargin.errors import InputError
from polymargin.reproduce.everything import reproduce_all
from polymargin.reproduce.report_items import NOT_PRINTED, Comparison, Entry, Reproduced, Run

PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def agreeing(run: Run) -> Reproduced:
    file = run.directory / "picture.png"
    file.write_bytes(PIXEL)
    page = run.directory / "page.html"
    page.write_text('<p id="inner">turn "me" & smile</p>')
    run.progress("half")
    return Reproduced(
        (file, page),
        (
            Comparison.of("a < b", 17, 17),
            Comparison("radius", NOT_PRINTED, "0.5", None),
            Comparison("time", "5 s", "1 s", None),
        ),
        ("note",),
    )


def disagreeing(run: Run) -> Reproduced:
    rows = [Comparison.of(f"row {number}", number, number) for number in range(40)]
    return Reproduced((), (*rows, Comparison.of("(3, 3, 3, 2)", 738, 743)), seconds=3725.0)


def refused(run: Run) -> Reproduced:
    raise InputError("a <sentence> for people")


def broken(run: Run) -> Reproduced:
    return Reproduced((run.directory / "x",), (), (str(1 // 0),))


ENTRIES = [
    Entry("good", "Good", "something", agreeing),
    Entry("other", "Other", "something else", disagreeing, random=False),
    Entry("refused", "Refused", "nothing", refused),
    Entry("broken", "Broken", "nothing", broken),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("results")
    reproduce_all(directory, quick=True, seed=3, entries=ENTRIES)
    return directory / "report.html"


def test_failures_do_not_stop_the_others(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []
    found = reproduce_all(tmp_path, entries=ENTRIES[2:] + ENTRIES[:2], progress=lambda *event: seen.append(event))
    assert [one.entry.name for one in found] == ["refused", "broken", "good", "other"]
    assert [one.outcome is None for one in found] == [True, True, False, False]
    assert found[0].error == "a <sentence> for people"
    assert "ZeroDivisionError" in found[1].error
    assert seen == [("refused", ""), ("broken", ""), ("good", "half"), ("good", ""), ("other", "")]


def test_disagreements_stand_out(report: Path) -> None:
    text = report.read_text()
    assert "<strong>41 of 42</strong>" in text
    head = text[: text.index("<section")]
    assert "printed 738, ours 743" in head
    assert "Not computed:" in head
    assert "1 printed values" in head
    assert "A quick run leaves out" in head
    # Long tables are folded, but not the row that disagrees.
    section = text[text.index('<section id="other"') :]
    assert section.index("743 ✗") < section.index("<details>") < section.index("row 39")
    assert '<section id="other" class="wrong">' in text
    assert '<section id="good">' in text


def test_every_entry_has_command_seed_and_time(report: Path) -> None:
    text = report.read_text()
    folder = report.parent
    assert f"polymargin reproduce good --quick --directory {folder} --seed 3" in text
    assert f"polymargin reproduce other --quick --directory {folder}<" in text
    assert "<dd>fixed</dd>" in text
    assert "1 h 2 min" in text


def test_text_is_escaped_and_nothing_is_loaded_from_elsewhere(report: Path) -> None:
    text = report.read_text()
    assert "a &lt; b" in text
    assert "a &lt;sentence&gt; for people" in text
    sources = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(source.startswith(("data:", "#")) or (report.parent / source).exists() for source in sources)
    assert "http" not in text
    assert "{{" not in text


def test_comparisons_are_kept_as_a_table(report: Path) -> None:
    rows = list(csv.DictReader((report.parent / "comparisons.csv").read_text().splitlines()))
    assert len(rows) == 44
    assert [row["ours"] for row in rows if row["agrees"] == "no"] == ["743"]
    assert sum(row["agrees"] == "" for row in rows) == 2


CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=2000",
]


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_shows_it_without_sideways_scrolling(report: Path, tmp_path: Path, width: int) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    # Headless Chromium has no window narrower than 500, so the page itself is made as narrow as a phone.
    measure = f"""<script>addEventListener("load", () => {{
        document.body.style.width = "{width}px";
        const parts = [...document.querySelectorAll("section, h1, h2, p, dd, img, iframe, summary, div.scroll")];
        document.title = [Math.max(...parts.map(part => part.getBoundingClientRect().right)),
            document.querySelector("img").naturalWidth,
            document.querySelector("iframe").contentDocument.body.textContent].join("|");
        }});</script>"""
    measured = tmp_path / "report.html"
    measured.write_text(report.read_text().replace("</body>", measure + "</body>"))
    options = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={max(width, 500)},900"]
    picture = tmp_path / "shot.png"
    dom = subprocess.run(
        [*options, "--dump-dom", measured.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    subprocess.run(
        [*options, f"--screenshot={picture}", measured.as_uri()], capture_output=True, check=True, timeout=120
    )
    title = re.search(r"<title>(.*?)</title>", dom.stdout)
    assert title is not None
    right, image, frame = title.group(1).split("|")
    assert 0.8 * min(width, 960) < float(right) <= width
    assert int(image) == 1
    assert "smile" in frame
    pixels = imread(picture)
    assert pixels.shape[1] == max(width, 500)
    assert pixels[..., :3].std() > 0.02
