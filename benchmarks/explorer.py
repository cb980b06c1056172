"""The explorer with the demo networks: milliseconds per answer over HTTP, against the 33 ms of a frame, and what a browser shows.

python benchmarks/explorer.py [--answers 300]

In the browser (headless Chromium driven by playwright; left out where there is none) the point is moved before every frame, as a
hand would, and answers shown and frames drawn are counted: the best of three times three seconds.
"""

from __future__ import annotations

import argparse
import http.client
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from common import print_table  # before NumPy

from polymargin.explorer import Explorer

import numpy as np  # isort: skip

import polymargin as pm
from polymargin.explorer.answers import Answers

FRAME = 1 / 30
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DRAG = """(seconds) => new Promise((done) => {
  const canvas = document.getElementById("picture"), box = canvas.getBoundingClientRect();
  const answers = () => Number(document.body.dataset.answers), before = answers(), started = performance.now();
  let frames = 0;
  const step = () => {
    const now = (performance.now() - started) / 1000, turn = 2 * now;
    const place = { clientX: box.left + box.width * (0.5 + 0.2 * Math.cos(turn)), clientY: box.top + box.height * (0.5 + 0.2 * Math.sin(turn)) };
    canvas.dispatchEvent(new PointerEvent("pointermove", { buttons: 1, ...place }));
    frames++;
    if (now < seconds) requestAnimationFrame(step); else done([(answers() - before) / now, frames / now]);
  };
  requestAnimationFrame(step);
})"""  # noqa: E501


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=300)
    count = parser.parse_args().answers
    data = Path(str(files("polymargin") / "data"))
    with _browser() as browser:
        rows = [_row(name, data, count, browser) for name in ("moons", "spheres", "cubic8")]
    print_table(
        ["network", "solver, ms", "served, ms", "95 % within, ms", "answers per frame", "answers/s shown", "frames/s"],
        rows,
    )


def _row(name: str, data: Path, count: int, browser: Any) -> list[str]:
    network = pm.load(data / f"{name}.npz")
    points = np.load(data / f"{name}_points.npz")["points"]
    with pm.explore(network, points, browser=False) as explorer:
        left, right, low, high = explorer.scene.plane.window
        turn = np.linspace(0, 2 * np.pi, count)
        s = (left + right) / 2 + 0.2 * (right - left) * np.cos(turn)
        c = (low + high) / 2 + 0.2 * (high - low) * np.sin(turn)
        served = _served(explorer, s, c)
        computed = _computed(explorer.scene, s, c)
        shown, drawn = (
            ("–", "–") if browser is None else (f"{rate:.0f}" for rate in _dragged(browser, explorer.address))
        )
    return [
        name,
        f"{1e3 * np.median(computed):.1f}",
        f"{1e3 * np.median(served):.1f}",
        f"{1e3 * np.quantile(served, 0.95):.1f}",
        f"{FRAME / np.median(served):.1f}",
        shown,
        drawn,
    ]


@contextmanager
def _browser() -> Iterator[Any]:
    """Headless Chromium, or None."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found = None
    if found is None:
        yield None
        return
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


def _dragged(browser: Any, address: str) -> list[float]:
    """Answers shown and frames drawn per second while the point is dragged in a circle."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(address)
    page.locator("body[data-settled=true]").wait_for()
    page.evaluate(DRAG, 1)
    best: list[float] = max(page.evaluate(DRAG, 3) for _ in range(3))
    page.close()
    return best


def _served(explorer: Explorer, s: np.ndarray, c: np.ndarray) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", explorer.port)
    path, times = urlsplit(explorer.address).path, []
    for x, y in zip(s, c, strict=True):
        started = perf_counter()
        connection.request("GET", f"{path}answer?at={x},{y}")
        connection.getresponse().read()
        times.append(perf_counter() - started)
    connection.close()
    return times[5:]  # the first answers prepare stage 1


def _computed(scene: object, s: np.ndarray, c: np.ndarray) -> list[float]:
    answers, times = Answers(scene), []
    for x, y in zip(s, c, strict=True):
        started = perf_counter()
        answers.at((x, y))
        times.append(perf_counter() - started)
    return times[5:]


if __name__ == "__main__":
    main()
