"""Does the tracker lose paths? Many small random networks, every one of them audited.

Each network has standard normal weights and one standard normal point. Shallow ones: degree 2 to 4, 2 to 4
inputs, n to n + 3 neurons; a quarter are deep: degree 2, 2 or 3 inputs, two hidden layers of n + 1. For all
of them the number of critical points is the generic one, so a result is complete exactly when every path
arrived at a regular solution of its own and the solutions are closed under conjugation. Anything else is
printed with what is needed to repeat it (network i depends on the seed and on i alone) and counted.

    python benchmarks/reliability.py [--count 10000] [--seed 0] [--only 1234]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter

import common  # before NumPy, which it keeps to one thread
import numpy as np
from common import Array
from rich.progress import track

import polymargin as pm


@dataclass(frozen=True)
class Case:
    """One network and its point; `name` says the architecture."""

    name: str
    net: pm.PolynomialNetwork
    point: Array


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="number of networks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="one network alone, by its number")
    options = parser.parse_args()

    numbers = range(options.count) if options.only is None else range(options.only, options.only + 1)
    started = perf_counter()
    paths = incomplete = 0
    for number in with_progress(numbers):
        case = draw(options.seed, number)
        ended, problem = examine(case)
        paths += ended
        if problem is not None:
            incomplete += 1
            print(f"seed {options.seed}, network {number}, {case.name}: {problem}", flush=True)
    seconds = perf_counter() - started
    print(f"{len(numbers):,} networks, {paths:,} paths, {incomplete:,} incomplete, {seconds:.0f} s")


def draw(seed: int, number: int) -> Case:
    """Network `number` of the given seed."""
    generator = np.random.default_rng([seed, number])
    if generator.random() < 0.25:
        inputs, degree = int(generator.integers(2, 4)), 2
        hidden = [inputs + 1, inputs + 1]
    else:
        inputs, degree = int(generator.integers(2, 5)), int(generator.integers(2, 5))
        hidden = [inputs + int(generator.integers(0, 4))]
    net = common.network(inputs, hidden, degree, generator)
    return Case(f"({inputs}, {hidden}) d = {degree}", net, generator.normal(size=inputs))


def examine(case: Case) -> tuple[int, str | None]:
    """Paths followed to the point, and what is wrong with the result."""
    boundary = pm.Boundary.from_network(case.net, 0, 1)
    try:
        audit = pm.critical_points(boundary, case.point, cache=False, threads=1).audit
    except Exception as error:  # whatever it is, it belongs to this network and must be seen
        return 0, f"{type(error).__name__}: {error}"
    problem = None if audit.complete else "; ".join(audit.findings) or "not complete, without a finding"
    return sum(audit.ends.values()), problem


def with_progress(numbers: range) -> Iterable[int]:
    return track(numbers, description="networks") if sys.stdout.isatty() else numbers


if __name__ == "__main__":
    main()
