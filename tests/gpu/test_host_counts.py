"""Counts of random members with the kernel, compiled for the host, in the place of a GPU: those of the CPU."""

from __future__ import annotations

from threading import Lock

import numpy as np
import pytest
from gpu.host_follower import HostPending, host_launch

from polymargin import gpu
from polymargin.expected import AttentionFamily, DeepFamily, Family, simulate_real_counts, simulation
from polymargin.gpu import bundles

_one_at_a_time = Lock()


def _launch(*arguments: object) -> HostPending:
    with _one_at_a_time:  # fibres take turns in memory that all threads share
        return host_launch(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", [DeepFamily((2, 3, 3), 3), AttentionFamily(2, 2, 2, 1)], ids=str)
def test_batches_under_way_together_are_those_of_the_cpu(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    point = 1 / np.arange(1.0, family.dimension + 1)
    known = simulate_real_counts(family, 60, point, seed=2, threads=1, device="cpu")
    monkeypatch.setattr(bundles, "launch", _launch)
    monkeypatch.setattr(gpu, "device_for", lambda device, count: "cuda")
    monkeypatch.setattr(simulation, "BATCH", 10)
    monkeypatch.setattr(simulation, "PATHS_PER_GPU_BATCH", 1)
    told: list[int] = []
    mine = simulate_real_counts(family, 60, point, seed=2, threads=1, progress=told.append)
    assert told == [10] * 6
    assert np.array_equal(mine.counts, known.counts)
    assert not mine.missing.any()
    assert not known.missing.any()
