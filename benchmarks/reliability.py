"""Does the tracker lose paths? Many small random networks, every path of every point accounted for.

Each network has a few standard normal points. Kinds:

    shallow    degree 2 to 4, 2 to 4 inputs, n to n + 3 neurons, standard normal weights
    deep       degree 2, 2 or 3 inputs, two hidden layers of n + 1
    attention  lightning self-attention with two tokens, fewer critical points than their degree allows
    scaled     shallow ones of degree 3 and 4 whose neurons and inputs differ by factors of e^±3 and more

Stage 1 runs once per network, stage 2 for all its points. "First try" counts the paths of stage 2 that one pass of the core
did not bring to a regular end of their own: lost (no regular end) and doubled (an end shared with another path). Then the
point as `critical_points` answers it: incomplete if any path has no known end or the list is not closed under
conjugation. Incomplete ones are printed with what is needed to repeat them: a network depends on seed, kind and number alone.

    python benchmarks/reliability.py [--count 1000] [--points 10] [--seed 0] [--kinds shallow deep] [--only 123]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter

import common  # before NumPy, which it keeps to one thread
import numpy as np
from rich.progress import track as with_bar

import polymargin as pm
from polymargin.continuation import Tracker, duplicates
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.critical_points import critical_points_at
from polymargin.networks import Network
from polymargin.networks.attention import random_attention

KINDS = ("shallow", "deep", "attention", "scaled")
ATTENTION_SHAPES = ((2, 2, 1, 1), (2, 3, 1, 1), (2, 2, 2, 2))


@dataclass
class Tally:
    """What was seen of one kind."""

    networks: int = 0
    points: int = 0
    paths: int = 0
    lost: int = 0
    doubled: int = 0
    incomplete: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="networks of each kind")
    parser.add_argument("--points", type=int, default=10, help="points of each network")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--only", type=int, help="one network alone, by its number")
    options = parser.parse_args()

    numbers = range(options.count) if options.only is None else range(options.only, options.only + 1)
    started = perf_counter()
    tallies = {kind: Tally() for kind in options.kinds}
    for kind, tally in tallies.items():
        for number in with_progress(numbers, kind):
            examine(kind, options.seed, number, options.points, tally)
    rows = [
        [kind, *(f"{value:,}" for value in (t.networks, t.points, t.paths, t.lost, t.doubled, t.incomplete))]
        for kind, t in tallies.items()
    ]
    header = ["kind", "networks", "points", "paths", "first try: lost", "doubled", "incomplete points"]
    common.print_table(header, rows)
    print(f"{sum(t.paths for t in tallies.values()):,} paths, {perf_counter() - started:.0f} s")


def draw(kind: str, generator: np.random.Generator) -> Network:
    """A random network of the given kind."""
    if kind == "attention":
        shape = ATTENTION_SHAPES[int(generator.integers(len(ATTENTION_SHAPES)))]
        return random_attention(*shape, seed=int(generator.integers(2**31)))
    if kind == "deep":
        inputs = int(generator.integers(2, 4))
        return common.network(inputs, [inputs + 1, inputs + 1], 2, generator)
    inputs = int(generator.integers(2, 5))
    degree = int(generator.integers(2 if kind == "shallow" else 3, 5))
    net = common.network(inputs, [inputs + int(generator.integers(0, 4))], degree, generator)
    if kind == "shallow":
        return net
    first, last = net.chain.layers
    neurons, columns = (np.exp(1.5 * generator.normal(size=size)) for size in first.weights.shape)
    weights = neurons[:, None] * first.weights * columns
    return pm.PolynomialNetwork([(weights, first.bias), (last.weights, last.bias)], degree=degree)


def examine(kind: str, seed: int, number: int, points: int, tally: Tally) -> None:
    """Add one network to the tally."""
    generator = np.random.default_rng([seed, KINDS.index(kind), number])
    boundary = pm.Boundary.from_network(draw(kind, generator), 0, 1)
    batch = generator.normal(size=(points, boundary.dimension))
    tracker = Tracker(threads=1)
    tally.networks += 1
    tally.points += points
    problems = []
    try:
        base = base_solutions(boundary, tracker, seed=0, cache=Cache.from_option(False))
        targets = np.array([[*boundary.reduction.coordinates(point), 0.0] for point in batch], dtype=np.complex128)
        paths = tracker.track(base.program, base.solutions, base.parameters, targets)
        tally.paths += paths.ends.size
        tally.lost += int((~paths.converged).sum())
        for ends, converged in zip(paths.points, paths.converged, strict=True):
            tally.doubled += int(duplicates(ends[converged]).sum())
        audits = [critical_points_at(base, point, tracker).audit for point in batch]
        problems = [
            f"point {i}: {'; '.join(audit.findings) or 'not complete, without a finding'}"
            for i, audit in enumerate(audits)
            if not audit.complete
        ]
    except Exception as error:  # whatever it is, it belongs to this network and must be seen
        problems = [f"{type(error).__name__}: {error}"] * points
    tally.incomplete += len(problems)
    if problems:
        print(f"{kind}, seed {seed}, network {number}: {problems[0]}", flush=True)


def with_progress(numbers: range, kind: str) -> Iterable[int]:
    return with_bar(numbers, description=kind) if sys.stdout.isatty() else numbers


if __name__ == "__main__":
    main()
