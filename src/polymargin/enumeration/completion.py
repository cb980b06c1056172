"""From some critical points at generic parameters to all of them.

The trace test asks whether a set is complete. If it fails, loops in the parameters look for more. A set counts as complete when
the test passed at several random places with the same number of solutions: a solution that is so far out at one place that
the test cannot see it is not so at another, and one known there by two inaccurate names is known by one elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker, distinct, explore
from polymargin.enumeration.trace import TraceTest, trace_test
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]

# Places at which the test must pass, and places that may be tried.
PLACES = 3
MOST_PLACES = 16
# Loops in a row without news before the test is asked again, and loops at one place.
QUIET_LOOPS, MOST_LOOPS = 1, 50


@dataclass(frozen=True, eq=False)
class Completion:
    """Solutions at generic parameters; all of them if `complete`.

    `trace` is the worst of the tests that count, or None if the number of solutions needs no test.
    """

    parameters: ComplexArray
    solutions: ComplexArray
    trace: TraceTest | None
    loops: int
    paths: int

    @property
    def complete(self) -> bool:
        """Return whether the solutions are known to be complete."""
        return self.trace is None or self.trace.passed


def complete(
    program: Program,
    solutions: ComplexArray,
    parameters: ComplexArray,
    sample: Callable[[], ComplexArray],
    generator: np.random.Generator,
    tracker: Tracker,
    *,
    bound: int,
    most_places: int = MOST_PLACES,
    progress: Callable[[int], None] | None = None,
) -> Completion:
    """Test and search, here and at random parameters, until `PLACES` tests have passed with the same number of solutions.

    `bound` solutions are all: no boundary of the degree has more. Then no test is needed, and `trace` is None.
    """
    loops = paths = 0
    passed: list[TraceTest] = []
    known, place = solutions, parameters
    confirmed = best = Completion(place, known, TraceTest(False, float("inf"), 0.0), 0, 0)
    for _ in range(most_places):
        if len(known) == bound:
            return Completion(place, known, None, loops, paths)
        trace = trace_test(program, place, known, generator, tracker)
        if not trace.passed:
            orbit = explore(
                program,
                known,
                place,
                sample,
                quiet_loops=QUIET_LOOPS,
                most_loops=MOST_LOOPS,
                tracker=tracker,
                enough=bound,
            )
            loops, paths, known = loops + orbit.loops, paths + orbit.paths, orbit.solutions
            if len(known) == bound:
                return Completion(place, known, None, loops, paths)
            trace = trace_test(program, place, known, generator, tracker)
        if progress is not None:
            progress(len(known))
        here = Completion(place, known, replace(trace, passed=False), loops, paths)
        if trace.passed:
            # Two passes with different numbers cannot both be right; the later one has to be confirmed anew.
            if len(here.solutions) != len(confirmed.solutions):
                passed = []
            confirmed = confirmed if passed else here
            passed.append(trace)
            if len(passed) == PLACES:
                worst = max(passed, key=lambda test: test.defect)
                return Completion(confirmed.parameters, confirmed.solutions, worst, loops, paths)
        if len(known) >= len(best.solutions):
            best = here
        target = sample()
        moved = tracker.carry(program, known, place, target)
        paths += len(known)
        known, place = distinct(moved.points[0][moved.converged[0]]), target
        if not len(known):
            known, place = here.solutions, here.parameters
    return replace(best, loops=loops, paths=paths)
