"""The critical equations of the distance to a boundary, as programs for the tracker.

Unknowns (y, λ), equations  y − u + λ∇B(y) = 0,  B(y) = 0,  Jacobian [[I + λH, ∇B], [∇Bᵀ, 0]].

Two programs come from one graph. `target` has parameters (u, ε): the point, and the level of the hypersurface
{B = ε}. Levels are what makes singular boundaries tractable (docs/theorems): nearby levels are smooth, and the nearest
point of {B = 0} is the limit of nearest points of {B = ε}. `blend` has s₀B₀ + s₁(B − ε) in place of B − ε, with the start
polynomial B₀ = Σ a_j y_j^D − c of closed-form critical points (see `continuation.start_systems`); its parameters are
(u, ε, s₀, s₁, a, c), so that the way from B₀ to B is a segment in the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary.boundary import Boundary
from polymargin.boundary.sources import Source
from polymargin.polynomials import Expression, Graph, Program, flatten, gradient, hessian
from polymargin.polynomials.expression import Linear


@dataclass(frozen=True, eq=False)
class CriticalSystem:
    """The critical equations of one boundary in reduced coordinates; the blend is made when it is first asked for."""

    target: Program
    _make_blend: Callable[[], Program] = field(repr=False)

    @cached_property
    def blend(self) -> Program:
        """Return the program with s₀B₀ + s₁B in place of B."""
        return self._make_blend()


def critical_system(boundary: Boundary) -> CriticalSystem:
    """Return both programs for a boundary of degree at least two."""
    unknowns = _unknowns(boundary, boundary.reduction.source)
    return CriticalSystem(critical_equations(*unknowns), lambda: blended_equations(*unknowns, boundary.degree))


def blend_along(boundary: Boundary, rows: NDArray[np.float64]) -> Program:
    """Return the blend in the coordinates z = rows · y, for orthonormal rows (m, m)."""
    rotated = boundary.reduction.source.on_subspace(rows.T, np.zeros(len(rows)))
    return blended_equations(*_unknowns(boundary, rotated), boundary.degree)


def _unknowns(boundary: Boundary, source: Source) -> tuple[Expression, list[Expression], Expression, list[Expression]]:
    """Return B − ε, y, λ and u on a new graph, for the polynomial of the boundary in some coordinates."""
    graph = Graph()
    y = graph.inputs(source.dimension)
    (multiplier,) = graph.inputs(1)
    u = graph.parameters(source.dimension)
    (level,) = graph.parameters(1)
    return source.polynomial(y) * (1.0 / boundary.reduction.factor) - level, y, multiplier, u


def critical_equations(
    value: Expression, y: Sequence[Expression], multiplier: Expression, u: Sequence[Expression]
) -> Program:
    """Return the critical equations of {value = 0} with their Jacobian."""
    slope = gradient(value, y)
    equations = [yi - ui + multiplier * gi for yi, ui, gi in zip(y, u, slope, strict=True)]
    rows = _multiplied(multiplier, hessian(value, y))
    return flatten(value.graph, [*equations, value], _bordered(_identity_plus(rows), slope))


def blended_equations(
    value: Expression, y: Sequence[Expression], multiplier: Expression, u: Sequence[Expression], degree: int
) -> Program:
    """Return the critical equations of s₀B₀ + s₁·value with B₀ = Σ a_j y_j^D − c; (s₀, s₁, a, c) become the last parameters."""
    graph, slope, curvature = value.graph, gradient(value, y), hessian(value, y)
    start_weight, target_weight = graph.parameters(2)
    slopes = graph.parameters(len(y))
    (start_level,) = graph.parameters(1)
    # With the weights multiplied into λ once, every entry needs one product per polynomial.
    start_multiplier, target_multiplier = multiplier * start_weight, multiplier * target_weight
    scaled = [a * yi ** (degree - 2) for a, yi in zip(slopes, y, strict=True)]
    start_slope = [degree * (s * yi) for s, yi in zip(scaled, y, strict=True)]
    start_value = sum((s * yi**2 for s, yi in zip(scaled, y, strict=True)), -start_level)
    blended_value = start_weight * start_value + target_weight * value
    blended_slope = [start_weight * g0 + target_weight * g1 for g0, g1 in zip(start_slope, slope, strict=True)]
    equations = [
        yi - ui + start_multiplier * g0 + target_multiplier * g1
        for yi, ui, g0, g1 in zip(y, u, start_slope, slope, strict=True)
    ]
    rows = _multiplied(target_multiplier, curvature)
    for i, s in enumerate(scaled):
        rows[i][i] = rows[i][i] + (degree * (degree - 1)) * (start_multiplier * s)
    return flatten(graph, [*equations, blended_value], _bordered(_identity_plus(rows), blended_slope))


def _multiplied(factor: Expression, rows: Sequence[Sequence[Expression]]) -> list[list[Expression]]:
    """Factor · rows, multiplied into the terms of the entries instead of the entries where that takes fewer products.

    The Hessian of a shallow network has an entry per pair of inputs, all of them combinations of one term per neuron.
    """
    graph = factor.graph
    entries = {entry.number for row in rows for entry in row if graph.constant_value(entry) is None}
    sums = {number: content for number in entries if isinstance(content := graph.content(number), Linear)}
    terms = (entries - sums.keys()).union(*(content.arguments for content in sums.values()))
    if len(terms) >= len(entries):
        return [[factor * entry for entry in row] for row in rows]

    def multiplied(entry: Expression) -> Expression:
        content = sums.get(entry.number)
        if content is None:
            return factor * entry
        products = [factor * Expression(graph, argument) for argument in content.arguments]
        return graph.linear((content.constant, *content.coefficients), (factor, *products))

    return [[multiplied(entry) for entry in row] for row in rows]


def _identity_plus(rows: Sequence[Sequence[Expression]]) -> list[list[Expression]]:
    return [[entry + int(i == j) for j, entry in enumerate(row)] for i, row in enumerate(rows)]


def _bordered(matrix: Sequence[Sequence[Expression]], border: Sequence[Expression]) -> list[Expression]:
    """Return [[matrix, border], [borderᵀ, 0]], row by row."""
    rows = [entry for row, last in zip(matrix, border, strict=True) for entry in (*row, last)]
    return [*rows, *border, border[0].graph.constant(0)]
