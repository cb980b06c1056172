"""The ED degree of a family of boundaries, counted by monodromy and confirmed by the trace test.

Where the bound on their number is small, the paths from the closed-form start system bring most solutions at once; otherwise
one is known in closed form (`BoundaryFamily.seed`). Loops in the parameters (point, level and, for architectures, weights)
find the others, and the trace test says when to stop (`enumeration.completion`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import BoundaryFamily
from polymargin.continuation import Tracker, critical_start, distinct, random_phase
from polymargin.enumeration import Completion, complete
from polymargin.errors import PolymarginError

ComplexArray = NDArray[np.complex128]

# Up to this bound following all paths of the start system costs less than finding solutions by loops.
FEW = 800


def monodromy_count(
    family: BoundaryFamily, tracker: Tracker, *, seed: int = 0, progress: Callable[[int], None] | None = None
) -> Completion:
    """Return all critical points at generic parameters; `progress` is called with the number known so far.

    >>> from polymargin.boundary import AttentionArchitecture, architecture_family
    >>> found = monodromy_count(architecture_family(AttentionArchitecture(2, 2, 1, 1)), Tracker())
    >>> len(found.solutions), found.complete
    (17, True)
    """
    generator = np.random.default_rng([seed, 5])

    def sample() -> ComplexArray:
        return family.generic(generator)

    base = sample()
    if family.degree > 1 and family.bound <= FEW:
        known = _from_start_system(family, base, generator, tracker)
    else:
        solution, parameters = family.seed(generator)
        paths = tracker.follow(family.program, solution[None, :], parameters, base)
        known = paths.points[0][paths.converged[0]]
    if not len(known):
        raise PolymarginError(f"{family.name}: the path of the first solution broke off; try another seed")
    return complete(family.program, known, base, sample, generator, tracker, bound=family.bound, progress=progress)


def _from_start_system(
    family: BoundaryFamily, base: ComplexArray, generator: np.random.Generator, tracker: Tracker
) -> ComplexArray:
    """Return all paths from the closed-form start system: those that arrive are a good beginning, whether all do or not."""
    start = critical_start(family.dimension, family.degree, generator)
    phase = random_phase(generator)
    points = start.points.copy()
    points[:, -1] /= phase  # γB₀ instead of B₀ divides λ by γ
    fixed = [*start.slopes, start.level]
    begin = np.array([*np.zeros(family.dimension), *base[family.dimension :], phase, 0, *fixed])
    end = np.array([*base, 0, 1, *fixed])
    paths = tracker.hasty().track(family.blend, points, begin, end)  # longer ones are on their way to infinity
    return distinct(paths.points[0][paths.converged[0]])
