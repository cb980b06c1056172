"""Faults at real runs of the command line: a hundred here, ten thousand in the slow suite."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from faults.injection import shots

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, limits and /proc")


def test_a_hundred_faults(tmp_path: Path) -> None:
    found = shots(tmp_path, 100, seed=0)
    assert sum(found.values()) == 100
    kinds = {kind.split()[0] for kind, _ in found}
    assert kinds == {"kill", "cut", "flip", "limit"}
    assert any(outcome != "the answer" for _, outcome in found)  # the faults do hit


@pytest.mark.slow
def test_ten_thousand_faults(tmp_path: Path) -> None:
    assert sum(shots(tmp_path, 10_000, seed=1).values()) == 10_000
