"""Monodromy: more solutions from the known ones, by loops in the parameters.

A loop of parameters that starts and ends at the base carries every solution to a solution. Where the solutions over all
parameters form one irreducible family, loops reach all of them from any single one. How a path got there does not matter: what
arrives at the base and passes Newton's method there is a solution, even if its path jumped.

When to stop is not decided here. `explore` returns after some loops without news, which proves nothing; a trace test does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation.same_points import contains, distinct
from polymargin.continuation.tracker import Tracker
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Orbit:
    """The solutions known at the base after some loops, and the work it took."""

    solutions: ComplexArray
    loops: int
    paths: int


def explore(
    program: Program,
    solutions: ComplexArray,
    base: ComplexArray,
    sample: Callable[[], ComplexArray],
    *,
    quiet_loops: int,
    most_loops: int,
    tracker: Tracker,
    enough: int | None = None,
) -> Orbit:
    """Carry the solutions around triangles of parameters until `quiet_loops` in a row find nothing or there are `enough`."""
    exploring = tracker.exploring()
    known = distinct(solutions)
    loops = paths = quiet = 0
    while quiet < quiet_loops and loops < most_loops and len(known) != enough:
        arrived, here = known, base
        for corner in (sample(), sample(), base):
            ends = exploring.track(program, arrived, here, corner)
            paths += len(arrived)
            arrived, here = ends.points[0][ends.converged[0]], corner
        loops += 1
        new = distinct(arrived[~contains(known, arrived)])
        quiet = 0 if len(new) else quiet + 1
        known = np.concatenate([known, new])
    # Sharper eyes for points far out, which doubles may have met twice and not recognised.
    sharp = tracker.track(program, known, base, base, double_double=True)
    return Orbit(distinct(np.where(sharp.converged[0][:, None], sharp.points[0], known)), loops, paths)
