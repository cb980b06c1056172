"""Words that pages, docstrings, comments and messages do not use.

People are no agents of code, and private words for parts of the program have public names: package, base solutions, retry.
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "plots", "reports", "explorer", "soundness", "reproduce", "vnnlib", "learning", "quadric", "continuation", "enumeration",
    "polynomials", "gpu", "boundary", "expected", "piecewise", "regions", "value_ranges", "geometry",
    "networks", "cli",
)  # fmt: skip
SOURCES = [file for name in PACKAGES for file in sorted((ROOT / "src" / "polymargin" / name).rglob("*.py"))]
SOURCES += sorted((ROOT / "src" / "polymargin").glob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

# The pages together stay readable in an afternoon. The limit falls when pages get shorter; it never rises.
MOST_WORDS = 27_000

WORDS = re.compile(
    r"\b(whoever|nobody|somebody|anybody|everybody|who asks|second look|as they come|to and fro|what it buys|all told"
    r"|knows nothing|rooms|stage[- ][12]|come along|comes along|stands? up|hasn't been asked)\b",
    flags=re.IGNORECASE,
)


def prose(source: str) -> str:
    """Return the comments and strings of a Python file."""
    kinds = (tokenize.COMMENT, tokenize.STRING)
    return "\n".join(
        token.string for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type in kinds
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert WORDS.findall(text) == []


def test_pages_are_short() -> None:
    """Words contain a letter or a digit, so signs of tables and formulas do not count."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    words = [word for page in pages for word in page.read_text(encoding="utf-8").split() if re.search(r"\w", word)]
    assert len(words) <= MOST_WORDS


def test_sources() -> None:
    found = {
        str(file.relative_to(ROOT)): words
        for file in SOURCES
        if (words := WORDS.findall(prose(file.read_text(encoding="utf-8"))))
    }
    assert found == {}


def test_the_list_finds_words() -> None:
    assert WORDS.findall(prose('x = "a"  # whoever asks, on stage 1\n')) == ["whoever", "stage 1"]
