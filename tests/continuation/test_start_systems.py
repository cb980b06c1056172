"""Closed-form start systems: as many solutions as the theory says, each one a solution, all distinct."""

from __future__ import annotations

import numpy as np
import pytest

from polymargin.boundary import generic_critical_count
from polymargin.continuation import critical_start, critical_start_of, duplicates, start_systems, total_degree_start


@pytest.mark.parametrize(
    ("m", "degree"), [(1, 2), (1, 3), (1, 6), (2, 2), (2, 5), (3, 3), (3, 4), (4, 3), (5, 2), (6, 3)]
)
def test_critical_start(m: int, degree: int) -> None:
    start = critical_start(m, degree, np.random.default_rng(m + 10 * degree))
    x, multiplier = start.points[:, :-1], start.points[:, -1]
    assert len(x) == generic_critical_count(m, degree)
    assert not duplicates(start.points).any()
    stationarity = x + multiplier[:, None] * degree * start.slopes * x ** (degree - 1)
    assert np.abs(stationarity).max() < 1e-12
    assert np.abs((x**degree) @ start.slopes - start.level).max() < 1e-12


def test_parts_and_threads_make_the_same_start(monkeypatch: pytest.MonkeyPatch) -> None:
    slopes = np.random.default_rng(0).normal(size=5) + 1j
    whole = critical_start_of(slopes, 2 - 1j, 4)
    monkeypatch.setattr(start_systems, "AT_A_TIME", 5)
    assert np.array_equal(critical_start_of(slopes, 2 - 1j, 4, threads=3).points, whole.points)


def test_total_degree_start() -> None:
    start = total_degree_start([2, 3, 1], np.random.default_rng(0))
    assert start.points.shape == (6, 3)
    assert np.abs(start.points ** [2, 3, 1] - start.levels).max() < 1e-12
    assert not duplicates(start.points).any()
