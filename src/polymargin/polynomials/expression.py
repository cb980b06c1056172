"""Polynomial expressions as a shared graph.

A polynomial is built from inputs and parameters by three operations: linear combination with constant
coefficients, product, square. A sum, a scaling, a dense layer are all linear combinations; an integer
power is a chain of squares and products. Equal subexpressions are the same node (hash-consing), so the
squares of a hidden layer are computed once for the value, the gradient and the Hessian.

Coefficients are exact rationals: a float weight is a dyadic rational and is taken as such. Rounding
happens only when a program is handed to floating-point arithmetic.

>>> graph = Graph()
>>> x, y = graph.inputs(2)
>>> (x + y) ** 2 == (y + x) ** 2
True
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polymargin.errors import InputError

Coefficient: TypeAlias = int | float | Fraction

ZERO, ONE = Fraction(0), Fraction(1)


class Kind(Enum):
    """The kinds of nodes."""

    INPUT = "input"
    PARAMETER = "parameter"
    LINEAR = "linear"
    PRODUCT = "product"
    SQUARE = "square"
    ROOT = "root"


class Expression:
    """A node of a graph. Arithmetic operators make new nodes; numbers are taken exactly."""

    __slots__ = ("graph", "number")

    def __init__(self, graph: Graph, number: int) -> None:
        self.graph = graph
        self.number = number

    def __repr__(self) -> str:
        return f"Expression({self.graph.kind(self).value} {self.number}, degree {self.graph.degree(self)})"

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.number == other.number and self.graph is other.graph

    def __add__(self, other: Any) -> Expression:
        if isinstance(other, Expression):
            return self.graph.linear([ONE, ONE], [self, other])
        return self.graph.linear([ONE], [self], exact(other))

    __radd__ = __add__

    def __neg__(self) -> Expression:
        return self.graph.linear([-ONE], [self])

    def __sub__(self, other: Any) -> Expression:
        if isinstance(other, Expression):
            return self.graph.linear([ONE, -ONE], [self, other])
        return self.graph.linear([ONE], [self], -exact(other))

    def __rsub__(self, other: Any) -> Expression:
        return self.graph.linear([-ONE], [self], exact(other))

    def __mul__(self, other: Any) -> Expression:
        if isinstance(other, Expression):
            return self.graph.product(self, other)
        return self.graph.linear([exact(other)], [self])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Expression:
        return self * (1 / exact(other))

    def __pow__(self, exponent: int) -> Expression:
        return self.graph.power(self, exponent)


def exact(value: Coefficient) -> Fraction:
    """Return the number as an exact rational; infinities and NaN are refused."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (int, np.integer)):
        return Fraction(int(value))
    if not math.isfinite(value):
        raise InputError(f"a coefficient is {value}; every coefficient must be a finite number")
    return Fraction(float(value))


class Linear(NamedTuple):
    """The content of a linear node: constant + Σ coefficients[i] · arguments[i] (node numbers, rising)."""

    coefficients: tuple[Fraction, ...]
    arguments: tuple[int, ...]
    constant: Fraction


