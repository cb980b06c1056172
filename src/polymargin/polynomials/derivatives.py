"""Derivatives on the graph.

The gradient comes from one backward sweep, so it costs a small multiple of the value whatever the
number of inputs. The Hessian differentiates the gradient forward, one input at a time; the sharing of
the graph does the rest. Both are kept by the graph: several programs of one graph ask for the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from polymargin.polynomials.expression import ONE, Expression, Graph, Kind


def gradient(expression: Expression, variables: Sequence[Expression]) -> list[Expression]:
    """Return ∂expression/∂variable for each variable (inputs or parameters), by a backward sweep."""
    return list(_kept(_gradient, expression, variables))


def hessian(expression: Expression, variables: Sequence[Expression]) -> list[list[Expression]]:
    """Return the matrix of second derivatives; only one half is derived."""
    return [list(row) for row in _kept(_hessian, expression, variables)]


def _kept(derive: Any, expression: Expression, variables: Sequence[Expression]) -> Any:
    known = expression.graph.derived
    key = (derive, expression.number, tuple(variable.number for variable in variables))
    if key not in known:
        known[key] = derive(expression, variables)
    return known[key]


def _gradient(expression: Expression, variables: Sequence[Expression]) -> list[Expression]:
    graph = expression.graph
    terms: dict[int, list[tuple[Fraction, Expression]]] = {expression.number: [(ONE, graph.constant(1))]}
    adjoints: dict[int, Expression] = {}
    for number in reversed(graph.reachable([expression])):
        if number not in terms:
            continue
        parts = terms.pop(number)
        adjoint = graph.linear([c for c, _ in parts], [e for _, e in parts])
        adjoints[number] = adjoint
        kind, content = graph.kind(number), graph.content(number)
        if kind is Kind.LINEAR:
            for coefficient, argument in zip(content.coefficients, content.arguments, strict=True):
                terms.setdefault(argument, []).append((coefficient, adjoint))
        elif kind is Kind.PRODUCT:
            left, right = content
            terms.setdefault(left, []).append((ONE, adjoint * Expression(graph, right)))
            terms.setdefault(right, []).append((ONE, adjoint * Expression(graph, left)))
        elif kind is Kind.SQUARE:
            terms.setdefault(content, []).append((2 * ONE, adjoint * Expression(graph, content)))
    return [adjoints.get(variable.number, graph.constant(0)) for variable in variables]


class ForwardDerivative:
    """∂/∂variable of any number of expressions of one graph, with shared work."""

    def __init__(self, graph: Graph, variable: Expression) -> None:
        self._graph = graph
        self._known: dict[int, Expression] = {variable.number: graph.constant(1)}

    def __call__(self, expression: Expression) -> Expression:
        """Return the derivative of an expression."""
        for number in self._graph.reachable([expression]):
            if number not in self._known:
                self._known[number] = self._derive(number)
        return self._known[expression.number]

    def _derive(self, number: int) -> Expression:
        graph, known = self._graph, self._known
        kind, content = graph.kind(number), graph.content(number)
        if kind is Kind.LINEAR:
            return graph.linear(content.coefficients, [known[a] for a in content.arguments])
        if kind is Kind.PRODUCT:
            left, right = content
            return known[left] * Expression(graph, right) + known[right] * Expression(graph, left)
        if kind is Kind.SQUARE:
            return 2 * (known[content] * Expression(graph, content))
        return graph.constant(0)


def jacobian(expressions: Sequence[Expression], variables: Sequence[Expression]) -> list[list[Expression]]:
    """Return ∂expressions[i]/∂variables[j] as rows."""
    if not expressions:
        return []
    columns = []
    for variable in variables:
        derive = ForwardDerivative(expressions[0].graph, variable)
        columns.append([derive(expression) for expression in expressions])
    return [list(row) for row in zip(*columns, strict=True)]


def _hessian(expression: Expression, variables: Sequence[Expression]) -> list[list[Expression]]:
    first = gradient(expression, variables)
    size = len(variables)
    rows: list[list[Expression]] = [[expression] * size for _ in range(size)]
    for j, variable in enumerate(variables):
        derive = ForwardDerivative(expression.graph, variable)
        for i in range(j + 1):
            rows[i][j] = rows[j][i] = derive(first[i])
    return rows
