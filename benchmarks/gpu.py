"""Paths per second on a GPU, and what of its peak that is.

Stage 2 of shallow cubic networks (n, h) with standard normal weights, of an attention module and of a deep network: paths from
the generic base solutions to real points. "Per second" is by the GPU's own clock, "with ends" until all ends are in the memory of
the host, "settled" until the CPU core has followed again what the GPU gave back, "audited" until every row has been looked at
for doubles. The roofline counts double-precision operations of the tape, the elimination and the substitutions, an addition and a
multiplication each, per evaluation, and two evaluations per round; bytes are those of starts, targets and ends.

    python benchmarks/gpu.py [--only 4,6 8,10 ...] [--rows-factor 1.0] [--seed 0]
    python benchmarks/gpu.py --points 16,18 20,22     all critical points of one point, from nothing and further; beyond ten
                                                      million of them once, with time stamps on the way
    python benchmarks/gpu.py --batch 10000            exact margins of that many rows, (8, 10), ten classes
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import TypeVar

import common  # before NumPy, which it keeps to one thread
import numpy as np

import polymargin as pm
from polymargin import gpu
from polymargin.continuation import Paths, Tracker, TrackerSettings, duplicates
from polymargin.enumeration.base_solutions import BaseSolutions, base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.ordinary_points import paths_to
from polymargin.enumeration.regular_ends import regular_ends
from polymargin.gpu import device
from polymargin.gpu.source import layout_for
from polymargin.gpu.tape import PRODUCT, Tape
from polymargin.networks import Network
from polymargin.networks.attention import random_attention

ROWS = {"4,6": 100_000, "8,10": 8_000, "10,12": 1_000, "12,14": 200, "16,18": 8}
T = TypeVar("T")
logger = logging.getLogger(__name__)
# Rows of the table that are checked for doubles.
AUDITED = 1_000
# Critical points of one point up to which every phase is measured, some of them several times.
MOST_REPEATED = 10_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[*ROWS, "attention", "deep"])
    parser.add_argument("--rows-factor", type=float, default=1.0)
    parser.add_argument("--points", nargs="*", default=[])
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(gpu.description())
    if options.points:
        common.print_table(
            ["(n, h)", "critical points", "from nothing", "again", "kernel", "with ends", "settled", "audited"],
            [row for size in options.points for row in one_point(size, options.seed)],
        )
    elif options.batch:
        batch(options.batch, options.seed)
    else:
        header = ["network", "paths", "per second", "with ends", "settled", "evaluations", "flops", "of peak", "bytes"]
        header += ["given back", "doubled"]
        common.print_table(header, [throughput(name, options) for name in options.only])


def network(name: str, seed: int) -> Network:
    generator = np.random.default_rng(seed)
    if name == "attention":
        return random_attention(2, 2, 2, 2, seed=seed + 1)
    if name == "deep":
        return common.network(4, [4, 3], 2, generator)
    inputs, hidden = map(int, name.split(","))
    return common.network(inputs, [hidden], 3, generator)


def base_of(net: Network) -> BaseSolutions:
    boundary = pm.Boundary.from_network(net, 0, 1)
    return base_solutions(boundary, Tracker(), seed=0, cache=Cache.from_option(False))


def throughput(name: str, options: argparse.Namespace) -> list[str]:
    base = base_of(network(name, options.seed))
    count = max(1, int(ROWS.get(name, 20_000) * options.rows_factor))
    points = np.random.default_rng(options.seed + 1).normal(size=(count, base.boundary.dimension))
    job = paths_to(base, points)
    seconds, rounds = kernel_seconds(base, job.arrays()[2])
    tracker = Tracker(device="cuda")
    bundle = gpu.Bundle(gpu.tape_for(base.program) or tape(base), *job.arrays())
    with_ends, found = best(lambda: Paths(**gpu.follow([bundle], tracker.settings)[0]))
    settled, paths = best(lambda: tracker.run([job])[0])
    doubled = sum(
        int(duplicates(p[c]).sum()) for p, c in zip(paths.points[:AUDITED], paths.converged[:AUDITED], strict=True)
    )
    lost = int((~paths.converged).sum())
    total = paths.ends.size
    flops = 2 * rounds * operations(tape(base))
    size = 16 * base.program.input_count
    return [
        name,
        f"{total:,}",
        f"{total / seconds:.2e}",
        f"{total / with_ends:.2e}",
        f"{total / settled:.2e}" + (f" ({lost} lost)" if lost else ""),
        f"{2 * rounds:.0f}",
        f"{flops:,.0f}",
        f"{flops * total / seconds / peak():.0%}",
        f"{2 * size + 36:,}",
        f"{int((~found.converged).sum())}",
        f"{doubled}",
    ]


def kernel_seconds(base: BaseSolutions, targets: common.ComplexArray) -> tuple[float, float]:
    """The GPU's time for all paths, best of three, and the rounds a path takes."""
    import cupy

    layout, kernels = layout_for(tape(base)), gpu.Kernels()
    assert layout is not None
    pending = device.launch(kernels, tape(base), layout, base.solutions, base.parameters, targets, TrackerSettings())
    ends = pending.wait()
    # A path begins and ends with a round of length zero.
    rounds = float((ends["steps"] + ends["rejections"]).mean()) + 2
    kernel = kernels.follower(tape(base), layout)
    times = []
    for _ in range(3):
        pending.arrays["next"].fill(0)
        cupy.cuda.Device().synchronize()
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        kernel.start(pending.arrays["job"], tape(base))
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) * 1e-3)
    return min(times), rounds


