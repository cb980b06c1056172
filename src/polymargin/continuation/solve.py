"""`solve`: all isolated solutions of a square polynomial system, from a total-degree start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import DEFAULT_LIMIT, checked
from polymargin.continuation.endgame import limits
from polymargin.continuation.paths import PathEnd
from polymargin.continuation.same_points import SAME_LIMIT, counted, duplicates, real_points
from polymargin.continuation.settings import TrackerSettings
from polymargin.continuation.start_systems import random_phase, total_degree_start
from polymargin.continuation.tracker import Tracker
from polymargin.errors import InputError, TooManyPathsError
from polymargin.polynomials import Expression, Graph, flatten, jacobian, parse_polynomial, variable_names

# Fraction of the way that is left when the endgame begins.
ENDGAME_RADIUS = 0.05


@dataclass(frozen=True, eq=False)
class Solutions:
    """The isolated solutions of a system, how many paths end at each, and what became of every path."""

    variables: tuple[str, ...]
    points: NDArray[np.complex128]
    multiplicities: NDArray[np.int64]
    path_count: int
    ends: dict[PathEnd, int]
    seed: int

    def __len__(self) -> int:
        return len(self.points)

    @property
    def real(self) -> NDArray[np.float64]:
        """Return the real solutions."""
        return np.asarray(self.points[real_points(self.points)].real)

    def __repr__(self) -> str:
        ends = ", ".join(f"{count} {end.name.lower()}" for end, count in self.ends.items())
        return f"Solutions({len(self)} found by {self.path_count} paths: {ends}; seed {self.seed})"


@checked()
def solve(
    system: Sequence[Any],
    variables: Any = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    settings: TrackerSettings | None = None,
) -> Solutions:
    """Solve polynomials given as strings or SymPy expressions, as many as variables.

    The start system is x_i^{d_i} = c_i, so there are Π d_i paths. Paths without a regular end are judged by the endgame:
    they lead to multiple solutions, to infinity, or stay undecided, and are reported as such.

    >>> found = solve(["x**2 + y**2 - 5", "x*y - 2"])
    >>> sorted((found.real + 0.0).round(6).tolist())
    [[-2.0, -1.0], [-1.0, -2.0], [1.0, 2.0], [2.0, 1.0]]
    """
    if isinstance(system, str) or not len(system):
        raise InputError(f"system {system!r}: expected a list of equations, at least one")
    names = variable_names(system[0], variables) if variables is not None else _all_names(system)
    if len(names) != len(system):
        raise InputError(f"{len(system)} equations in {len(names)} variables; expected as many equations as variables")
    graph = Graph()
    x = graph.inputs(len(names))
    target = [parse_polynomial(equation, graph, dict(zip(names, x, strict=True))) for equation in system]
    for text, equation in zip(system, target, strict=True):
        if graph.degree(equation) < 1:
            raise InputError(f"equation {text!s} is constant; remove it")
    return solve_expressions(target, x, names, Tracker.of(settings, threads), seed=seed, limit=limit)


def solve_expressions(
    target: Sequence[Expression],
    x: Sequence[Expression],
    names: Sequence[str],
    tracker: Tracker,
    *,
    seed: int,
    limit: int,
) -> Solutions:
    """Solve as many nonconstant equations as there are unknowns x, which are all inputs of one graph."""
    graph = x[0].graph
    start_weight, target_weight = graph.parameters(2)
    levels = graph.parameters(len(x))
    degrees = [graph.degree(equation) for equation in target]
    path_count = int(np.prod([float(degree) for degree in degrees]))
    if path_count > limit:
        raise TooManyPathsError(
            f"the system has total degree {path_count:,}, more than the limit of {limit:,}; raise limit= to try"
        )
    generator = np.random.default_rng(seed)
    start = total_degree_start(degrees, generator)
    equations = [
        start_weight * (xi**degree - level) + target_weight * equation
        for xi, degree, level, equation in zip(x, degrees, levels, target, strict=True)
    ]
    matrix = [entry for row in jacobian(equations, x) for entry in row]
    program = flatten(graph, equations, matrix)
    begin = np.array([random_phase(generator), 0, *start.levels])
    end = np.array([0, 1, *start.levels])
    paths = tracker.follow(program, start.points, begin, end)
    regular = paths.converged[0].copy()
    regular[regular] = ~duplicates(paths.points[0][regular])
    rest = start.points[~regular]
    near = end + ENDGAME_RADIUS * (begin - end)
    approach = tracker.follow(program, rest, begin, near)
    arrived = approach.points[0][approach.converged[0]]
    ends = limits(program, arrived, end, begin - end, ENDGAME_RADIUS, tracker)
    infinite = ends.settled & ends.infinite.any(axis=1)
    multiple, counts = counted(ends.points[ends.settled & ~infinite], SAME_LIMIT)
    found = {
        PathEnd.CONVERGED: int(regular.sum()),
        PathEnd.MULTIPLE: int(counts.sum()),
        PathEnd.AT_INFINITY: int(infinite.sum()),
        PathEnd.UNDECIDED: len(rest) - int(ends.settled.sum()),
    }
    return Solutions(
        variables=tuple(names),
        points=np.concatenate([paths.points[0][regular], multiple]),
        multiplicities=np.concatenate([np.ones(int(regular.sum()), dtype=np.int64), counts]),
        path_count=path_count,
        ends={kind: count for kind, count in found.items() if count},
        seed=seed,
    )


def _all_names(system: Sequence[Any]) -> list[str]:
    return sorted({name for equation in system for name in variable_names(equation, None)})
