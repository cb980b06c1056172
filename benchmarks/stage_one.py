"""Steps of stage 1: what the axes of the start polynomial and the length of steps are worth.

For each system the mean number of steps a path takes, rejected ones among them, from a start polynomial on the axes of the
reduction with the tracker's own settings ("careful"), the same with long steps ("bold"), and both on axes of its own. Networks
with many critical points start from a few hundred random supports. "Stage 1" is CPU time of `base_solutions` on one core,
programs and audits included, where all paths are followed. The other kinds are those of reliability.py.

    python benchmarks/stage_one.py [--sizes 4 6 8 10 12 16 20 24] [--count 20] [--seeds 3]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from time import process_time

import common  # before NumPy, which it keeps to one thread
import numpy as np
import reliability

import polymargin as pm
from polymargin.boundary import critical_system
from polymargin.continuation import CriticalStart, Tracker, start_systems
from polymargin.enumeration import blend as blends
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.blend import WORTH_A_ROTATION
from polymargin.enumeration.cache import Cache

# Supports that stand for all where there are more critical points than this.
SUPPORTS, MOST_PATHS = 300, 20_000
CAREFUL = Tracker(threads=1, device="cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 6, 8, 10, 12, 16, 20, 24], help="inputs")
    parser.add_argument("--count", type=int, default=20, help="networks of each other kind")
    parser.add_argument("--seeds", type=int, default=3, help="networks of each size")
    options = parser.parse_args()
    blends.critical_start_of = start_of_some
    rows = [row(f"({size}, {size + 2}), d = 3", shallow(size, options.seeds)) for size in options.sizes]
    rows += [row(kind, others(kind, options.count)) for kind in reliability.KINDS]
    header = ["system", "paths", "careful", "bold", "own axes", "own axes, bold", "not at its end", "stage 1"]
    common.print_table(header, rows)


def shallow(inputs: int, seeds: int) -> Iterator[pm.Boundary]:
    for seed in range(seeds):
        yield pm.Boundary.from_network(common.network(inputs, [inputs + 2], 3, np.random.default_rng(seed)), 0, 1)


def others(kind: str, count: int) -> Iterator[pm.Boundary]:
    for number in range(count):
        generator = np.random.default_rng([0, reliability.KINDS.index(kind), number])
        boundary = pm.Boundary.from_network(reliability.draw(kind, generator), 0, 1)
        if boundary.degree > 1:
            yield boundary


def row(name: str, boundaries: Iterable[pm.Boundary]) -> list[str]:
    ways = [(own_axes, tracker) for own_axes in (False, True) for tracker in (CAREFUL, CAREFUL.bold())]
    steps, lost, paths, seconds, networks, whole = np.zeros(len(ways)), 0, 0, 0.0, 0, True
    for boundary in boundaries:
        generator = np.random.default_rng(0)
        size = boundary.reduction.dimension + 1
        generic = (generator.normal(size=size) + 1j * generator.normal(size=size)) / np.sqrt(2)
        system = critical_system(boundary)
        blends.WORTH_A_ROTATION = 0
        for number, (own_axes, tracker) in enumerate(ways):
            blend = blends.blend_to(generic, boundary, system, generator, own_axes=own_axes, threads=1)
            found = tracker.track(blend.program, blend.starts, blend.begin, blend.end)
            # Paths to infinity take as many as they may, whichever way.
            steps[number] += (found.steps + found.rejections)[found.converged].sum() / found.converged.mean()
        blends.WORTH_A_ROTATION = WORTH_A_ROTATION
        lost += int((~found.converged).sum())
        paths += found.ends.size
        networks += 1
        whole = whole and found.ends.size == boundary.critical_bound
        if whole:
            started = process_time()
            base_solutions(boundary, CAREFUL, seed=0, cache=Cache.from_option(False))
            seconds += process_time() - started
    time = f"{seconds / networks * 1e3:.1f} ms" if whole else "–"
    return [name, f"{paths:,}", *(f"{count / paths:.1f}" for count in steps), f"{lost}", time]


def start_of_some(slopes: common.ComplexArray, level: complex, degree: int, threads: int) -> CriticalStart:
    """All solutions of the start system, or those on random supports of a cubic."""
    if degree != 3 or 3 * 2 ** len(slopes) <= MOST_PATHS:
        return start_systems.critical_start_of(slopes, level, degree, threads)
    supports = np.random.default_rng(1).random((SUPPORTS, len(slopes))) < 0.5
    rays = supports / slopes
    lengths = (level / (rays**2).sum(axis=1))[:, None] ** (1 / 3) * np.exp(2j * np.pi * np.arange(3) / 3)
    points = np.concatenate([rays[:, None, :] * lengths[:, :, None], -1 / (3 * lengths)[:, :, None]], axis=2)
    return CriticalStart(slopes, level, points.reshape(3 * SUPPORTS, -1))


if __name__ == "__main__":
    main()
