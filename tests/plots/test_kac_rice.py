"""Pictures of expected numbers are drawn, and refuse what they cannot draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polymargin as pm
from polymargin.expected import SimulatedCounts
from polymargin.plots.kac_rice import real_zero_counts


def counts(values: list[int]) -> SimulatedCounts:
    return SimulatedCounts(np.array(values), np.zeros(len(values), dtype=np.int64), 9, "continuation", 0)


def test_all_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = [
        real_zero_counts([2, 3], [counts([0, 2, 2]), counts([1, 3, 1])], tmp_path / "zeros.svg"),
    ]
    assert all(file.stat().st_size > 10_000 for file in files)


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(pm.InputError, match="at least one"):
        real_zero_counts([], [], tmp_path / "zeros.png")
