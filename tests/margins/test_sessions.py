"""What is kept of a model between two calls, and what is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from problems import random_network

import polymargin as pm
from polymargin.continuation import Tracker
from polymargin.enumeration.cache import Cache
from polymargin.margins import sessions
from polymargin.margins.pairs import Enumeration
from polymargin.margins.sessions import forget, session_for


def _search(directory: Path | None, seed: int = 0) -> Enumeration:
    return Enumeration(Tracker(threads=1), seed, 10**6, Cache(directory), 1.0)


def test_the_same_weights_and_options_meet_what_is_known(tmp_path: Path) -> None:
    forget()
    net, twin = (random_network([2, 4, 2], 3, seed=2) for _ in range(2))
    other = random_network([2, 4, 2], 3, seed=3)
    kept = session_for(net, _search(tmp_path))
    assert session_for(twin, _search(tmp_path)) is kept
    assert session_for(other, _search(tmp_path)) is not kept
    assert session_for(net, _search(tmp_path, seed=1)) is not kept
    assert session_for(net, _search(tmp_path / "elsewhere")) is not kept
    forget()
    assert session_for(net, _search(tmp_path)) is not kept


def test_nothing_is_kept_where_nothing_may_be(tmp_path: Path) -> None:
    net = random_network([2, 4, 2], 3, seed=2)
    assert session_for(net, _search(None)) is not session_for(net, _search(None))


def test_the_last_few_are_kept(tmp_path: Path) -> None:
    forget()
    nets = [random_network([2, 3, 2], 3, seed=seed) for seed in range(sessions.MOST_SESSIONS + 1)]
    first, *others = [session_for(net, _search(tmp_path)) for net in nets]
    assert all(session_for(net, _search(tmp_path)) is known for net, known in zip(nets[1:], others, strict=True))
    assert session_for(nets[0], _search(tmp_path)) is not first


def test_another_batch_has_the_answers_of_the_first(tmp_path: Path) -> None:
    forget()
    net = random_network([2, 4, 3], 3, seed=2)
    points = np.random.default_rng(0).normal(size=(5, 2))
    first, again = (pm.margin(net, points, cache=tmp_path, threads=1) for _ in range(2))
    assert np.array_equal(first.radii, again.radii)
    assert np.array_equal(first.radii, pm.margin(net, points, cache=False, threads=1).radii)
