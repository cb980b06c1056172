"""Solutions gathered from several sets of paths, against comparisons of everything with everything in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from polymargin.continuation import Gathered, Paths
from polymargin.continuation.gathered import CORRECTIONS_APART
from polymargin.continuation.same_points import REAL, SAME


def _paths(points: np.ndarray, converged: np.ndarray | None = None, correction: float = 0.0) -> Paths:
    shape = points.shape[:2]
    ends = np.zeros(shape, dtype=np.int32) if converged is None else np.where(converged, 0, 2).astype(np.int32)
    steps = [np.zeros(shape, dtype=np.int32) for _ in range(2)]
    return Paths(
        np.ascontiguousarray(points), ends, *steps, np.zeros(shape), np.full(shape, correction), np.zeros(shape)
    )


def _solutions(lists: int, pairs: int, reals: int, unknowns: int = 4) -> np.ndarray:
    """Sets of points (lists, 2 pairs + reals, unknowns) that are closed under conjugation."""
    generator = np.random.default_rng([lists, pairs, reals])
    upper = generator.normal(size=(lists, pairs, unknowns)) + 1j * generator.normal(size=(lists, pairs, unknowns))
    points = np.concatenate([upper, upper.conj(), generator.normal(size=(lists, reals, unknowns))], axis=1)
    return points * 10.0 ** generator.uniform(-1, 5, size=(*points.shape[:2], 1))[:, np.arange(points.shape[1]) % pairs]


def _brute_force(found: list[np.ndarray], apart: float) -> tuple[int, int]:
    """Different points and real ones among some and their conjugates; each point is clearly one or the other."""
    known: list[np.ndarray] = []
    for end in found:
        for point in (end, end.conj()):
            size = 1 + np.abs(point).max()
            if all(np.abs(point - other).max() > apart * size for other in known):
                known.append(point)
    return len(known), sum(np.abs(p.imag).max() <= REAL * (1 + np.abs(p).max()) for p in known)


@pytest.mark.parametrize("threads", [1, 3])
def test_whatever_arrives_is_gathered(threads: int) -> None:
    """Two sets of paths, each of which loses half of its paths and arrives at some points twice, with rounding errors."""
    solutions = _solutions(300, 6, 3)
    lists, count, unknowns = solutions.shape
    generator = np.random.default_rng(1)
    known, arrived = Gathered(lists, count, unknowns), [list[np.ndarray]() for _ in range(lists)]
    for _ in range(2):
        places = generator.integers(count, size=(lists, count))
        ends = np.take_along_axis(solutions, places[..., None], axis=1)
        ends = ends + 1e-12 * np.abs(ends) * generator.normal(size=ends.shape)
        converged = generator.random((lists, count)) < 0.5
        known.add(np.arange(lists), _paths(ends, converged), threads)
        for mine, points, there in zip(arrived, ends[..., :-1], converged, strict=True):
            mine.extend(points[there])
    truth = [_brute_force(mine, SAME) for mine in arrived]
    assert known.counts.tolist() == [total for total, _ in truth]
    assert known.real_counts.tolist() == [real for _, real in truth]
    assert (known.missing == count - known.counts).all()
    assert 0 < (known.missing == 0).sum() < lists
    complete = np.flatnonzero(known.missing == 0)[0]
    gaps = np.abs(known.points[complete][:, None] - solutions[complete][None]).max(axis=2)
    assert sorted(gaps.argmin(axis=1).tolist()) == list(range(count))


def test_half_of_the_pairs_is_enough() -> None:
    solutions = _solutions(5, 4, 2)
    known = Gathered(5, 10, 4)
    known.add(np.arange(5), _paths(solutions[:, [0, 1, 6, 7, 8]]), 1)
    assert known.missing.tolist() == [1] * 5
    known.add(np.array([3, 1]), _paths(solutions[[3, 1]][:, [9]]), 1)
    assert known.missing.tolist() == [1, 0, 1, 0, 1]
    assert known.real_counts.tolist() == [1, 2, 1, 2, 1]


def test_what_is_not_certain_is_left_out() -> None:
    point = np.array([2.0, 3.0, 1.0, 5.0]) + 0j
    aside = np.array([1.0, 0, 0, 0])
    infinite = np.full(4, np.inf + 0j)
    for end in (point + 0.9 * SAME * aside, point + 0.9e-8j * aside, point * np.nan, infinite):
        known = Gathered(1, 4, 4)
        known.add(np.arange(1), _paths(np.stack([[point, end]])), 1)
        assert known.counts.tolist() == [1]
    # The multiplier tells nothing that the other coordinates do not.
    known.add(np.arange(1), _paths((point + np.array([0, 0, 0, 1.0]))[None, None]), 1)
    assert known.counts.tolist() == [1]
    known.add(np.arange(1), _paths((point + 1e-6 * aside)[None, None]), 1)
    assert known.counts.tolist() == [2]


def test_ends_that_are_known_less_well_have_to_be_further_apart() -> None:
    point = np.array([2.0, 3.0, 1.0, 5.0]) + 0j
    aside = np.array([1.0, 0, 0, 0])
    nearby = (point + 3e-4 * aside)[None, None]  # a relative distance of 0.75e-4
    for first, second, told_apart in ((0, 0, True), (1e-6, 0, False), (0, 1e-6, False), (1e-7, 1e-7, True)):
        assert (CORRECTIONS_APART * max(first, second) < 0.75e-4) == told_apart
        known = Gathered(1, 4, 4)
        known.add(np.arange(1), _paths(point[None, None], correction=first), 1)
        known.add(np.arange(1), _paths(nearby, correction=second), 1)
        assert known.counts.tolist() == [1 + told_apart]
        known.add(np.arange(1), _paths(point[None, None] + 3e-4j * aside, correction=second), 1)
        assert known.counts.tolist() == [(1 + told_apart) + 2 * told_apart]


def test_paths_that_were_not_followed_do_not_count() -> None:
    known = Gathered(1, 3, 4)
    known.add(np.arange(1), _paths(np.zeros((1, 2, 4), dtype=complex)), 1, np.zeros((1, 2), dtype=bool))
    assert known.counts.tolist() == [0]


def test_more_than_there_can_be_is_no_knowledge() -> None:
    """Points of a family of solutions are different every time."""
    solutions = _solutions(1, 4, 2)
    known = Gathered(1, 6, 4)
    known.add(np.arange(1), _paths(solutions[:, :3]), 1)
    assert known.missing.tolist() == [0]
    known.add(np.arange(1), _paths(solutions[:, :3]), 1)
    assert known.missing.tolist() == [0]
    known.add(np.arange(1), _paths(solutions[:, 8:9]), 1)
    assert known.missing.tolist() == [6]


def test_lists_that_do_not_fit_are_refused() -> None:
    known, paths = Gathered(2, 6, 4), _paths(_solutions(2, 2, 2))
    for systems in ([0], [0, 2], [1, 1], [-1, 0]):
        with pytest.raises(ValueError, match="gather: expected lists"):
            known.add(np.array(systems), paths, 1)
