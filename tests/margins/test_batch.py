"""Batches: the same answers as row by row, whatever the order, the threads or the size of the blocks."""

from __future__ import annotations

import itertools
import math
import pickle
import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.continuation import Tracker
from polymargin.enumeration.cache import Cache
from polymargin.margins import batch
from polymargin.margins.pairs import Enumeration
from polymargin.margins.prepared import margins_of
from polymargin.networks.attention import random_attention
from polymargin.standing import Standing


def network(widths: list[int], degree: int, seed: int) -> pm.Network:
    generator = np.random.default_rng(seed)
    layers = [
        (generator.normal(size=(after, before)), generator.normal(size=after)) for before, after in pairwise(widths)
    ]
    return pm.PolynomialNetwork(layers, degree=degree)


CUBIC = network([3, 5, 3], 3, 1)
NETWORKS = {
    "cubic, three classes": CUBIC,
    "quartic, often without real points": network([2, 4, 2], 4, 2),
    "deep": network([2, 3, 3, 3], 2, 3),
    "low rank": network([6, 2, 3], 3, 4),
    "attention": random_attention(2, 2, 1, 1, seed=5),
    "linear": network([4, 3], 1, 6),
    "quadratic, wide": network([5, 8, 4], 2, 9),
}


def points(net: Any, count: int) -> np.ndarray:
    return np.random.default_rng(7).normal(size=(count, net.dimension))


def plain(margin: pm.Margin) -> dict[str, Any]:
    """Everything but the time, to the last bit."""
    return {name: value for name, value in margin.to_dict().items() if name != "seconds"}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_batch_says_to_the_last_bit_what_its_rows_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net = NETWORKS[name]
    rows = points(net, 12 if name == "attention" else 24)
    alone = [plain(pm.margin(net, row, proof=False, workers=1)) for row in rows]
    order = np.random.default_rng(8).permutation(len(rows))
    for size, threads in ((512, 1), (5, 1), (1, 2), (3, 2), (4, 3)):
        monkeypatch.setattr(batch, "MOST_ROWS", size)
        found = pm.margin(net, rows[order], proof=False, workers=threads)
        assert [plain(margin) for margin in found] == [alone[row] for row in order]


def test_what_is_ordinary_of_a_quadric_is_what_the_careful_way_finds() -> None:
    net, tracker = network([6, 4, 5], 2, 10), Tracker(threads=1)
    session = margins_of(net, Enumeration(tracker, 0, 10**6, Cache(None), 60.0))
    rows = points(net, 60)
    known, ordinary = session.ordinary(rows, tracker)
    assert len(known) > 30
    for row, answer in zip(rows[known], ordinary, strict=True):
        careful = session.margin_at(row, tracker)
        for name in ("label", "rival", "standing", "method", "notes"):
            assert getattr(answer, name) == getattr(careful, name)
        assert [pair.rival for pair in answer.pairs] == [pair.rival for pair in careful.pairs]
        assert [pair.radius for pair in answer.pairs] == [pair.radius for pair in careful.pairs]
        np.testing.assert_allclose(
            [pair.point for pair in answer.pairs], [pair.point for pair in careful.pairs], rtol=1e-9, atol=1e-12
        )


def test_pairs_that_nobody_looked_at_travel_as_records() -> None:
    net = network([12, 8, 4], 2, 9)
    for margin in pm.margin(net, points(net, 5), proof=False):
        copy = pickle.loads(pickle.dumps(margin))
        assert type(copy.pairs) is tuple
        assert len(copy.pairs) == len(margin.pairs) == 3
        assert plain(copy) == plain(margin)
        nearest = min(margin.pairs, key=lambda pair: pair.upper)
        assert nearest.rival == margin.rival
        assert nearest.point is margin.point


def test_no_tie_anywhere_names_the_first_rival() -> None:
    """f₀ = x² + y² + 2 beats f₁ = 0 and f₂ = 1 everywhere; and the same with the classes turned round."""
    for order in ([0, 1, 2], [2, 1, 0]):
        weights, bias = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])[order], np.array([2.0, 0.0, 1.0])[order]
        net = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), (weights, bias)], degree=2)
        for margin in pm.margin(net, points(net, 4), proof=False):
            assert math.isinf(margin.radius)
            assert margin.rival == (1 if margin.label == 0 else 0)
            assert [pair.rival for pair in margin.pairs] == [c for c in range(3) if c != margin.label]


@pytest.mark.parametrize("name", ["cubic, three classes", "quartic, often without real points", "low rank"])
def test_what_is_ordinary_is_what_the_careful_way_finds(name: str) -> None:
    """Two ways to the same answer: whole arrays of paths, and one point with everything that may follow."""
    net, tracker = NETWORKS[name], Tracker(threads=1)
    session = margins_of(net, Enumeration(tracker, 0, 10**6, Cache(None), 60.0))
    rows = points(net, 60)
    known, ordinary = session.ordinary(rows, tracker)
    assert len(known) > 30
    for row, answer in zip(rows[known], ordinary, strict=True):
        assert plain(answer) == plain(session.margin_at(row, tracker))


