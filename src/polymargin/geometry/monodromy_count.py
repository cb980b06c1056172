"""The ED degree of a family of boundaries, counted by monodromy and confirmed by the trace test.

One solution is had for nothing (`Family.seed`). Loops in the parameters (point, level and, for architectures, weights) find
the others. When loops bring nothing new the trace test decides: if it fails, the search goes on around another base point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Family
from polymargin.continuation import TrackerSettings, carry, explore, follow
from polymargin.errors import PolymarginError
from polymargin.margins.trace import TraceTest, confirm

ComplexArray = NDArray[np.complex128]

# Loops in a row without news before the trace test is asked: each leaves a missing solution missing with probability about 1/2.
QUIET_LOOPS = 3
# Loops around one base point, and base points, before the search gives up.
MOST_LOOPS = 50
MOST_BASES = 12


@dataclass(frozen=True, eq=False)
class MonodromyCount:
    """Number of critical points found at generic parameters, and whether the trace test says these are all."""

    value: int
    trace: TraceTest
    loops: int
    paths: int
    seconds: float
    parameters: ComplexArray
    solutions: ComplexArray

    def __int__(self) -> int:
        return self.value


def monodromy_count(
    family: Family,
    *,
    seed: int = 0,
    threads: int | None = None,
    settings: TrackerSettings | None = None,
    progress: Callable[[int], None] | None = None,
) -> MonodromyCount:
    """All critical points at generic parameters; `progress` is called with the number known so far.

    >>> from polymargin.boundary import AttentionArchitecture, architecture_family
    >>> found = monodromy_count(architecture_family(AttentionArchitecture(2, 2, 1, 1)))
    >>> found.value, found.trace.passed
    (17, True)
    """
    started = perf_counter()
    chosen = settings or TrackerSettings()
    generator = np.random.default_rng([seed, 5])
    program = family.program

    def sample() -> ComplexArray:
        return family.generic(generator)

    solution, parameters = family.seed(generator)
    base = sample()
    first = follow(program, solution[None, :], parameters, base, settings=chosen, threads=threads)
    known = first.points[0][first.converged[0]]
    if not len(known):
        raise PolymarginError(f"{family.name}: the path of the first solution broke off; try another seed")
    loops, paths = 0, 1
    for _ in range(MOST_BASES):
        orbit = explore(
            program,
            known,
            base,
            sample,
            quiet_loops=QUIET_LOOPS,
            most_loops=MOST_LOOPS,
            settings=chosen,
            threads=threads,
        )
        loops, paths = loops + orbit.loops, paths + orbit.paths
        if progress is not None:
            progress(len(orbit.solutions))
        found = confirm(program, base, orbit.solutions, sample, generator, settings=chosen, threads=threads)
        if found.trace.passed:
            break
        # Something is missing. It may be out of reach from here, so the search goes on from another place.
        place = sample()
        moved = carry(program, found.solutions, found.parameters, place, settings=chosen, threads=threads)
        known, base = moved.points[0][moved.converged[0]], place
        paths += len(found.solutions)
    seconds = perf_counter() - started
    return MonodromyCount(len(found.solutions), found.trace, loops, paths, seconds, found.parameters, found.solutions)
