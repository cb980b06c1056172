"""Base solutions: all critical points at one generic point and level, once per boundary.

The second step moves the generic (u*, ε*) to (u, 0) for any point u, which takes few steps per path. The base solutions belong
to the boundary alone, so they are cached on disk under its exact coefficients, the seed and the tracker's settings. Only
complete solutions are cached, and they are validated again when they are read.

Their number M is the generic number of critical points in the family of all levels {B = ε} and all points. It is at
most the bound N of the theorem; where it is less, the trace test says whether all M have been found. Paths of the blend that end
at infinity need no judgement then.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary, CriticalSystem, critical_system
from polymargin.continuation import Paths, Tracker, distinct, duplicates
from polymargin.continuation.same_points import same
from polymargin.enumeration.blend import axis_sizes, blend_to
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.completion import complete
from polymargin.enumeration.trace import trace_test
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]
_logger = logging.getLogger(__name__)

# Random start systems tried before a failed trace test is accepted.
ATTEMPTS = 3
# Places tried for the trace test with one start system.
MOST_PLACES = 6
# Paths without an endpoint that are followed in double-doubles at once: solutions far out move a trace by less than its noise.
# Where the reduction was rounded, it has made solutions far out of those at infinity, which are not looked for.
FEW = 100
# Where axes differ in scale by more than this, less than the full number of solutions is not believed: branches far out can be
# invisible to the trace test, and near ones too close together to be told apart.
LOPSIDED = 1e3
# Shares of the blend at which a careful path stops for a moment. Where axes differ in scale by thousands, λ is large at the start
# and a trace of the target moves the strong coordinates by far: the first steps are smaller than the smallest of the whole way.
PARTS = (1e-20, 1e-10, 1.0)


@dataclass(frozen=True, eq=False)
class BaseSolutions:
    """Critical points (y, λ) of a boundary at the generic parameters (u*, ε*), in reduced coordinates."""

    boundary: Boundary
    program: Program  # the critical equations with parameters (u, ε)
    parameters: ComplexArray
    solutions: ComplexArray
    unjudged: int  # 0 if these are all, by number or by the trace test; otherwise how many more there could be

    def are_all(self, seed: int, tracker: Tracker) -> bool:
        """Return whether these are distinct solutions and all there are; a cache file may contain anything."""
        size, count = self.boundary.reduction.dimension + 1, len(self.solutions)
        if self.parameters.shape != (size,) or self.solutions.shape != (count, size):
            return False
        if not self.boundary.degree <= count <= self.boundary.critical_bound:
            return False
        if not (np.isfinite(self.parameters).all() and np.isfinite(self.solutions).all()):
            return False
        paths = tracker.track(self.program, self.solutions, self.parameters, self.parameters)
        stayed = same(self.solutions, paths.points[0])
        if not (paths.converged.all() and stayed.all()) or duplicates(self.solutions).any():
            return False
        if count == self.boundary.critical_bound:
            return True
        generator = np.random.default_rng([seed, count])
        return trace_test(self.program, self.parameters, self.solutions, generator, tracker).passed

    def move_to(self, targets: ComplexArray, tracker: Tracker) -> Paths:
        """Follow every base solution to the parameters (T, m + 1)."""
        return tracker.follow(self.program, self.solutions, self.parameters, targets)


def base_solutions(boundary: Boundary, tracker: Tracker, *, seed: int, cache: Cache) -> BaseSolutions:
    """Return the base solutions from the cache, or by the blend from the closed-form start system."""
    key = f"{boundary.fingerprint}:{seed}:{tracker.settings}"
    tracker.deadline.check()
    system = critical_system(boundary)
    stored = cache.read(key, boundary.critical_bound, boundary.reduction.dimension + 1)
    if stored is not None and stored.keys() == {"parameters", "solutions"}:
        remembered = BaseSolutions(boundary, system.target, stored["parameters"], stored["solutions"], 0)
        if remembered.are_all(seed, tracker):
            return remembered
    tries = []
    for attempt in range(ATTEMPTS):
        tracker.deadline.check()
        generator = np.random.default_rng([seed, attempt])
        tries.append(_solve_generic(boundary, system, generator, tracker, first=attempt == 0))
        if not tries[-1].unjudged:
            break
    # The generic number is a number of the boundary: a lower count than another try's has lost something.
    best = max(tries, key=lambda found: (len(found.solutions), -found.unjudged))
    if not best.unjudged:  # what was not judged complete is tried again by the next call
        cache.write(key, {"parameters": best.parameters, "solutions": best.solutions})
    return best


def _solve_generic(
    boundary: Boundary,
    system: CriticalSystem,
    generator: np.random.Generator,
    tracker: Tracker,
    *,
    first: bool,
) -> BaseSolutions:
    size = boundary.reduction.dimension
    # Along an axis on which B hardly depends its solutions are far out. A generic point is one that is generic at that scale too:
    # from a point near the origin, branches far out look alike and cancel each other in the trace test.
    reach = np.append(axis_sizes(boundary) ** (-1 / boundary.degree), 1.0)

    weakest = max(boundary.reduction.weakest, np.finfo(np.float64).tiny)
    lopsided = max(float(reach.max() / reach.min()), 1 / weakest) > LOPSIDED

    def sample() -> ComplexArray:
        return reach * _normal(size + 1, generator)

    generic = sample()
    own_axes = first and not lopsided
    blend = blend_to(generic, boundary, system, generator, own_axes=own_axes, threads=tracker.workers)
    _logger.info("%s start points", f"{len(blend.starts):,}")

    def carefully(starts: ComplexArray, chosen: Tracker) -> ComplexArray:
        here = blend.begin
        for share in PARTS:
            there = (1 - share) * blend.begin + share * blend.end
            followed = chosen.track(blend.program, starts, here, there, double_double=True)
            starts, here = followed.points[0][followed.converged[0]], there
        # A rounded rotation is none to solutions far out: they have to be solutions of the system itself.
        ends = blend.rotate_back(starts)
        sharp = tracker.far_sighted().track(system.target, ends, generic, generic, double_double=True)
        return np.asarray(ends[sharp.converged[0] & same(ends, sharp.points[0])])

    # Doubles first. What they lose, if it is little, double-doubles follow at once: solutions far out, where doubles fail, must
    # not be taken for paths to infinity. Loops may find the others; if not, all are followed in double-doubles, by smaller steps.
    paths, regular = tracker.follow_boldly(blend.program, blend.starts, blend.begin, blend.end)
    found = blend.rotate_back(paths.points[0] if regular.all() else paths.points[0][regular], tracker.workers)
    lost = blend.starts[~regular]
    if 0 < len(lost) <= FEW and boundary.reduction.is_exact:
        found = distinct(np.concatenate([found, carefully(lost, tracker.far_sighted().hasty())]))
    for last in (False, True):
        if len(found) == len(blend.starts):
            return BaseSolutions(boundary, system.target, generic, found, 0)
        # A generic level with fewer critical points than its degree has never been met; it would rather mean a loss.
        if len(found) >= boundary.degree:
            completion = complete(
                system.target,
                found,
                generic,
                sample,
                generator,
                tracker,
                bound=len(blend.starts),
                most_places=MOST_PLACES,
            )
            if completion.complete:
                missing = len(blend.starts) - len(completion.solutions) if lopsided else 0
                return BaseSolutions(boundary, system.target, completion.parameters, completion.solutions, missing)
        if not last:
            found = distinct(np.concatenate([found, carefully(lost, tracker.tightened().far_sighted())]))
    return BaseSolutions(boundary, system.target, generic, found, max(len(blend.starts) - len(found), 1))


def _normal(count: int, generator: np.random.Generator) -> ComplexArray:
    return np.asarray((generator.normal(size=count) + 1j * generator.normal(size=count)) / np.sqrt(2))
