"""The ED degree of a family of boundaries, counted by monodromy and confirmed by the trace test.

One solution is had for nothing (`Family.seed`). Loops in the parameters (point, level and, for architectures, weights) find
the others, and the trace test says when to stop (`margins.completion`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Family
from polymargin.continuation import TrackerSettings, follow
from polymargin.errors import PolymarginError
from polymargin.margins import TraceTest, complete

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class MonodromyCount:
    """Number of critical points found at generic parameters. They are all if `complete`: the trace test passed, or no boundary
    of the degree has more (`trace` is None then)."""

    value: int
    complete: bool
    trace: TraceTest | None
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
    >>> found.value, found.complete
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
    found = complete(
        program,
        known,
        base,
        sample,
        generator,
        settings=chosen,
        bound=family.bound,
        threads=threads,
        progress=progress,
    )
    seconds = perf_counter() - started
    return MonodromyCount(
        len(found.solutions),
        found.complete,
        found.trace,
        found.loops,
        found.paths,
        seconds,
        found.parameters,
        found.solutions,
    )
