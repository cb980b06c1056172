"""Real critical points of many members of one family, all of them found by moving a generic member's.

The critical equations x − u + λ∇B(x; θ) = 0, B(x; θ) = ε are written once with parameters (θ, u, ε). The critical points of one
member (`starts`) move to generic complex parameters first. Between there and any real (θ, u, 0) the segment misses the
discriminant, so every path leads to a critical point of the target. (Real θ with complex u and ε would not do: whether
critical points leave for infinity depends on the leading form of B alone, and a segment of real forms does cross
degenerate ones.) All targets are one batch for the tracker.

A sample is complete if every path arrived at a point of its own and the nonreal points come in conjugate pairs. A survey of all
samples tells most of them; the others are looked at one by one. What is not complete is tried again from another generic member,
and what then remains is reported as missing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary.critical_system import critical_equations
from polymargin.continuation import Job, Paths, Tracker, duplicates
from polymargin.continuation.same_points import real_points, without_conjugate
from polymargin.errors import PolymarginError
from polymargin.expected.families import Family
from polymargin.expected.fields import Array
from polymargin.expected.starts import Start
from polymargin.polynomials import Graph, Program

# Generic members from which a sample is reached before it is given up as doubtful.
ATTEMPTS = 3


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
        """Critical points of a generic member, the complex ones included."""
        return len(self.generic_member(0).solutions)

    def generic_member(self, attempt: int) -> Start:
        """The critical points that the family knows of one member, moved to generic complex parameters."""
        if attempt not in self._generic:
            self._generic[attempt] = self._find_generic(self.seed + attempt)
        return self._generic[attempt]

    def count(self, parameters: Array, u: Array, tracker: Tracker) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Real critical points of members (T, P), and how many more each of them may have."""
        counts = np.zeros(len(parameters), dtype=np.int64)
        missing = np.full(len(parameters), np.iinfo(np.int64).max)
        start = self.generic_member(0)
        survey = next(tracker.survey([Job(self.program, start.solutions, start.parameters, _targets(parameters, u))]))
        counts[survey.rows], missing[survey.rows] = survey.real_counts, 0
        for attempt in range(ATTEMPTS):
            doubtful = np.flatnonzero(missing)
            if not len(doubtful):
                break
            paths = self._move(_targets(parameters[doubtful], u), attempt, tracker)
            for row, index in enumerate(doubtful):
                real, lost = _count_one(paths, row)
                if lost < missing[index]:
                    counts[index], missing[index] = real, lost
        return counts, missing

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

    def _move(self, targets: Array, attempt: int, tracker: Tracker) -> Paths:
        program, start = self.program, self.generic_member(attempt)
        if attempt == 0:
            return tracker.follow(program, start.solutions, start.parameters, targets)
        # Nearly degenerate members have critical points far out, where only double-doubles tell them from infinity.
        careful = tracker.tightened().far_sighted()
        return careful.track(program, start.solutions, start.parameters, targets, double_double=True)


def critical_program(family: Family) -> Program:
    """The critical equations of the family in the unknowns (x, λ), with parameters (θ, u, ε)."""
    graph = Graph()
    x = graph.inputs(family.dimension)
    (multiplier,) = graph.inputs(1)
    theta = graph.parameters(family.parameter_count)
    u = graph.parameters(family.dimension)
    (level,) = graph.parameters(1)
    value = family.polynomial(x, theta) - level
    return critical_equations(value, x, multiplier, u)


def _targets(parameters: Array, u: Array) -> Array:
    """Members (T, P) at the point u and level zero."""
    fixed = np.broadcast_to(np.append(u, 0.0), (len(parameters), len(u) + 1))
    return np.concatenate([parameters, fixed], axis=1)


def _count_one(paths: Paths, row: int) -> tuple[int, int]:
    """Real points among the ends of one target, and how many ends are in doubt."""
    arrived = paths.points[row][paths.converged[row]]
    distinct = arrived[~duplicates(arrived)][:, :-1]  # a real x has a real λ
    real = real_points(distinct)
    lost = len(paths.points[row]) - len(distinct)
    return int(real.sum()), lost + without_conjugate(distinct[~real])
