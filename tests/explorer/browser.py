"""A headless Chromium that drives real pages; tests skip with a reason where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def browser() -> Iterator[Any]:
    """The browser, or a skip."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield opened
        finally:
            opened.close()


class Watched:
    """A page whose complaints and requests are kept."""

    def __init__(self, opened: Any, address: str, *, width: int = 1200, scheme: str = "light") -> None:
        self.context = opened.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def fits(self) -> bool:
        """Nothing is wider than the page."""
        return bool(self.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"))

    def cut_off(self) -> list[str]:
        """Return tables and pictures that are wider than the section around them."""
        found = self.page.evaluate("""() => [...document.querySelectorAll("section table, section svg")]
            .filter((one) => one.getBoundingClientRect().right > one.closest("section").getBoundingClientRect().right)
            .map((one) => one.outerHTML.slice(0, 200))""")
        return [str(one) for one in found]
