"""The critical equations of the distance to a boundary, as programs for the tracker.

Unknowns (y, λ), equations  y − u + λ∇B(y) = 0,  B(y) = 0,  Jacobian [[I + λH, ∇B], [∇Bᵀ, 0]].

Two programs: `target` has the point u as its parameters and B fixed. `blend` has B = s₀B₀ + s₁B₁ with the
start polynomial B₀ = Σ a_j y_j^D − c of closed-form critical points (see `continuation.start_systems`);
its parameters are (s₀, s₁, u, a, c), so that the way from B₀ to B₁ is a segment in the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from polymargin.boundary.boundary import Boundary
from polymargin.polynomials import Expression, Graph, Program, flatten, gradient, hessian


def target_program(boundary: Boundary) -> Program:
    """Critical equations in reduced coordinates with parameters u."""
    reduction = boundary.reduction
    graph = Graph()
    y = graph.inputs(reduction.dimension)
    (multiplier,) = graph.inputs(1)
    u = graph.parameters(reduction.dimension)
    polynomial = reduction.source.polynomial(y) * (1.0 / reduction.factor)
    return _critical_program(polynomial, y, multiplier, u)


def blend_program(boundary: Boundary) -> Program:
    """Critical equations of s₀B₀ + s₁B with parameters (s₀, s₁, u, a, c)."""
    reduction = boundary.reduction
    graph = Graph()
    y = graph.inputs(reduction.dimension)
    (multiplier,) = graph.inputs(1)
    start_weight, target_weight = graph.parameters(2)
    u = graph.parameters(reduction.dimension)
    slopes = graph.parameters(reduction.dimension)
    (level,) = graph.parameters(1)
    start = -level
    for slope, variable in zip(slopes, y, strict=True):
        start = start + slope * variable**boundary.degree
    polynomial = reduction.source.polynomial(y) * (1.0 / reduction.factor)
    return _critical_program(start_weight * start + target_weight * polynomial, y, multiplier, u)


def _critical_program(
    polynomial: Expression, y: Sequence[Expression], multiplier: Expression, u: Sequence[Expression]
) -> Program:
    graph = polynomial.graph
    slope = gradient(polynomial, y)
    curvature = hessian(polynomial, y)
    equations = [yi - ui + multiplier * gi for yi, ui, gi in zip(y, u, slope, strict=True)]
    jacobian: list[Expression] = []
    for i, row in enumerate(curvature):
        jacobian += [multiplier * entry + int(i == j) for j, entry in enumerate(row)]
        jacobian.append(slope[i])
    jacobian += [*slope, graph.constant(0)]
    return flatten(graph, [*equations, polynomial], jacobian)
