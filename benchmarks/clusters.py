"""Two Dask workers against one on a batch of margins: seconds by the clock, and CPU seconds of the workers and of the caller.

python benchmarks/clusters.py [--rows 5000] [--repetitions 3]

A cubic network with 6 inputs, 189 critical points a row. Needs both cores to itself: on a busy machine the ratio says nothing,
but the CPU seconds do.
"""

from __future__ import annotations

import argparse
import os
from time import perf_counter
from typing import Any

from common import print_table  # before NumPy

import numpy as np  # isort: skip

from distributed import Client, LocalCluster

import polymargin as pm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    layers = [(rng.normal(size=(8, 6)), rng.normal(size=8)), (rng.normal(size=(2, 8)), rng.normal(size=2))]
    network, points = pm.PolynomialNetwork(layers, degree=3), rng.normal(size=(options.rows, 6))
    found = {count: _best(network, points, count, options.repetitions) for count in (1, 2)}
    rows = [
        [str(count), f"{wall:.2f}", f"{workers:.2f}", f"{caller:.2f}", f"{found[1][0] / wall:.2f}"]
        for count, (wall, workers, caller) in found.items()
    ]
    print_table(["workers", "seconds", "CPU of workers", "CPU of the caller", "times as fast"], rows)


def _best(network: Any, points: Any, count: int, repetitions: int) -> tuple[float, float, float]:
    options: dict[str, Any] = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        pm.margin(network, points[:50], proof=False, workers=client)  # workers import what they need
        return min(_timed(network, points, client) for _ in range(repetitions))


def _timed(network: Any, points: Any, client: Any) -> tuple[float, float, float]:
    started, workers, caller = perf_counter(), _used(client), _cpu()
    pm.margin(network, points, proof=False, workers=client)
    return perf_counter() - started, _used(client) - workers, _cpu() - caller


def _used(client: Any) -> float:
    return float(sum(client.run(_cpu).values()))


def _cpu() -> float:
    times = os.times()
    return times.user + times.system


if __name__ == "__main__":
    main()
