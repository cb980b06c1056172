"""The boundary between two classes: the real hypersurface {B = 0}."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.boundary.active_space import ActiveSpace, active_space
from polymargin.boundary.degree import exact_degree, generic_critical_count
from polymargin.boundary.formula import as_sympy, has_sympy, latex_of
from polymargin.boundary.metric import Metric
from polymargin.boundary.reduction import Reduction, reduce
from polymargin.boundary.sources import ExpressionSource, NetworkSource, Source
from polymargin.class_names import class_name
from polymargin.networks.network import Network
from polymargin.polynomials import Graph, Program, evaluate, flatten, gradient, hessian

if TYPE_CHECKING:
    from polymargin.boundary.parametric import ParametricBoundary

# Of an expression that `repr` shows.
MOST_CHARACTERS = 80


@dataclass(frozen=True, eq=False)
class Boundary:
    """A polynomial B whose zero set is a decision boundary.

    >>> circle = Boundary.from_expression("x**2 + y**2 - 1")
    >>> circle.degree, circle.dimension, circle([2.0, 0.0])
    (2, 2, 3.0)
    >>> circle
    Boundary(x**2 + y**2 - 1; 2 inputs)
    """

    source: Source
    name: str = field(default="B")
    metric: Metric | None = None  # Euclidean if None; `metric.in_metric` sets it for the functions that take metric=
    # What later packages compute from it, by keys of their own; it lives as long as the boundary.
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __repr__(self) -> str:
        name = self.name if len(self.name) <= MOST_CHARACTERS else f"{self.name[: MOST_CHARACTERS - 1]}…"
        return f"Boundary({name}; {self.dimension} input{'' if self.dimension == 1 else 's'})"

    @classmethod
    def from_network(cls, network: Network, label: int, rival: int) -> Boundary:
        """Return B = f_label − f_rival."""
        source = NetworkSource(network, label, rival)
        return cls(source, " against ".join(f"class {class_name(network, number)}" for number in (label, rival)))

    @classmethod
    @overload
    def from_expression(cls, expression: Any, variables: Any = None, *, parameters: None = None) -> Boundary: ...

    @classmethod
    @overload
    def from_expression(cls, expression: Any, variables: Any = None, *, parameters: Any) -> ParametricBoundary: ...

    @classmethod
    def from_expression(
        cls, expression: Any, variables: Any = None, *, parameters: Any = None
    ) -> Boundary | ParametricBoundary:
        """Return B from a string, a SymPy expression or an equation; `variables` fixes their order ('x y' or a list).

        With `parameters` ('a b' or a list) the other names are parameters, and the result is a ParametricBoundary.

        >>> Boundary.from_expression("a*x**2 + y**2 = 1", parameters="a").at(a=2)
        Boundary(a*x**2 + y**2 = 1, a = 2; 2 inputs)
        """
        if parameters is not None:
            from polymargin.boundary.parametric import ParametricBoundary

            return ParametricBoundary(expression, variables, parameters)
        source = ExpressionSource(expression, variables)
        return cls(source, source.text)

    @property
    def names(self) -> list[str]:
        """Return the names of the inputs: those of the expression, otherwise x1, x2, …."""
        if isinstance(self.source, ExpressionSource):
            return list(self.source.names)
        return [f"x{index}" for index in range(1, self.dimension + 1)]

    def sympy(self) -> Any:
        """Return B as a SymPy expression with exact coefficients, as factored as it was given.

        >>> Boundary.from_expression("(x + y/3)**2 - sqrt(2)").sympy()
        (x + y/3)**2 - sqrt(2)
        """
        return as_sympy(self.program, self.names)

    def latex(self) -> str:
        """Return B = 0 in LaTeX.

        >>> Boundary.from_expression("(x + y/3)**2 = sqrt(2)").latex()
        '\\\\left(x + \\\\frac{y}{3}\\\\right)^{2} - \\\\sqrt{2} = 0'
        """
        return f"{latex_of(self.sympy())} = 0"

    def _repr_latex_(self) -> str | None:
        """Return an expression of moderate length for notebooks; None if SymPy is missing."""
        if not isinstance(self.source, ExpressionSource) or len(self.name) > MOST_CHARACTERS or not has_sympy():
            return None
        return f"${self.latex()}$"

    @property
    def dimension(self) -> int:
        """Number of inputs."""
        return self.source.dimension

    @property
    def radicands(self) -> tuple[int, ...]:
        """Return the numbers under square roots among the coefficients and in the metric; empty if all of them are rational."""
        return (*self.source.radicands, *(() if self.metric is None else self.metric.radicands))

    @property
    def fingerprint(self) -> str:
        """Return a hash that changes with every coefficient and with the metric."""
        if self.metric is None:
            return self.source.fingerprint
        return hashlib.sha256(repr((self.source.fingerprint, self.metric)).encode()).hexdigest()

    @cached_property
    def degree(self) -> int:
        """Return the exact degree of B; −1 if B is the zero polynomial."""
        return exact_degree(self.source)

    @cached_property
    def space(self) -> ActiveSpace:
        """Return the directions on which B depends, for boundaries of degree at least one."""
        return active_space(self.source)

    @cached_property
    def reduction(self) -> Reduction:
        """Return active subspace and scaling, for boundaries of degree at least one."""
        return reduce(self.source, self.degree, self.space, self.metric)

    @property
    def critical_bound(self) -> int:
        """Return the most isolated critical points of hypersurfaces of this degree in this many active variables."""
        return generic_critical_count(self.space.dimension, self.degree)

    @cached_property
    def program(self) -> Program:
        """Return B in the original variables."""
        graph = Graph()
        return flatten(graph, [self.source.polynomial(graph.inputs(self.dimension))])

    @cached_property
    def _gradient_program(self) -> Program:
        graph = Graph()
        variables = graph.inputs(self.dimension)
        return flatten(graph, gradient(self.source.polynomial(variables), variables))

    @cached_property
    def _hessian_program(self) -> Program:
        graph = Graph()
        variables = graph.inputs(self.dimension)
        rows = hessian(self.source.polynomial(variables), variables)
        return flatten(graph, [entry for row in rows for entry in row])

    def hessian(self, point: ArrayLike) -> NDArray[np.float64]:
        """Return ∇²B at one point (n,)."""
        entries = evaluate(self._hessian_program, np.asarray(point, dtype=np.float64).tolist())
        return np.array(entries).reshape(self.dimension, self.dimension)

    def exact_value(self, point: Sequence[Fraction]) -> Fraction:
        """Return B at one point in rational arithmetic."""
        return Fraction(evaluate(self.program, point, lift=Fraction)[0])

    def exact_gradient(self, point: Sequence[Fraction]) -> list[Fraction]:
        """Return ∇B at one point in rational arithmetic."""
        return [Fraction(entry) for entry in evaluate(self._gradient_program, point, lift=Fraction)]

    def gradient(self, point: ArrayLike) -> NDArray[np.float64]:
        """Return ∇B at one point (n,)."""
        return np.array(evaluate(self._gradient_program, real_array(point, "the point").tolist()))

    def __call__(self, points: ArrayLike) -> NDArray[np.float64] | float:
        """B at one point (n,) or a batch (m, n)."""
        values = self.source.values(real_array(points, "the points"))
        return float(values) if values.ndim == 0 else values
