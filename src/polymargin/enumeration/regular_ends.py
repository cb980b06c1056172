"""Stage 2 for points where every critical point should be regular: doubles first, double-doubles where they are blind.

A solution far out is ill-conditioned to doubles and looks singular. Double-doubles tell the two apart; what is singular to
them goes to the endgame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Paths, Tracker, duplicates
from polymargin.continuation.survey import LARGEST_CONDITION
from polymargin.enumeration.base_solutions import BaseSolutions

# In double-doubles members of a family were seen from 1e17 on: their equations hold to about twenty digits.
LARGEST_DOUBLE_DOUBLE_CONDITION = 1e16


def regular_ends(
    base: BaseSolutions, target: NDArray[np.complex128], tracker: Tracker
) -> tuple[Paths, NDArray[np.bool_]]:
    """The paths to one target (m + 1,), and which of them ended at regular points of their own."""
    paths, met = tracker.follow_and_tell(base.program, base.solutions, base.parameters, target)
    regular = paths.converged & (paths.condition < LARGEST_CONDITION)
    if regular.all():
        return paths, ~met[0]
    regular, left = regular[0], np.flatnonzero(~regular)
    careful = tracker.tightened().far_sighted()
    again = careful.track(base.program, base.solutions[left], base.parameters, target, double_double=True)
    better = again.converged & (again.condition < LARGEST_DOUBLE_DOUBLE_CONDITION)
    if better.any():
        paths.put(left[better[0]], again.only(better[0]))
    regular[left] = better[0]
    regular[regular] = ~duplicates(
        paths.points[0] if regular.all() else paths.points[0][regular], threads=tracker.workers
    )
    return paths, regular