def tape(base: BaseSolutions) -> Tape:
    found = gpu.tape_for(base.program)
    assert found is not None
    return found


def operations(of: Tape) -> float:
    """Double-precision operations of one evaluation, one elimination and, on average, three halves of a substitution."""
    count = 0.0
    for step in (*of.value_code, *of.derivative_code):
        if step.linear:
            count += 4 * step.rows * len(step.factors)
        else:
            count += step.rows * (6 if step.operation == PRODUCT else 5)
    size = of.inputs
    elimination = sum(8 * k * (k + 1) / 2 + 6 * k for k in range(size))
    return count + elimination + 1.5 * 8 * size * size


def peak() -> float:
    """Operations per second of the double-precision units: 64 fused ones per multiprocessor and clock on Hopper."""
    import cupy

    attributes = cupy.cuda.Device().attributes
    return float(attributes["MultiProcessorCount"] * 64 * 2 * attributes["ClockRate"] * 1e3)


def best(work: Callable[[], T], repetitions: int = 3) -> tuple[float, T]:
    seconds = []
    for _ in range(repetitions):
        started = perf_counter()
        found = work()
        seconds.append(perf_counter() - started)
    return min(seconds), found


def one_point(name: str, seed: int) -> list[list[str]]:
    """Times of the phases; what would take minutes is done once and tells on the way how far it is."""
    net = network(name, seed)
    boundary = pm.Boundary.from_network(net, 0, 1)
    once = boundary.critical_bound > MOST_REPEATED
    if once:
        logging.basicConfig(level=logging.INFO, format="%(relativeCreated)9d ms  %(message)s", stream=sys.stdout)
        logger.info("%s: %s paths", name, f"{boundary.critical_bound:,}")
    first, base = best(lambda: base_of(net), 1)
    logger.info("stage 1: %s solutions", f"{len(base.solutions):,}")
    # The second time kernels are compiled and memory is there.
    again = None if once else best(lambda: base_of(net), 1)[0]
    u = np.random.default_rng(seed + 1).normal(size=(1, base.boundary.dimension))
    job = paths_to(base, u)
    tracker = Tracker(device="cuda")
    kernel = with_ends = settled = None
    if not once:
        kernel, _ = kernel_seconds(base, job.arrays()[2])
        bundle = gpu.Bundle(tape(base), *job.arrays())
        with_ends, _ = best(lambda: Paths(**gpu.follow([bundle], tracker.settings)[0]))
        settled, _ = best(lambda: tracker.run([job])[0])
    audited, (paths, regular) = best(lambda: regular_ends(base, job.arrays()[2][0], tracker), 1 if once else 3)
    complete = "all" if regular.all() and len(base.solutions) == base.boundary.critical_bound else "NOT ALL"
    logger.info("stage 2: %s regular ends of %s", f"{int(regular.sum()):,}", f"{paths.ends.size:,}")
    times = ["–" if time is None else f"{time:.3f} s" for time in (first, again, kernel, with_ends, settled, audited)]
    return [[name, f"{len(base.solutions):,} ({complete})", *times]]


def batch(count: int, seed: int) -> None:
    widths = (8, 10, 10)
    generator = np.random.default_rng(seed)
    layers = [(generator.normal(size=(b, a)), generator.normal(size=b)) for a, b in pairwise(widths)]
    net = pm.PolynomialNetwork(layers, degree=3)
    points = generator.normal(size=(count, 8))
    started = perf_counter()
    pm.margin(net, points[:200], proof=False, device="cuda")  # stage 1 of all pairs, kernels
    print(f"the first 200 rows, with 45 boundaries, their base solutions and kernels: {perf_counter() - started:.2f} s")
    seconds = []
    for _ in range(3):
        started = perf_counter()
        found = pm.margin(net, points, proof=False, device="cuda")
        seconds.append(perf_counter() - started)
        print(f"{count:,} rows: {seconds[-1]:.2f} s", flush=True)
    paths = count * 9 * 765
    known = pm.margin(net, points[:20], proof=False, device="cpu")
    apart = max(abs(a.radius - b.radius) / b.radius for a, b in zip(found, known, strict=False))
    states: dict[str, int] = {}
    for one in found:
        states[one.standing.name] = states.get(one.standing.name, 0) + 1
    print(
        f"{count:,} rows, {paths:,} paths: best {min(seconds):.2f} s, {paths / min(seconds):.2e} paths/s; {states}; "
        f"20 rows apart {apart:.1e}"
    )


if __name__ == "__main__":
    main()