def test_what_is_not_ordinary_is_left_to_the_careful_way() -> None:
    """A point on the curve has no ray to be confirmed along; a cusp is the end of some path from everywhere."""
    tracker = Tracker(threads=1)
    for text, ordinary in (("y**2 - x**3 + x", [0]), ("y**2 - x**3", [])):
        curve = pm.Boundary.from_expression(text)
        session = margins_of(curve, Enumeration(tracker, 0, 10**6, Cache(None), 60.0))
        rows = np.array([[0.4, 0.3], [0.0, 0.0]])
        assert session.ordinary(rows, tracker)[0].tolist() == ordinary
        found = pm.margin(curve, rows, proof=False)
        assert found[1].radius == pytest.approx(0.0, abs=1e-12)
        assert found[0].radius == pytest.approx(pm.margin(curve, rows[0], proof=False, seed=3).radius, rel=1e-9)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_bad_row_fails_alone(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MOST_ROWS", 4)
    rows = points(CUBIC, 16)
    good = [plain(margin) for margin in pm.margin(CUBIC, rows, proof=False)]
    bad = rows.copy()
    bad[3, 1], bad[6, 0], bad[11] = math.nan, math.inf, 1e200
    found = pm.margin(CUBIC, bad, proof=False, workers=threads)
    failed = [row for row, margin in enumerate(found) if margin.standing is Standing.FAILED]
    assert failed == [3, 6, 11]
    assert "nan" in str(found[3].error)
    assert "range of doubles" in str(found[11].error)
    assert [plain(found[row]) for row in range(16) if row not in failed] == [
        good[row] for row in range(16) if row not in failed
    ]


def test_what_breaks_a_block_breaks_only_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arithmetic that fails for one row must not cost the rows beside it."""
    rows = points(CUBIC, 10)
    good = [plain(margin) for margin in pm.margin(CUBIC, rows, proof=False)]

    def broken(*_: Any) -> None:
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr("polymargin.margins.network_margins.seen_ahead", broken)
    assert all("arithmetic broke down" in str(margin.error) for margin in pm.margin(CUBIC, rows, proof=False))
    monkeypatch.undo()
    monkeypatch.setattr("polymargin.margins.network_margins.NetworkMargins.ordinary", broken)
    assert [plain(margin) for margin in pm.margin(CUBIC, rows, proof=False)] == good


def test_progress_and_rows_come_as_blocks_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MOST_ROWS", 4)
    calls: list[int] = []
    pm.margin(CUBIC, points(CUBIC, 18), proof=False, workers=2, progress=lambda row, _: calls.append(row))
    assert sorted(calls) == list(range(18))


def test_the_work_of_a_batch_needs_no_more_memory_for_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What grows with the rows is the list of answers."""

    def peak(count: int) -> int:
        tracemalloc.start()
        found = pm.margin(CUBIC, points(CUBIC, count), proof=False, workers=1)
        kept, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(found) == count
        return most - kept

    monkeypatch.setattr(batch, "MOST_ROWS", 100)
    pm.margin(CUBIC, points(CUBIC, 8), proof=False, workers=1)
    assert peak(800) < 1.3 * peak(200)


def test_a_tie_between_neighbouring_doubles_is_not_ordinary() -> None:
    """So near that the point and the tie are a few doubles apart: a batch says what is said of the point alone."""
    tracker = Tracker(threads=1)
    session = margins_of(CUBIC, Enumeration(tracker, 0, 10**6, Cache(None), 60.0))
    for u in points(CUBIC, 4):
        found = pm.margin(CUBIC, u, proof=False)
        beside = found.point + 1e-15 * np.array([[1.0], [-1.0], [30.0], [-30.0]])
        assert not session.ordinary(beside, tracker)[1]


@pytest.mark.parametrize("in_turns", [False, True])
def test_blocks_have_every_row_once_and_as_many_for_each_thread(in_turns: bool) -> None:
    for count, size, threads in itertools.product((0, 1, 5, 64, 2000), (1, 7, 780, 4096), (1, 2, 3, 16)):
        blocks = batch._blocks(np.arange(10, 10 + count), size, threads, in_turns)
        assert np.concatenate([np.arange(0), *blocks]).tolist() == list(range(10, 10 + count))
        assert all(1 <= len(block) <= size for block in blocks)
        assert (len(blocks) <= 1) == (count <= size)
    halves = [len(block) for block in batch._blocks(np.arange(2000), 780, 2, in_turns)]
    assert halves == ([250, 500, 500, 500, 250] if in_turns else [500] * 4)
