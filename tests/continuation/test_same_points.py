"""Equal points, real points, partners: decided the same way for small and large coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from polymargin.continuation import same_points
from polymargin.continuation.same_points import (
    SAME_LIMIT,
    contains,
    counted,
    distinct,
    duplicates,
    real_points,
    without_conjugate,
)

POINTS = np.array([[1.0, 2.0], [1e9, 0.0], [1.0, 2.0 + 1e-12], [1e9 + 0.5, 0.0], [1.0, 2.1]], dtype=complex)


def test_equal_points_are_kept_once_whatever_their_size() -> None:
    assert distinct(POINTS).tolist() == POINTS[[0, 1, 4]].tolist()
    assert contains(POINTS[:2], POINTS).tolist() == [True, True, True, True, False]
    kept, counts = counted(POINTS)
    assert kept.tolist() == POINTS[[0, 1, 4]].tolist()
    assert counts.tolist() == [2, 2, 1]


def test_none_and_one_point() -> None:
    for points in (POINTS[:0], POINTS[:1]):
        kept, counts = counted(points)
        assert kept.tolist() == points.tolist()
        assert counts.tolist() == [1] * len(points)
        assert not duplicates(points).any()
        assert without_conjugate(points.real + 0j) in (0, len(points))


def test_duplicates_finds_pairs_among_equal_projections() -> None:
    grid = np.stack([g.ravel() for g in np.meshgrid([0.0, 1.0, 2.0], [0.0, 1.0])], axis=1).astype(complex)
    points = np.concatenate([grid, grid[2:3] + 1e-12, [[5 + 1j, 0]]])
    assert duplicates(points).tolist() == [False, False, True, False, False, False, True, False]


@pytest.mark.parametrize("threads", [1, 3])
def test_long_lists_are_sorted_in_stretches(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal points on both sides of a cut, and points so large that they reach over several stretches."""
    generator = np.random.default_rng(4)
    points = generator.normal(size=(600, 3)) + 1j * generator.normal(size=(600, 3))
    points[::50] *= 1e7
    again = points * (1 + 1e-10 * generator.normal(size=(600, 3)))
    points = np.concatenate([points, again])[generator.permutation(1200)]
    some = points[:700]
    apart = np.abs(some[:, None] - some[None]).max(axis=2) + np.diag(np.full(len(some), np.inf))
    known = (apart <= same_points.SAME * (1 + np.abs(some).max(axis=1))[:, None]).any(axis=1)
    assert 0 < known.sum() < 700
    for length in (1200, 100, 7):
        monkeypatch.setattr(same_points, "STRETCH", length)
        assert duplicates(points, threads=threads).all()
        assert np.array_equal(duplicates(some, threads=threads), known)


@pytest.mark.parametrize("seed", range(5))
def test_the_three_ways_agree_with_comparing_all_pairs(seed: int) -> None:
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(40, 2)) * 10.0 ** generator.integers(-3, 4, size=(40, 1)) + 0j
    points = np.concatenate([points, points[:7] * (1 + 1e-10), points[3:9] * 1.5])
    apart = np.abs(points[:, None] - points[None]).max(axis=2)
    near = apart <= SAME_LIMIT * (1 + np.abs(points).max(axis=1))[:, None]
    assert duplicates(points, SAME_LIMIT).tolist() == (near.sum(axis=1) > 1).tolist()
    kept = distinct(points, SAME_LIMIT)
    assert len(kept) == len(points) - 7
    assert counted(points, SAME_LIMIT)[1].sum() == len(points)


def test_real_points_and_their_partners() -> None:
    pair = np.array([[1 + 2j, 3 - 1j], [1 - 2j, 3 + 1j], [0.5 + 1j, 1j], [0.5 - 1j, -1j]])
    assert without_conjugate(pair) == 0
    assert without_conjugate(pair[:3]) == 1
    assert real_points(np.array([[1 + 1e-12j, 2], [1 + 1e-6j, 2], [1e6 + 1e-4j, 0]])).tolist() == [True, False, True]
