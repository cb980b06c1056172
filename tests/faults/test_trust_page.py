"""docs/trust.md names a test for each promise; each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_promise_names_a_test_that_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs" / "trust.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    missing = [name for file, name in named if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")]
    assert not missing
