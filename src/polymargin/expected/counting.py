"""Real critical points of many members of one family, all of them found by moving a generic member's.

The critical equations x − u + λ∇B(x; θ) = 0, B(x; θ) = ε are written once with parameters (θ, u, ε). The critical points of one
member (`starts`) move to generic complex parameters first. Between there and any real (θ, u, 0) the segment misses the
discriminant, so every path leads to a critical point of the target. (Real θ with complex u and ε would not do: whether
critical points leave for infinity depends on the leading form of B alone, and a segment of real forms does cross
degenerate ones.) All targets are one batch for the tracker.

A sample is complete when as many different points are known as a generic member has, conjugates included (`Gathered`). A sweep
of paths over all samples completes most of them, sweeps from other generic members most of the others: a path is lost where it
passes far out, and those from elsewhere pass elsewhere. What is still open has points so far out that doubles cannot tell them;
there double-doubles take over the paths that were lost, at last with tighter tolerances. Where anything was unusual, one more
sweep has to bring nothing new: a family of critical points, of which every path finds another one, does not pass. What remains
is reported as missing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary.critical_system import critical_equations
from polymargin.continuation import Gathered, Job, Paths, Tracker, duplicates
from polymargin.continuation.survey import LARGEST_CONDITION
from polymargin.errors import PolymarginError
from polymargin.expected.families import Family
from polymargin.expected.starts import ComplexArray, Start
from polymargin.expected.tangent import Array
from polymargin.polynomials import Graph, Program

# Generic members from which paths are swept in doubles; the next one confirms what they found.
SWEEPS = 4


class MemberCounter:
    """Counts the real critical points of members of one family.

    It owns what all members share, the critical equations and the generic members, found when they are first needed. It travels
    to other processes with what it has found.
    """

    def __init__(self, family: Family, seed: int) -> None:
        self.family = family
        self.seed = seed
        self.program = critical_program(family)
        self._generic: dict[int, Start] = {}

    @property
    def complex_count(self) -> int:
        """Return the critical points of a generic member, the complex ones included."""
        return len(self.generic_member(0).solutions)

    def generic_member(self, attempt: int) -> Start:
        """Return the critical points that the family knows of one member, moved to generic complex parameters."""
        if attempt not in self._generic:
            self._generic[attempt] = self._find_generic(self.seed + attempt)
        return self._generic[attempt]

    def count(self, parameters: Array, u: Array, tracker: Tracker) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the real critical points of members (T, P), and how many more each of them may have."""
        search = _Search(self, _targets(parameters, u), tracker.workers)
        sweeping = tracker.giving_up()
        unusual = search.sweep(np.arange(len(parameters)), sweeping.hasty())
        for _ in range(1, SWEEPS):
            search.sweep(search.open_rows(), sweeping.rough())
        # The conjugate of an end is not worth a path of its own: half of the paths often find all.
        search.follow_lost(tracker.far_sighted(), lambda number: number % 2 == 1)
        search.follow_lost(tracker.far_sighted(), lambda number: number % 2 == 0)
        search.follow_lost(tracker.hasty().tightened().far_sighted(), lambda number: number > 0)
        search.sweep(unusual, sweeping.rough())
        return search.known.real_counts.astype(np.int64), search.known.missing

    def _find_generic(self, seed: int) -> Start:
        family = self.family
        generator = np.random.default_rng([20268, seed])
        start = family.start(seed)
        real_part, imaginary_part = family.sample(2, generator)
        rest = generator.standard_normal((2, family.dimension + 1))
        parameters = np.concatenate([real_part + 1j * imaginary_part, rest[0] + 1j * rest[1]])
        paths = Tracker().follow(self.program, start.solutions, start.parameters, parameters)
        if not paths.converged.all() or duplicates(paths.points[0]).any():
            raise PolymarginError(
                f"the critical points of a generic member of {family} were not all found; try another seed"
            )
        return Start(parameters, paths.points[0])


class _Search:
    """The search for all critical points of members, given as targets (T, P).

    known   the points
    sweeps  the paths of each sweep
    fewest  (T,) how many of its paths the sweep lost that lost fewest,
    origin  (T,) the number of that sweep, and of the generic member from which it began
    place   (T,) where it has the member
    """

    def __init__(self, counter: MemberCounter, targets: ComplexArray, threads: int) -> None:
        self.counter = counter
        self.targets = targets
        self.threads = threads
        self.known = Gathered(len(targets), counter.complex_count, counter.family.dimension + 1)
        self.sweeps: list[Paths] = []
        self.fewest = np.full(len(targets), counter.complex_count + 1)
        self.origin, self.place = np.zeros((2, len(targets)), dtype=np.intp)

    def open_rows(self) -> NDArray[np.intp]:
        """Return the members with points that are not known."""
        return np.flatnonzero(self.known.counts < self.counter.complex_count)

    def sweep(self, rows: NDArray[np.intp], tracker: Tracker) -> NDArray[np.intp]:
        """Follow all paths to some of the members in doubles; those of them that are open, or have nearly singular points."""
        if not len(rows):
            return rows
        attempt = len(self.sweeps)
        start = self.counter.generic_member(attempt)
        targets = self.targets if len(rows) == len(self.targets) else self.targets[rows]  # many bytes
        paths = tracker.track(self.counter.program, start.solutions, start.parameters, targets)
        self.known.add(rows, paths, self.threads)
        self.sweeps.append(paths)
        lost = (~paths.converged).sum(axis=1)
        better = np.flatnonzero(lost < self.fewest[rows])
        mine = rows[better]
        self.fewest[mine], self.origin[mine], self.place[mine] = lost[better], attempt, better
        singular = (paths.converged & ~(paths.condition < LARGEST_CONDITION)).any(axis=1)
        return np.asarray(rows[singular | (self.known.counts[rows] != self.counter.complex_count)])

    def follow_lost(self, tracker: Tracker, which: Callable[[NDArray[np.int64]], NDArray[np.bool_]]) -> None:
        """Continue lost paths to open members in double-doubles, from where they were lost.

        `which` says which of them, by their number among the lost ones of their member.
        """
        rows = self.open_rows()
        groups = [rows[self.origin[rows] == attempt] for attempt in range(len(self.sweeps))]
        jobs = []
        for attempt, mine in enumerate(groups):
            start = self.counter.generic_member(attempt)
            stopped = self.sweeps[attempt].to(self.place[mine])
            lost = ~stopped.converged
            selected = lost & which(np.cumsum(lost, axis=1))
            targets = self.targets[mine]
            jobs.append(Job(self.counter.program, start.solutions, start.parameters, targets, selected, stopped))
        for mine, job, paths in zip(groups, jobs, tracker.run(jobs, double_double=True), strict=True):
            self.known.add(mine, paths, self.threads, job.selected)


def critical_program(family: Family) -> Program:
    """Return the critical equations of the family in the unknowns (x, λ), with parameters (θ, u, ε)."""
    graph = Graph()
    x = graph.inputs(family.dimension)
    (multiplier,) = graph.inputs(1)
    theta = graph.parameters(family.parameter_count)
    u = graph.parameters(family.dimension)
    (level,) = graph.parameters(1)
    value = family.polynomial(x, theta) - level
    return critical_equations(value, x, multiplier, u)


def _targets(parameters: Array, u: Array) -> ComplexArray:
    """Return members (T, P) at the point u and level zero."""
    count, size = parameters.shape
    targets = np.empty((count, size + len(u) + 1), dtype=np.complex128)
    targets[:, :size], targets[:, size:-1], targets[:, -1] = parameters, u, 0.0
    return targets
