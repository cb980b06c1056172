"""Chambers of lightning self-attention (2, 2, 1, 1): paths per second and core for the three slices of the figure.

python benchmarks/chambers.py [--samples 15000]
"""

from __future__ import annotations

import argparse
from time import perf_counter

import common  # noqa: F401  (before NumPy)

from polymargin.boundary import Boundary
from polymargin.continuation import Tracker, available_threads
from polymargin.geometry import Plane
from polymargin.geometry.discriminants.real_counts import RealCounter
from polymargin.gpu.kernels import cupy_or_reason
from polymargin.networks.attention import random_attention
from polymargin.reproduce.figure_chambers import NETWORK_SEED, SLICES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=15_000)
    options = parser.parse_args()
    boundary = Boundary.from_network(random_attention(2, 2, 1, 1, seed=NETWORK_SEED), 0, 1)
    started = perf_counter()
    counter = RealCounter.of(boundary, Tracker(), cache=False)
    print(f"stage 1: {counter.total} critical points in {perf_counter() - started:.2f} s")
    print(
        f"{'slice':>5} {'threads':>8} {'samples':>8} {'paths':>8} {'doubtful':>9} {'seconds':>8} {'paths/s/core':>13}"
    )
    side = round(options.samples**0.5)
    for number, (seed, window) in enumerate(SLICES):
        plane = Plane.random(boundary.dimension, window, seed)
        s0, s1, c0, c1 = window
        places = [
            (s0 + (s1 - s0) * (i + 0.5) / side, c0 + (c1 - c0) * (j + 0.5) / side)
            for i in range(side)
            for j in range(side)
        ]
        ways = [(threads, "cpu") for threads in sorted({1, available_threads()})]
        if not isinstance(cupy_or_reason(), str):
            counter.at(plane.points(places), Tracker(device="cuda"))  # compiles the kernels
            ways.append((1, "cuda"))
        for threads, device in ways:
            started = perf_counter()
            counts, doubtful = counter.at(plane.points(places), Tracker(threads=threads, device=device))
            seconds = perf_counter() - started
            paths = counter.total * len(counts)
            rate = paths / seconds / threads
            print(
                f"{number:5d} {device if device == 'cuda' else threads:>8} {len(counts):8d} {paths:8d} "
                f"{int(doubtful.sum()):9d} {seconds:8.3f} {rate:13.0f}"
            )


if __name__ == "__main__":
    main()
