"""Batches through executors: the same margins, nothing lost and nothing twice, even when a worker is killed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import random_network

import polymargin as pm

NETWORK = random_network([3, 4, 3], 3, seed=5)
POINTS = np.random.default_rng(3).normal(size=(40, 3))


def test_a_process_pool_gives_the_same_margins(tmp_path: Path) -> None:
    alone = pm.Verifier(NETWORK, workers=1, settings=pm.Settings(cache=tmp_path)).margin(POINTS, proof=False)
    done: list[int] = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        together = pm.Verifier(NETWORK, workers=executor, settings=pm.Settings(cache=tmp_path)).margin(
            POINTS, proof=False, progress=lambda row, _: done.append(row)
        )
    assert [row.radius for row in together] == pytest.approx([row.radius for row in alone], rel=1e-12)
    assert sorted(done) == list(range(len(POINTS)))


def test_a_dask_cluster_loses_nothing_when_a_worker_is_killed(tmp_path: Path) -> None:
    """Two worker processes on loopback; one is killed as soon as the first rows are back."""
    distributed = pytest.importorskip("distributed")
    alone = pm.Verifier(NETWORK, workers=1, settings=pm.Settings(cache=tmp_path)).margin(POINTS, proof=False)
    finished: list[int] = []
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as client:
        pids = list(client.run(os.getpid).values())

        def kill_one(row: int, _: pm.Margin) -> None:
            if not finished:
                os.kill(pids[0], signal.SIGKILL)
            finished.append(row)

        together = pm.Verifier(NETWORK, workers=client, settings=pm.Settings(cache=tmp_path)).margin(
            POINTS, proof=False, progress=kill_one, checkpoint=tmp_path / "rows"
        )
    assert [row.radius for row in together] == pytest.approx([row.radius for row in alone], rel=1e-12)
    assert len(finished) == len(POINTS)
    indices = [
        line.split('"row": ')[1].split(",")[0]
        for line in (tmp_path / "rows").read_text().splitlines()
        if '"row": ' in line
    ]
    assert all(count == 1 for count in Counter(indices).values())


def test_a_worker_that_comes_late_takes_its_share(tmp_path: Path) -> None:
    """One worker at first; a second one joins when the first rows are back, and the first is killed when it has."""
    distributed = pytest.importorskip("distributed")
    alone = pm.margin(NETWORK, POINTS, proof=False, workers=1)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as client:
        first = list(client.run(os.getpid).values())
        seen: list[int] = []

        def change_workers(row: int, found: pm.Margin) -> None:
            if not seen:
                cluster.scale(2)
                client.wait_for_workers(2, timeout=60)
                os.kill(first[0], signal.SIGKILL)
            seen.append(row)

        together = pm.margin(NETWORK, POINTS, proof=False, workers=client, progress=change_workers)
    assert [row.radius for row in together] == pytest.approx([row.radius for row in alone], rel=1e-12)
    assert sorted(seen) == list(range(len(POINTS)))


def test_workers_get_the_base_solutions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage 1 is computed here; what travels is complete without it."""
    import pickle

    from polymargin.margins import batch

    def here(function: Any, common: Any, items: Any, executor: Any) -> Any:
        there = pickle.loads(pickle.dumps(common))
        monkeypatch.setattr("polymargin.margins.pairs.base_solutions", None)  # whoever computes it again fails
        return ((index, function(there, item)) for index, item in enumerate(items))

    alone = pm.margin(NETWORK, POINTS, proof=False, workers=1)
    monkeypatch.setattr(batch, "completed_together", here)
    with ThreadPoolExecutor(2) as pool:
        together = pm.margin(NETWORK, POINTS, proof=False, workers=pool)
    assert [row.radius for row in together] == pytest.approx([row.radius for row in alone], rel=1e-12)


def test_other_things_are_no_executor() -> None:
    with pytest.raises(pm.InputError, match="expected an integer >= 1, an executor, a Dask client, or None"):
        pm.margin(NETWORK, POINTS, proof=False, workers="tcp://somewhere:8786")  # type: ignore[call-overload]
