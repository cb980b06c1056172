"""How time and memory grow with the size of the network, and how long starting takes.

Shallow cubic networks with n inputs and n + 2 neurons, standard normal weights, on one and two threads.
Stage 1 (everything before the first point can move: boundary, programs, base solutions) is the time of a
whole batch less the `seconds` of its points; stage 2 is the median `seconds` of a further point. Each line
is measured in a process of its own, so that its peak memory (Python and NumPy included) is its own. Then
the best of five starts of the command line and of the import.

    python benchmarks/scaling.py [--sizes 3 4 6 8 10] [--points 20] [--seed 0]
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import common  # before NumPy, which it keeps to one thread
import numpy as np

import polymargin as pm

STARTS = 5


@dataclass(frozen=True)
class Measurement:
    """One size on one number of threads; seconds, and mebibytes."""

    inputs: int
    threads: int
    paths: int
    complete: bool
    stage_1: float
    per_point: float
    peak_memory: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[3, 4, 6, 8, 10])
    parser.add_argument("--points", type=int, default=20, help="further points per network")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    found = [
        in_own_process(inputs, threads, options.points, options.seed) for threads in (1, 2) for inputs in options.sizes
    ]
    header = ["(n, h)", "threads", "paths", "complete", "stage 1 s", "stage 2 ms/point", "µs/path", "MiB"]
    common.print_table(header, [_row(item) for item in found])
    print()
    common.print_table(["start", "best of five, ms"], start_rows())


def in_own_process(inputs: int, threads: int, points: int, seed: int) -> Measurement:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(measure, inputs, threads, points, seed).result()


def measure(inputs: int, threads: int, points: int, seed: int) -> Measurement:
    """A batch of 1 + `points` points; the first one is not counted, it pays for what stage 2 sets up."""
    warm_up = common.network(2, [3], 3, np.random.default_rng(0))
    pm.margin(warm_up, [0.5, 0.5], proof=False, workers=threads)
    generator = np.random.default_rng(seed)
    net = common.network(inputs, [inputs + 2], 3, generator)
    batch = generator.normal(size=(1 + points, inputs))
    started = perf_counter()
    found = pm.margin(net, batch, proof=False, workers=threads)
    whole = perf_counter() - started
    return Measurement(
        inputs=inputs,
        threads=threads,
        paths=found[0].pairs[0].bound,
        complete=all(pair.complete for row in found for pair in row.pairs),
        stage_1=whole - sum(row.seconds for row in found),
        per_point=median(row.seconds for row in found[1:]),
        peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _row(item: Measurement) -> list[str]:
    return [
        f"({item.inputs}, {item.inputs + 2})",
        str(item.threads),
        f"{item.paths:,}",
        "yes" if item.complete else "NO",
        f"{item.stage_1:.4f}",
        f"{item.per_point * 1e3:.3f}",
        f"{item.per_point / item.paths * 1e6:.2f}",
        f"{item.peak_memory:.0f}",
    ]


def start_rows() -> list[list[str]]:
    """Python alone is the part that nobody can save."""
    python = sys.executable
    commands = {
        "python -c pass": [python, "-c", "pass"],
        "import polymargin": [python, "-c", "import polymargin"],
        "import polymargin; polymargin.margin": [python, "-c", "import polymargin; polymargin.margin"],
        "polymargin --version": [str(Path(python).with_name("polymargin")), "--version"],
    }
    return [[name, _best_start(command)] for name, command in commands.items()]


def _best_start(command: list[str]) -> str:
    best = float("inf")
    for _ in range(STARTS):
        started = perf_counter()
        try:
            outcome = subprocess.run(command, capture_output=True, check=False)
        except OSError:
            return "not installed"
        if outcome.returncode:
            return "does not run"
        best = min(best, perf_counter() - started)
    return f"{best * 1e3:.0f}"


if __name__ == "__main__":
    main()
