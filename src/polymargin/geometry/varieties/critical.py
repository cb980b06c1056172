"""Critical points of the distance to a variety, and its nearest point.

Unknowns (x, μ), equations g_k(x) = 0 and Q(x − u) + Σ μ_k ∇g_k(x) = 0, with the g of `algebra.equations`: the equations
themselves, or as many random combinations of them as the codimension. A total-degree start system finds all isolated
solutions. Those of combinations are kept where all equations vanish. Their number is compared with the ED degree, counted by
algebra. Singular points of the variety are no solutions, but they can be nearest points. Whether there are any is decided by
algebra as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.boundary.metric import Metric
from polymargin.continuation import PathEnd, Tracker, distinct, real_points
from polymargin.continuation.solve import solve_expressions
from polymargin.enumeration.audit import Audit
from polymargin.enumeration.critical_points import EPSILON, CriticalPoints
from polymargin.errors import MissingExtraError
from polymargin.geometry.algebra.counting import exact_ed_degree
from polymargin.geometry.algebra.engines import EngineError, OutOfTimeError
from polymargin.polynomials import Expression, Graph, gradient
from polymargin.polynomials.algebraic import Algebraic, ExactNumber
from polymargin.standing import Standing

Array = NDArray[np.float64]

# Relative size of an equation's value that counts as zero.
ZERO = 1e-8
# Relative error of a solution that Newton's method has settled.
REGULAR_ERROR = 1e-13


@dataclass(frozen=True, eq=False)
class NearestPoint:
    """The nearest real point that was found, and its distance; infinite if there is none.

    standing   NUMERICAL if as many critical points were found as algebra counts, and the variety has no singular points;
               otherwise BRACKETED: the distance is an upper bound
    """

    point: Array | None
    distance: float
    standing: Standing
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"NearestPoint({self.distance:.10g}, {self.standing.name})"


@dataclass(frozen=True, eq=False)
class CriticalEquations:
    """What is asked: equations of a variety of some codimension, a point u (n,), and a metric, Euclidean if None."""

    equations: tuple[Boundary, ...]
    codimension: int
    u: Array
    metric: Metric | None = None

    def written(self, seed: int) -> tuple[list[Expression], list[Expression], list[str]]:
        """Return the equations, the unknowns (x, μ) and their names."""
        graph = Graph()
        x = graph.inputs(len(self.u))
        multipliers = graph.inputs(self.codimension)
        chosen = [equation.source.polynomial(x) for equation in self.equations]
        if len(chosen) > self.codimension:
            weights = np.random.default_rng([seed, 11]).normal(size=(self.codimension, len(chosen)))
            chosen = [graph.linear(row, chosen) for row in weights.tolist()]
        slopes = [gradient(polynomial, x) for polynomial in chosen]
        offsets = [coordinate - centre for coordinate, centre in zip(x, self.u.tolist(), strict=True)]
        if self.metric is not None:
            offsets = [_combined(graph, row, offsets) for row in self.metric.matrix]
        stationary = [
            sum((m * slope[axis] for m, slope in zip(multipliers, slopes, strict=True)), offset)
            for axis, offset in enumerate(offsets)
        ]
        names = [*(f"x{axis}" for axis in range(len(x))), *(f"mu{index}" for index in range(len(multipliers)))]
        return [*stationary, *chosen], [*x, *multipliers], names


def critical_points_of(
    asked: CriticalEquations, *, seed: int, threads: int | None, limit: int, timeout: float
) -> CriticalPoints:
    """Return all solutions, and how many algebra counts."""
    u, size = asked.u, len(asked.u)
    matrix = np.eye(size) if asked.metric is None else asked.metric.floats
    found = solve_expressions(*asked.written(seed), Tracker(threads=threads), seed=seed, limit=limit)
    regular = found.points[found.multiplicities == 1]
    if asked.codimension < len(asked.equations):
        regular = regular[_on_variety(asked.equations, regular[:, :size])]
    solutions = distinct(regular)
    x = solutions[:, :size]
    real = real_points(solutions)
    offsets = x.real - u
    distances = np.where(real, np.sqrt(np.einsum("ni,ij,nj->n", offsets, matrix, offsets)), np.inf)
    order = np.argsort(distances, kind="stable")
    remarks: tuple[str, ...] = ()
    try:
        options: dict[str, Any] = {"codimension": asked.codimension, "metric": asked.metric}
        counted = exact_ed_degree(asked.equations, **options, seed=seed, timeout=timeout).value
    except (EngineError, OutOfTimeError, MissingExtraError) as error:
        counted, remarks = len(solutions) + found.ends.get(PathEnd.UNDECIDED, 0), (f"not counted by algebra: {error}",)
    if (found.multiplicities > 1).any():
        remarks = (*remarks, "some critical points have merged: the point lies on the ED discriminant")
    audit = Audit(
        bound=found.path_count,
        generic=counted,
        found=len(solutions),
        real=int(real.sum()),
        ends={PathEnd.CONVERGED: len(solutions)},
        unjudged=max(counted - len(solutions), 0),
        remarks=remarks,
    )
    errors = REGULAR_ERROR * np.linalg.norm(x, axis=1) + EPSILON * np.abs(u).max()
    points = np.where(real[:, None], x.real, x)[order]
    ones = np.ones(len(solutions), dtype=np.int64)
    return CriticalPoints(points, solutions[order, size:], real[order], distances[order], errors[order], ones, audit)


def nearest_of(found: CriticalPoints, smooth: bool) -> NearestPoint:
    """Return the first of the critical points, and what speaks against its being the nearest point."""
    notes = list(found.audit.findings)
    if not smooth:
        notes.append("the variety may have singular points; one of them may be nearer")
    near = bool(len(found)) and bool(found.real[0])
    return NearestPoint(
        point=found.points[0].real.copy() if near else None,
        distance=float(found.distances[0]) if near else math.inf,
        standing=Standing.NUMERICAL if found.audit.complete and smooth else Standing.BRACKETED,
        notes=tuple(notes),
    )


def _combined(graph: Graph, row: Sequence[ExactNumber], terms: Sequence[Expression]) -> Expression:
    """Return Σ row[i] · terms[i]."""
    products = [
        term * (entry.on(graph) if isinstance(entry, Algebraic) else entry)
        for entry, term in zip(row, terms, strict=True)
    ]
    return graph.linear([1] * len(products), products)


def _on_variety(equations: Sequence[Boundary], points: NDArray[np.complex128]) -> NDArray[np.bool_]:
    """Return which points satisfy all equations, relative to the size of their terms near the point."""
    keep = np.ones(len(points), dtype=bool)
    for equation in equations:
        values = np.abs(equation.source.values(points))
        sizes = equation.source.noise(np.abs(points)) / EPSILON
        keep &= values <= ZERO * np.where(np.isfinite(sizes), sizes, 1 + np.abs(points).max(axis=1) ** equation.degree)
    return keep
