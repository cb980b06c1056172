"""Microseconds per path: the core alone, on one core.

First, stage 2 of shallow cubic networks (n, h) with standard normal weights: paths from the generic base point to a real
point (192 of them where there are more), for every instruction set of this machine. Then other kinds of systems, in
doubles and double-doubles, with the best instruction set. Lost and doubled paths are counted. Times are CPU time, the best of
many calls that are short enough to find a quiet moment on a busy machine.

    python benchmarks/paths.py [--sizes 4,6 6,8 8,10] [--repetitions 300] [--seed 0]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from time import process_time

import common  # before NumPy, which it keeps to one thread
import numpy as np
from common import ComplexArray

import polymargin as pm
from polymargin import _core
from polymargin.continuation import Paths, Tracker, duplicates
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.networks import Network
from polymargin.networks.attention import random_attention
from polymargin.polynomials import Graph, Program, flatten, jacobian

# Starts in one call.
MOST_STARTS = 192


@dataclass(frozen=True)
class Work:
    """Paths to follow: from start points at one place of the parameters to one or more others."""

    name: str
    program: Program
    starts: ComplexArray
    begin: ComplexArray
    ends: ComplexArray

    def best(
        self, repetitions: int, instruction_set: str | None = None, double_double: bool = False
    ) -> tuple[float, Paths]:
        """Seconds, and what became of the paths."""
        best, tracker = float("inf"), Tracker(threads=1, instruction_set=instruction_set)
        for _ in range(repetitions):
            started = process_time()
            paths = tracker.track(self.program, self.starts, self.begin, self.ends, double_double=double_double)
            best = min(best, process_time() - started)
        return best, paths


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", nargs="*", default=["4,6", "6,8", "8,10"], help="inputs,neurons")
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        inputs, hidden = map(int, size.split(","))
        generator = np.random.default_rng(options.seed)
        net = common.network(inputs, [hidden], 3, generator)
        work = stage_2(f"({inputs}, {hidden}), d = 3", net, 1, generator)
        rows += [
            row(work, name, *work.best(options.repetitions, instruction_set=name)) for name in _core.instruction_sets()
        ]
    for work in others(np.random.default_rng(options.seed)):
        rows.append(row(work, "doubles", *work.best(options.repetitions)))
        few = max(options.repetitions // 10, 1)
        rows.append(row(work, "double-doubles", *work.best(few, double_double=True)))
    common.print_table(["system", "paths", "arithmetic", "µs/path", "steps", "rejected", "lost", "doubled"], rows)


def others(generator: np.random.Generator) -> Iterator[Work]:
    yield stage_2("(3, [20, 20]), d = 2", common.network(3, [20, 20], 2, generator), 4, generator)
    for shape in ((2, 2, 1, 1), (2, 2, 2, 2)):
        attention = random_attention(*shape, seed=int(generator.integers(2**31)))
        yield stage_2(f"attention {shape}", attention, 8, generator)
    for unknowns, degree in ((3, 3), (6, 2), (4, 3)):
        yield dense_system(unknowns, degree, generator)


def stage_2(name: str, net: Network, points: int, generator: np.random.Generator) -> Work:
    """All paths from the base solutions to some real points, or many of them."""
    boundary = pm.Boundary.from_network(net, 0, 1)
    base = base_solutions(boundary, Tracker(threads=1), seed=0, cache=Cache.from_option(False))
    batch = generator.normal(size=(points, boundary.dimension))
    ends = np.array([[*boundary.reduction.coordinates(point), 0.0] for point in batch], dtype=np.complex128)
    return Work(name, base.program, base.solutions[:MOST_STARTS], base.parameters, ends)


def dense_system(unknowns: int, degree: int, generator: np.random.Generator) -> Work:
    """Random polynomials with all monomials, by total degree: no symmetry anywhere."""
    graph = Graph()
    x = graph.inputs(unknowns)
    start_weight, target_weight = graph.parameters(2)
    exponents = [e for e in product(range(degree + 1), repeat=unknowns) if sum(e) <= degree]
    monomials = []
    for exponent in exponents:
        monomial = graph.constant(1)
        for xi, power in zip(x, exponent, strict=True):
            monomial = monomial * xi**power
        monomials.append(monomial)
    equations = [
        start_weight * (xi**degree - 1) + target_weight * graph.linear(generator.normal(size=len(monomials)), monomials)
        for xi in x
    ]
    program = flatten(graph, equations, [entry for row in jacobian(equations, x) for entry in row])
    roots = np.exp(2j * np.pi * np.arange(degree) / degree)
    starts = np.array(list(product(roots, repeat=unknowns)))
    phase = np.exp(2j * np.pi * generator.random())
    name = f"dense, {unknowns} unknowns, degree {degree}"
    return Work(name, program, starts, np.array([phase, 0]), np.array([[0, 1]], dtype=np.complex128))


def row(work: Work, arithmetic: str, seconds: float, paths: Paths) -> list[str]:
    doubled = sum(int(duplicates(p[c]).sum()) for p, c in zip(paths.points, paths.converged, strict=True))
    return [
        work.name,
        f"{paths.ends.size}",
        arithmetic,
        f"{seconds / paths.ends.size * 1e6:.2f}",
        f"{paths.steps.mean():.1f}",
        f"{paths.rejections.mean():.2f}",
        f"{(~paths.converged).sum()}",
        f"{doubled}",
    ]


if __name__ == "__main__":
    main()
