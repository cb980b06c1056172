"""`solve`: all isolated solutions of a square polynomial system, from a total-degree start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation.paths import PathEnd
from polymargin.continuation.settings import TrackerSettings
from polymargin.continuation.start_systems import random_phase, total_degree_start
from polymargin.continuation.tracking import duplicates, follow
from polymargin.errors import InputError, TooManyPathsError
from polymargin.polynomials import Graph, flatten, jacobian, parse_polynomial, variable_names

DEFAULT_LIMIT = 200_000


@dataclass(frozen=True, eq=False)
class Solutions:
    """The regular solutions of a system and what became of every path."""

    variables: tuple[str, ...]
    points: NDArray[np.complex128]
    path_count: int
    ends: dict[PathEnd, int]
    coinciding: int
    seed: int

    def __len__(self) -> int:
        return len(self.points)

    @property
    def real(self) -> NDArray[np.float64]:
        """The real solutions."""
        size = 1 + np.abs(self.points).max(axis=1, initial=0.0)
        return np.asarray(self.points[np.abs(self.points.imag).max(axis=1, initial=0.0) <= 1e-9 * size].real)

    def __repr__(self) -> str:
        ends = ", ".join(f"{count} {end.name.lower()}" for end, count in self.ends.items())
        return f"Solutions({len(self)} found by {self.path_count} paths: {ends}; seed {self.seed})"


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

    The start system is x_i^{d_i} = c_i, so there are Π d_i paths; where the system has fewer solutions the
    remaining paths diverge and are reported as such.

    >>> found = solve(["x**2 + y**2 - 5", "x*y - 2"])
    >>> sorted((found.real + 0.0).round(6).tolist())
    [[-2.0, -1.0], [-1.0, -2.0], [1.0, 2.0], [2.0, 1.0]]
    """
    names = variable_names(system[0], variables) if variables is not None else _all_names(system)
    if len(names) != len(system):
        raise InputError(f"{len(system)} equations in {len(names)} variables; a square system is needed")
    graph = Graph()
    x = graph.inputs(len(names))
    start_weight, target_weight = graph.parameters(2)
    levels = graph.parameters(len(names))
    target = [parse_polynomial(equation, graph, dict(zip(names, x, strict=True))) for equation in system]
    degrees = [graph.degree(equation) for equation in target]
    if min(degrees) < 1:
        raise InputError(f"equation {system[degrees.index(min(degrees))]!s} is constant; remove it")
    path_count = int(np.prod([float(degree) for degree in degrees]))
    if path_count > limit:
        raise TooManyPathsError(f"the system has total degree {path_count:,}, more than the limit of {limit:,}")
    generator = np.random.default_rng(seed)
    start = total_degree_start(degrees, generator)
    equations = [
        start_weight * (xi**degree - level) + target_weight * equation
        for xi, degree, level, equation in zip(x, degrees, levels, target, strict=True)
    ]
    matrix = [entry for row in jacobian(equations, x) for entry in row]
    paths = follow(
        flatten(graph, equations, matrix),
        start.points,
        np.array([random_phase(generator), 0, *start.levels]),
        np.array([0, 1, *start.levels]),
        settings=settings or TrackerSettings(),
        threads=threads,
    )
    arrived = paths.points[0][paths.converged[0]]
    twice = duplicates(arrived)
    return Solutions(tuple(names), arrived[~twice], path_count, paths.counts(), int(twice.sum()), seed)


def _all_names(system: Sequence[Any]) -> list[str]:
    return sorted({name for equation in system for name in variable_names(equation, None)})
