"""From some critical points at generic parameters to all of them.

The trace test asks whether a set is complete. If it fails, loops in the parameters look for more. A set counts as complete when
the test passed at several random places with the same number of solutions: a solution that is so far out at one place that
the test cannot see it is not so at another, and one known there by two inaccurate names is known by one elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import TrackerSettings, carry, explore
from polymargin.margins.trace import TraceTest, trace_test
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]

# Places at which the test must pass, and places that may be tried.
PLACES = 3
MOST_PLACES = 16
# Loops in a row without news before the test is asked again, and loops at one place.
QUIET_LOOPS, MOST_LOOPS = 3, 50


@dataclass(frozen=True, eq=False)
class Completion:
    """Solutions at generic parameters; all of them if the trace test passed (the worst of the tests that count)."""

    parameters: ComplexArray
    solutions: ComplexArray
    trace: TraceTest
    loops: int
    paths: int


def complete(
    program: Program,
    solutions: ComplexArray,
    parameters: ComplexArray,
    sample: Callable[[], ComplexArray],
    generator: np.random.Generator,
    *,
    settings: TrackerSettings,
    threads: int | None = None,
    most_places: int = MOST_PLACES,
    progress: Callable[[int], None] | None = None,
) -> Completion:
    """Test and search, here and at random parameters, until `PLACES` tests have passed with the same number of solutions."""
    loops = paths = 0
    passed: list[Completion] = []
    best: Completion | None = None
    known, place = solutions, parameters
    for _ in range(most_places):
        trace = trace_test(program, place, known, generator, settings=settings, threads=threads)
        if not trace.passed:
            orbit = explore(
                program,
                known,
                place,
                sample,
                quiet_loops=QUIET_LOOPS,
                most_loops=MOST_LOOPS,
                settings=settings,
                threads=threads,
            )
            loops, paths, known = loops + orbit.loops, paths + orbit.paths, orbit.solutions
            trace = trace_test(program, place, known, generator, settings=settings, threads=threads)
        if progress is not None:
            progress(len(known))
        here = Completion(place, known, trace, loops, paths)
        if trace.passed:
            # Two passes with different numbers cannot both be right; the later one has to be confirmed anew.
            passed = [p for p in passed if len(p.solutions) == len(known)] + [here]
            if len(passed) == PLACES:
                worst = max((p.trace for p in passed), key=lambda test: test.defect)
                return Completion(passed[0].parameters, passed[0].solutions, worst, loops, paths)
        elif best is None or len(known) > len(best.solutions):
            best = here
        target = sample()
        moved = carry(program, known, place, target, settings=settings, threads=threads)
        paths += len(known)
        known, place = moved.points[0][moved.converged[0]], target
        if not len(known):
            known, place = here.solutions, here.parameters
    unconfirmed = best or passed[-1]
    failed = TraceTest(False, unconfirmed.trace.defect, unconfirmed.trace.visible)
    return Completion(unconfirmed.parameters, unconfirmed.solutions, failed, loops, paths)
