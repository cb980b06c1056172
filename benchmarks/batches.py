"""Batches: time per path all told against the core alone, quadrics against their inner routine, two threads against one.

Shallow cubic networks with standard normal weights and points, stage 1 from the cache. "All told" is
the CPU time of `margin` for the whole batch, divided by rows × rivals × paths; "core" is that of one pass of the core over
the same paths. The quadratic network is compared with `QuadricSolver.nearest_batch` for the same pairs and rows. Threads are
compared by the clock, best of several, on as many cores as there are: of `margin`, and of `margin` with the radius, the standing
and the nearest tie of every row read, because rows are made when somebody looks. "Machine" is what two threads gain in the same
rounds for products of small matrices, which share nothing: what the two cores had to give. Memory is the peak beyond what the
answers keep.

    python benchmarks/batches.py [--rows 2000] [--classes 2] [--repetitions 3] [--seed 0]
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from time import perf_counter, process_time

import common  # before NumPy, which it keeps to one thread
import numpy as np
from common import Array

import polymargin as pm
from polymargin.continuation import Tracker
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.ordinary_points import paths_to
from polymargin.quadric import NetworkSolvers

READ = ("machine", "every row read, 1 thread", "2 threads", "times faster")
CUBICS = ((3, 5), (4, 6), (6, 8))
QUADRATIC = (64, 32, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    rows = []
    for shape in CUBICS:
        net, points = draw((*shape, options.classes), 3, options.rows, options.seed)
        rows.append(cubic(net, points, options.repetitions))
    header = [
        "cubic",
        "paths",
        "NUMERICAL",
        "core µs/path",
        "all told",
        "all told / core",
        "2 threads",
        "times faster",
        *READ,
    ]
    common.print_table(header, rows)
    print()
    net, points = draw(QUADRATIC, 2, options.rows, options.seed)
    header = ["quadratic", "rows", "inner routine µs/row", "all told", "ratio", "2 threads", "times faster", *READ]
    common.print_table(header, [quadratic(net, points, options.repetitions)])
    print()
    net, points = draw((4, 6, 2), 3, 16_384, options.seed)
    header = ["(4, 6), rows", "peak beyond the answers, MiB"]
    common.print_table(header, [[f"{count:,}", memory(net, points[:count])] for count in (1_024, 4_096, 16_384)])


def draw(widths: tuple[int, ...], degree: int, rows: int, seed: int) -> tuple[pm.Network, Array]:
    generator = np.random.default_rng([seed, *widths])
    layers = [(generator.normal(size=(b, a)), generator.normal(size=b)) for a, b in pairwise(widths)]
    return pm.PolynomialNetwork(layers, degree=degree), generator.normal(size=(rows, widths[0]))


def cubic(net: pm.Network, points: Array, repetitions: int) -> list[str]:
    found = pm.margin(net, points, proof=False, workers=1)  # stage 1 is in the cache from here on
    paths = sum(pair.complex_count or 0 for row in found for pair in row.pairs)
    numerical = sum(row.standing.name == "NUMERICAL" for row in found)
    boundary = pm.Boundary.from_network(net, 0, 1)
    tracker = Tracker(threads=1)
    base = base_solutions(boundary, tracker, seed=0, cache=Cache.from_option(True))
    few = points[: max(1, 16384 // len(base.solutions))]
    core = best(lambda: tracker.run([paths_to(base, few)]), repetitions, process_time) / len(few) / len(base.solutions)
    all_told = best(lambda: pm.margin(net, points, proof=False, workers=1), repetitions, process_time) / paths
    one, two, machine = on_threads(partial(pm.margin, net, points), repetitions)
    one_read, two_read, _ = on_threads(partial(read, net, points), repetitions)
    return [
        f"({net.widths[0]}, {net.widths[1]}), {net.class_count} classes",
        f"{paths:,}",
        f"{numerical / len(points):.2%}",
        f"{core * 1e6:.2f}",
        f"{all_told * 1e6:.2f}",
        f"{all_told / core:.2f}",
        f"{two / paths * 1e6:.2f}",
        f"{one / two:.2f}",
        f"{machine:.2f}",
        f"{one_read / paths * 1e6:.2f}",
        f"{two_read / paths * 1e6:.2f}",
        f"{one_read / two_read:.2f}",
    ]


def quadratic(net: pm.Network, points: Array, repetitions: int) -> list[str]:
    labels = net.predict(points)

    def inner() -> None:
        solvers = NetworkSolvers(net)
        for label in np.unique(labels).tolist():
            for rival in range(net.class_count):
                if rival != label:
                    solvers.pair(min(label, rival), max(label, rival)).nearest_batch(points[labels == label])

    alone = best(inner, repetitions, process_time) / len(points)
    all_told = best(lambda: pm.margin(net, points, proof=False, workers=1), repetitions, process_time) / len(points)
    one, two, machine = on_threads(partial(pm.margin, net, points), repetitions)
    one_read, two_read, _ = on_threads(partial(read, net, points), repetitions)
    return [
        "-".join(map(str, net.widths)),
        f"{len(points):,}",
        f"{alone * 1e6:.1f}",
        f"{all_told * 1e6:.1f}",
        f"{all_told / alone:.2f}",
        f"{two / len(points) * 1e6:.1f}",
        f"{one / two:.2f}",
        f"{machine:.2f}",
        f"{one_read / len(points) * 1e6:.1f}",
        f"{two_read / len(points) * 1e6:.1f}",
        f"{one_read / two_read:.2f}",
    ]


def read(net: pm.Network, points: Array, threads: int) -> list[object]:
    return [(row.radius, row.standing, row.point) for row in pm.margin(net, points, proof=False, workers=threads)]


def on_threads(work: Callable[..., object], repetitions: int) -> tuple[float, float, float]:
    """Seconds by the clock on one thread and on two, taken in turn, and what two threads gain where nothing is shared."""
    jobs = [partial(each, threads=count) for each in (work, products) for count in (1, 2)]
    times = np.array([[best(job, 1, perf_counter) for job in jobs] for _ in range(repetitions)]).min(axis=0)
    return float(times[0]), float(times[1]), float(times[2] / times[3])


def products(threads: int) -> None:
    """400 products of matrices that fit the first cache but one, about 20 ms, shared out."""
    matrix = np.eye(128)

    def some(count: int) -> None:
        for _ in range(count):
            matrix @ matrix

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(some, [400 // threads] * threads))


def memory(net: pm.Network, points: Array) -> str:
    pm.margin(net, points[:8], proof=False, workers=1)
    tracemalloc.start()
    found = pm.margin(net, points, proof=False, workers=1)
    kept, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return f"{(most - kept) / 2**20:.1f} ({len(found)} answers keep {kept / 2**20:.1f})"


def best(work: Callable[[], object], repetitions: int, clock: Callable[[], float]) -> float:
    least = float("inf")
    for _ in range(repetitions):
        started = clock()
        work()
        least = min(least, clock() - started)
    return least


if __name__ == "__main__":
    main()
