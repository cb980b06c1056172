"""Pictures of expected numbers are drawn, and refuse what they cannot draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polymargin as pm
from polymargin.expected import SimulatedCounts, growth
from polymargin.plots.kac_rice import (
    Bar,
    architecture_counts,
    critical_point_densities,
    growth_with_degree,
    real_zero_counts,
)


def counts(values: list[int]) -> SimulatedCounts:
    return SimulatedCounts(np.array(values), np.zeros(len(values), dtype=np.int64), 9, "continuation", 0)


def test_all_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = [
        real_zero_counts([2, 3], [counts([0, 2, 2]), counts([1, 3, 1])], tmp_path / "zeros.svg"),
        critical_point_densities(3, [1.0, 0.5], tmp_path / "densities.png"),
        growth_with_degree([growth(n, [2, 4, 8]) for n in (1, 2)], tmp_path / "growth.png"),
        architecture_counts(
            [Bar("one", "deep", 2.1, (2.0, 2.2), 9), Bar("two", "shallow", 3.0, (3.0, 3.0), 4)], tmp_path / "a.png"
        ),
    ]
    assert all(file.stat().st_size > 10_000 for file in files)


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(pm.InputError, match="at least one"):
        real_zero_counts([], [], tmp_path / "zeros.png")
    with pytest.raises(pm.InputError, match="two coordinates"):
        critical_point_densities(3, [1.0], tmp_path / "densities.png")
    with pytest.raises(pm.InputError, match="no growth"):
        growth_with_degree([], tmp_path / "growth.png")
    with pytest.raises(pm.InputError, match="no architectures"):
        architecture_counts([], tmp_path / "architectures.png")
