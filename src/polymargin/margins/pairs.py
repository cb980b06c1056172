"""One small class per way to the distance from a point to the boundary between two classes.

Which way is decided by exact structure: a constant or zero polynomial, a hyperplane, one active direction, degree two, anything
else. Each is made once for a boundary and asked for many points: `ordinary` answers as many as it can at once, from the paths of
its `job` where it has one, and `margin_at` answers any, one at a time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.continuation import Job, Survey, Tracker
from polymargin.deadlines import Deadline
from polymargin.enumeration.base_solutions import BaseSolutions, base_solutions
from polymargin.enumeration.cache import Cache
from polymargin.enumeration.critical_points import CriticalPoints, critical_points_at
from polymargin.enumeration.hyperplane import Hyperplane
from polymargin.enumeration.limit import check_limit
from polymargin.enumeration.ordinary_points import ordinary_points, paths_to
from polymargin.errors import TooManyPathsError
from polymargin.margins.columns import ENUMERATED, EnumeratedColumn, PairColumn, Places, QuadricColumn, RecordColumn
from polymargin.margins.confirmation import LARGEST_REACH, confirmed_tie, plain_ties
from polymargin.margins.line import Line
from polymargin.margins.result import PairMargin
from polymargin.networks.network import Network
from polymargin.quadric import MOST_VARIABLES, PreciseQuadric, QuadricSolver, nearest_of

Array = NDArray[np.float64]
Watcher: TypeAlias = Callable[[int | None, CriticalPoints], None]

# Bounds that differ by less than this, relatively, enclose one number.
AGREEMENT = 1e-12


# Of a timeout, for following paths.
FOLLOWING = 0.6


@dataclass(frozen=True)
class Enumeration:
    """The options of enumeration, with the names of `Settings`.

    timeout   seconds for one point; None: as long as it takes
    watcher   told each rival and all its critical points when `margin_at` enumerates them: who shows them need not do so again
    """

    tracker: Tracker
    seed: int
    limit: int
    cache: Cache
    timeout: float | None
    watcher: Watcher | None = None

    def deadline(self, tracker: Tracker) -> Deadline:
        """Return the moment by which a point that this tracker follows paths to is answered."""
        return tracker.deadline if tracker.deadline.exists else Deadline.after(self.timeout)


def out_of_time(timeout: float | None) -> TooManyPathsError:
    """Return the error of an enumeration that ran out of time."""
    seconds = "in time" if timeout is None else f"within {timeout:g} s"
    return TooManyPathsError(
        f"the critical points were not all found {seconds}; give it more with timeout= (--timeout)"
    )


class Pair(Protocol):
    """The boundary between two classes."""

    def job(self, points: Array, rows: Places) -> Job | None:
        """Return the paths that `ordinary` needs for some rows of points (…, n); None if it needs none."""
        ...

    def ordinary(self, points: Array, rows: Places, survey: Survey | None) -> PairColumn:
        """Return the distances from some rows of points (…, n) to the boundary, each complete, or unknown where doubts remain."""
        ...

    def margin_at(self, u: Array, rival: int | None, tracker: Tracker) -> PairMargin:
        """Return the distance from u to the boundary, for a rival of that number."""
        ...


class OneByOne(ABC):
    """Ways without a shorter way for many points."""

    def job(self, points: Array, rows: Places) -> Job | None:
        """Return None: no paths are needed."""
        return None

    def ordinary(self, points: Array, rows: Places, survey: Survey | None) -> PairColumn:
        """Return the distances from some rows of points, one by one."""
        found = [self.margin_at(u, None, Tracker()) for u in points[rows]]
        return RecordColumn([one if one.complete else None for one in found])

    @abstractmethod
    def margin_at(self, u: Array, rival: int | None, tracker: Tracker) -> PairMargin:
        """Return the distance from u to the boundary."""
        ...


def boundary_of(network: Network, label: int, rival: int) -> Boundary:
    """Return the boundary f_a − f_b of two classes a < b, the same object for both orders, which the network keeps."""
    key = (Boundary, min(label, rival), max(label, rival))
    if key not in network.cache:
        network.cache[key] = Boundary.from_network(network, *key[1:])
    found: Boundary = network.cache[key]
    return found


def pair_for(boundary: Boundary, search: Enumeration, tracker: Tracker) -> Pair:
    """Return the method for the structure of the boundary; the tracker follows the paths of the first step."""
    if boundary.degree < 1:
        return ConstantPair(zero=boundary.degree < 0)
    if boundary.degree == 1:
        return FlatPair(boundary)
    if boundary.dimension == 1 or (boundary.degree > 2 and boundary.space.dimension == 1):
        return LinePair(boundary)
    if boundary.degree == 2:
        return QuadricPair(boundary, QuadricSolver(boundary))
    tracker.deadline.check()
    check_limit(boundary, search.limit, tracker)
    base = base_solutions(boundary, tracker, seed=search.seed, cache=search.cache)
    return EnumeratedPair(base, search.watcher)


@dataclass(frozen=True)
class ConstantPair(OneByOne):
    """The two logits differ by a constant everywhere."""

    zero: bool

    def margin_at(self, u: Array, rival: int | None, tracker: Tracker) -> PairMargin:
        """Return zero or infinity."""
        if self.zero:
            note = "the boundary polynomial is zero: every point ties"
            return PairMargin(rival, 0.0, 0.0, 0.0, u.copy(), "constant", True, 0, 0, 0, (note,), proved=True)
        note = "the boundary polynomial is a nonzero constant: no point ties"
        return PairMargin(rival, math.inf, math.inf, math.inf, None, "constant", True, 0, 0, 0, (note,), proved=True)


class FlatPair(OneByOne):
    """A hyperplane."""

    def __init__(self, boundary: Boundary) -> None:
        self._plane = Hyperplane(boundary)

    def margin_at(self, u: Array, rival: int | None, tracker: Tracker) -> PairMargin:
        """Return the distance from u to the hyperplane."""
        distance = self._plane.distance(u)
        return PairMargin(rival, distance, distance, distance, self._plane.foot(u), "hyperplane", True, 1, 1, 1)


class LinePair(OneByOne):
    """One active direction: a univariate polynomial, whose roots are isolated exactly."""

    def __init__(self, boundary: Boundary) -> None:
        self._line, self._bound = Line(boundary), boundary.degree

    def margin_at(self, u: Array, rival: int | None, tracker: Tracker) -> PairMargin:
        """Return the distance from u to the nearest root on the line."""
        ties = self._line.ties(u)
        return PairMargin(
            rival=rival,
            radius=ties.upper,
            lower=ties.lower,
            upper=ties.upper,
            point=ties.point,
            method="roots",
            complete=True,
            complex_count=ties.complex_count,
            real_count=ties.real_count,
            bound=self._bound,
            notes=() if ties.real_count else ("the boundary polynomial has no real root: no point ties",),
            proved=True,
        )


class QuadricPair:
    """Degree two: the nearest point without the others; in arithmetic without rounding where doubles may be wrong."""

    def __init__(self, boundary: Boundary, solver: QuadricSolver) -> None:
        self._boundary, self.solver = boundary, solver

    @cached_property
    def _precise(self) -> PreciseQuadric | None:
        return PreciseQuadric(self._boundary) if self._boundary.dimension <= MOST_VARIABLES else None

    def job(self, points: Array, rows: Places) -> Job | None:
        """Return None: no paths are needed."""
        return None

    def ordinary(self, points: Array, rows: Places, survey: Survey | None) -> PairColumn:
        """Return the nearest points of the quadric to some rows of points."""
        return QuadricColumn(nearest_of(points, [(self.solver, rows)]))

    def margin_at(self, u: Array, rival: int | None, tracker: Tracker) -> PairMargin:
        """Return the distance from u to the quadric."""
        nearest = self.solver.nearest(u)
        distance, point = nearest.distance, nearest.point
        bound = 2 * self.solver.dimension
        found = PairMargin(
            rival, distance, distance, distance, point, "quadric", True, None, None, bound, nearest.notes
        )
        if not nearest.doubtful:
            return found
        note = "rounding may decide where the nearest point of the quadric is"
        try:
            enclosed = None if self._precise is None else self._precise.nearest(u)
        except ArithmeticError as error:
            enclosed, note = None, f"{note}: {error}"
        if enclosed is None:
            return replace(found, lower=0.0, complete=False, notes=(note, *nearest.notes))
        return replace(
            found,
            radius=enclosed.upper,
            lower=enclosed.lower,
            upper=enclosed.upper,
            point=enclosed.point,
            complete=enclosed.lower >= enclosed.upper * (1 - AGREEMENT),
            proved=True,
            notes=nearest.notes if (point is None) == (enclosed.point is None) else (),
        )


@dataclass(frozen=True, eq=False)
class EnumeratedPair:
    """All critical points by continuation; the nearest real one, confirmed."""

    base: BaseSolutions
    watcher: Watcher | None = None

    def job(self, points: Array, rows: Places) -> Job | None:
        """Return the paths to some rows of points; None if base solutions are missing."""
        return None if self.base.unjudged else paths_to(self.base, points[rows])

    def ordinary(self, points: Array, rows: Places, survey: Survey | None) -> PairColumn:
        """Return the distances that a survey of the paths decides."""
        if survey is None:
            return RecordColumn([None] * len(rows))
        u, boundary = points[rows], self.base.boundary
        found = ordinary_points(self.base, u, survey)
        confirmed, uppers = plain_ties(boundary, u[found.rows], found.nearest)
        radii = np.where(confirmed & (found.real_counts > 0), np.maximum(found.distances, uppers), np.nan)
        return EnumeratedColumn(self.base, len(u), found, radii)

    def margin_at(self, u: Array, rival: int | None, tracker: Tracker) -> PairMargin:
        """Return the distance from u to the nearest real critical point."""
        found = critical_points_at(self.base, u, tracker)
        if self.watcher is not None:
            self.watcher(rival, found)
        return _judged(rival, self.base.boundary, u, found)


def _judged(rival: int | None, boundary: Boundary, u: Array, found: CriticalPoints) -> PairMargin:
    """Return the nearest confirmed candidate as an upper bound; a nearer unconfirmed one makes the answer doubtful."""
    audit = found.audit
    notes = audit.findings + audit.remarks
    lower = upper = math.inf
    point: Array | None = None
    complete = audit.complete
    for index in np.flatnonzero(found.real):
        distance = float(found.distances[index])
        tie = confirmed_tie(boundary, u, found.points[index].real)
        lower = min(lower, max(0.0, distance - float(found.errors[index])))
        if tie is not None:
            point, upper = tie.point, max(distance, tie.upper - tie.reach)
            if tie.reach > LARGEST_REACH * distance:
                complete, upper, lower = False, tie.upper, max(0.0, min(lower, distance - tie.reach))
                notes = (f"the tie at distance {distance:.6g} lies between neighbouring doubles", *notes)
            break
        complete = False
        notes = (f"a tie at distance {distance:.6g} could not be confirmed in exact arithmetic", *notes)
    if complete and point is None:
        notes = ("no critical point is real: the boundary is empty over the reals",)
    return PairMargin(
        rival=rival,
        radius=upper,
        lower=(upper if complete else lower) if audit.complete else 0.0,
        upper=upper,
        point=point,
        method=ENUMERATED,
        complete=complete,
        complex_count=audit.found,
        real_count=audit.real,
        bound=audit.bound,
        notes=notes,
    )
