"""The ED degree of one boundary {B = 0}: regular critical points at a generic complex point, component by component.

All critical points at a generic level are known and confirmed (stage 1 of margins). Moving the level to 0 brings every isolated
critical point of {B = 0} as the end of a path. Regular ends are counted. The others end at infinity, or at singular points
of {B = 0} with an infinite multiplier: where components meet, or all over a component counted twice. Regular critical points that
loops of the point at level 0 exchange lie on the same component.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polymargin.boundary import Boundary
from polymargin.continuation import TrackerSettings, duplicates, follow, orbits
from polymargin.margins import BaseSolutions, base_solutions, check_limit
from polymargin.margins.cache import Cache
from polymargin.margins.degenerate import LARGEST_CONDITION

# Loops in a row that join no two orbits before orbits are taken for components.
QUIET_LOOPS = 8
# Logarithms of the sizes of loops, in reduced coordinates.
LOOP_SIZES = (-0.5, 2.5)


@dataclass(frozen=True)
class BoundaryCount:
    """`value` regular critical points, `components` their numbers per irreducible component; `generic` of a generic level.

    `complete` says whether the critical points at the generic level were confirmed to be all.
    """

    value: int
    components: tuple[int, ...]
    generic: int
    complete: bool


def boundary_count(
    boundary: Boundary,
    *,
    seed: int = 0,
    threads: int | None = None,
    limit: int = 200_000,
    cache: bool | str | Path = True,
) -> BoundaryCount:
    """The ED degree of {B = 0} for a boundary of degree at least two.

    >>> boundary_count(Boundary.from_expression("(x**2 + y**2 - 1) * (x - 3*y + 1)"), cache=False).components
    (2, 1)
    """
    check_limit(boundary, limit, threads)
    settings = TrackerSettings()
    base = base_solutions(boundary, seed=seed, settings=settings, threads=threads, cache=Cache.from_option(cache))
    generator = np.random.default_rng([seed, 6])
    return _at_level_zero(base, settings, threads, generator)


def _at_level_zero(
    base: BaseSolutions, settings: TrackerSettings, threads: int | None, generator: np.random.Generator
) -> BoundaryCount:
    zero = base.parameters.copy()
    zero[-1] = 0
    paths = follow(base.program, base.solutions, base.parameters, zero, settings=settings, threads=threads)
    regular = paths.converged[0] & (paths.condition[0] < LARGEST_CONDITION)
    regular[regular] = ~duplicates(paths.points[0][regular])
    points = paths.points[0][regular]

    def another_point() -> np.ndarray:
        # Near and far: branch points may lie anywhere.
        size = np.exp(generator.uniform(*LOOP_SIZES))
        u = size * (generator.normal(size=len(zero)) + 1j * generator.normal(size=len(zero)))
        u[-1] = 0
        return np.asarray(u)

    labels = orbits(
        base.program, points, zero, another_point, quiet_loops=QUIET_LOOPS, settings=settings, threads=threads
    )
    sizes = sorted(Counter(labels.tolist()).values(), reverse=True)
    return BoundaryCount(len(points), tuple(sizes), len(base.solutions), base.unjudged == 0)
