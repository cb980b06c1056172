"""Batches through executors: the same margins, nothing lost and nothing twice, even when a worker is killed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm

NETWORK = random_network([3, 4, 3], 3, seed=5)
POINTS = np.random.default_rng(3).normal(size=(40, 3))


def test_a_process_pool_gives_the_same_margins(tmp_path: Path) -> None:
    alone = pm.margin(NETWORK, POINTS, cache=tmp_path, threads=1)
    done: list[int] = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        together = pm.margin(NETWORK, POINTS, cache=tmp_path, executor=executor, progress=done.append)
    assert [row.radius for row in together] == pytest.approx([row.radius for row in alone], rel=1e-12)
    assert sum(done) == len(POINTS)


def test_a_dask_cluster_loses_nothing_when_a_worker_is_killed(tmp_path: Path) -> None:
    """Two worker processes on loopback; one is killed as soon as the first rows are back."""
    distributed = pytest.importorskip("distributed")
    alone = pm.margin(NETWORK, POINTS, cache=tmp_path, threads=1)
    finished: list[int] = []
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as client:
        pids = list(client.run(os.getpid).values())

        def kill_one(count: int) -> None:
            if not finished:
                os.kill(pids[0], signal.SIGKILL)
            finished.append(count)

        together = pm.margin(
            NETWORK,
            POINTS,
            cache=tmp_path,
            executor=client.get_executor(),
            progress=kill_one,
            checkpoint=tmp_path / "rows",
        )
    assert [row.radius for row in together] == pytest.approx([row.radius for row in alone], rel=1e-12)
    assert sum(finished) == len(POINTS)
    indices = [
        line.split('"row": ')[1].split(",")[0]
        for line in (tmp_path / "rows").read_text().splitlines()
        if '"row": ' in line
    ]
    assert all(count == 1 for count in Counter(indices).values())