class Graph:
    """Owner of the nodes. Nodes are numbered in the order of creation, so operands come first."""

    def __init__(self) -> None:
        self._kinds: list[Kind] = []
        self._contents: list[Any] = []
        self._degrees: list[int] = []
        self._numbers: dict[tuple[Kind, Any], int] = {}
        self.derived: dict[Any, Any] = {}  # gradients and Hessians that were asked for (`derivatives`)
        self._input_count = 0
        self._parameter_count = 0

    # -- leaves --------------------------------------------------------------------------------

    def inputs(self, count: int) -> list[Expression]:
        """Add `count` new variables."""
        first = self._input_count
        self._input_count += count
        return [self._node(Kind.INPUT, first + i, 1) for i in range(count)]

    def parameters(self, count: int) -> list[Expression]:
        """Add `count` new parameters, which have degree 0."""
        first = self._parameter_count
        self._parameter_count += count
        return [self._node(Kind.PARAMETER, first + i, 0) for i in range(count)]

    def constant(self, value: Coefficient) -> Expression:
        """Return a constant: a linear combination of no arguments."""
        return self._node(Kind.LINEAR, Linear((), (), exact(value)), 0)

    def root(self, radicand: int) -> Expression:
        """Return √radicand for a squarefree integer ≥ 1."""
        return self.constant(1) if radicand == 1 else self._node(Kind.ROOT, radicand, 0)

    # -- operations ----------------------------------------------------------------------------

    def linear(
        self,
        coefficients: Iterable[Coefficient],
        arguments: Iterable[Expression],
        constant: Coefficient = ZERO,
    ) -> Expression:
        """Return constant + Σ coefficients[i] · arguments[i], with constants and scalings among them folded in."""
        total = exact(constant)
        terms: dict[int, Fraction] = {}
        for coefficient, argument in zip(coefficients, arguments, strict=True):
            factor = exact(coefficient)
            if not factor:
                continue
            number = argument.number
            content = self._contents[number]
            if isinstance(content, Linear) and len(content.arguments) < 2:
                total += factor * content.constant
                if not content.arguments:
                    continue
                factor *= content.coefficients[0]
                number = content.arguments[0]
            previous = terms.get(number)
            terms[number] = factor if previous is None else previous + factor
        kept = sorted(number for number, factor in terms.items() if factor)
        if len(kept) == 1 and terms[kept[0]] == 1 and not total:
            return Expression(self, kept[0])
        content = Linear(tuple(terms[number] for number in kept), tuple(kept), total)
        degree = max((self._degrees[number] for number in kept), default=0)
        return self._node(Kind.LINEAR, content, degree)

    def product(self, left: Expression, right: Expression) -> Expression:
        """Return left · right; constant factors are pulled out so that other products can share the node."""
        left_factor, left_node = self._without_scale(left.number)
        right_factor, right_node = self._without_scale(right.number)
        if left_node is None:
            return self.linear([left_factor], [right])
        if right_node is None:
            return self.linear([right_factor], [left])
        factor = left_factor * right_factor
        if self._kinds[left_node] is self._kinds[right_node] is Kind.ROOT:  # √a √b = g √(ab/g²)
            first, second = self._contents[left_node], self._contents[right_node]
            common = math.gcd(first, second)
            return self.linear([factor * common], [self.root(first * second // common**2)])
        degree = self._degrees[left_node] + self._degrees[right_node]
        if left_node == right_node:
            result = self._node(Kind.SQUARE, left_node, degree)
        else:
            pair = (min(left_node, right_node), max(left_node, right_node))
            result = self._node(Kind.PRODUCT, pair, degree)
        return result if factor == 1 else self.linear([factor], [result])

    def power(self, base: Expression, exponent: int) -> Expression:
        """Return base ** exponent; even powers are squares, so that ball arithmetic keeps them nonnegative."""
        if not isinstance(exponent, (int, np.integer)) or exponent < 0:
            raise InputError(f"exponent {exponent!r}: powers of polynomials need an integer >= 0")
        if exponent == 0:
            return self.constant(1)
        if exponent == 1:
            return base
        half = self.power(base, exponent // 2)
        even = self.product(half, half)
        return even if exponent % 2 == 0 else self.product(even, base)

    # -- reading -------------------------------------------------------------------------------

    def kind(self, node: Expression | int) -> Kind:
        """Return the kind of a node."""
        return self._kinds[_number(node)]

    def content(self, node: Expression | int) -> Any:
        """Return the index of a leaf, radicand of a root, `Linear`, pair of factors, or the squared node."""
        return self._contents[_number(node)]

    def degree(self, node: Expression | int) -> int:
        """Return the degree in the inputs as the graph shows it; cancellation can only make it smaller."""
        return self._degrees[_number(node)]

    def operands(self, node: Expression | int) -> tuple[int, ...]:
        """Return the nodes from which a node is computed."""
        number = _number(node)
        kind, content = self._kinds[number], self._contents[number]
        if kind is Kind.LINEAR:
            return content.arguments  # type: ignore[no-any-return]
        if kind is Kind.PRODUCT:
            return content  # type: ignore[no-any-return]
        return (content,) if kind is Kind.SQUARE else ()

    def constant_value(self, node: Expression | int) -> Fraction | None:
        """Return the value of a constant node, None for any other."""
        content = self._contents[_number(node)]
        return content.constant if isinstance(content, Linear) and not content.arguments else None

    def leaves(self) -> list[int]:
        """Return all inputs and parameters."""
        return [n for n, kind in enumerate(self._kinds) if kind in (Kind.INPUT, Kind.PARAMETER)]

    def reachable(self, outputs: Sequence[Expression | int]) -> list[int]:
        """Return all nodes below the outputs, operands before their users."""
        seen: set[int] = set()
        stack = [_number(node) for node in outputs]
        while stack:
            number = stack.pop()
            if number not in seen:
                seen.add(number)
                stack.extend(self.operands(number))
        return sorted(seen)

    @property
    def input_count(self) -> int:
        """Return the number of inputs."""
        return self._input_count

    @property
    def parameter_count(self) -> int:
        """Return the number of parameters."""
        return self._parameter_count

    # -- internals -----------------------------------------------------------------------------

    def _without_scale(self, number: int) -> tuple[Fraction, int | None]:
        content = self._contents[number]
        if isinstance(content, Linear):
            if not content.arguments:
                return content.constant, None
            if len(content.arguments) == 1 and not content.constant:
                return content.coefficients[0], content.arguments[0]
        return ONE, number

    def _node(self, kind: Kind, content: Any, degree: int) -> Expression:
        key = (kind, content)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._kinds)
            self._kinds.append(kind)
            self._contents.append(content)
            self._degrees.append(degree)
        return Expression(self, number)


def _number(node: Expression | int) -> int:
    return node.number if isinstance(node, Expression) else node
