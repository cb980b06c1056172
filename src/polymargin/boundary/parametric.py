"""Boundaries with parameters: one expression, many boundaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from polymargin.boundary.boundary import Boundary
from polymargin.boundary.sources import ExpressionSource
from polymargin.errors import InputError
from polymargin.polynomials import exact, variable_names


class ParametricBoundary:
    """{B = 0} for every value of some parameters; `Boundary.from_expression(…, parameters=…)` makes one.

    >>> family = Boundary.from_expression("a*x**2 + y**2 - 1", parameters="a")
    >>> family
    ParametricBoundary(a*x**2 + y**2 - 1; inputs x y; parameters a)
    >>> [boundary([1.0, 1.0]) for _, boundary in family.over(a=[1, 2, 3])]
    [1.0, 2.0, 3.0]
    """

    def __init__(self, expression: Any, variables: Any, parameters: Any) -> None:
        self.expression = expression
        self.parameters = tuple(variable_names(expression, parameters))
        if variables is None:
            found = [name for name in variable_names(expression, None) if name not in self.parameters]
            if not found:
                raise InputError(f"every name in {str(expression)[:200]!r} is a parameter: a boundary needs an input")
            self.inputs = tuple(found)
        else:
            self.inputs = tuple(variable_names(expression, variables))
        if shared := set(self.inputs) & set(self.parameters):
            raise InputError(f"{' '.join(sorted(shared))}: expected a name to be an input or a parameter, not both")
        self.at(dict.fromkeys(self.parameters, 1))  # refuses unknown names at once

    def __repr__(self) -> str:
        return f"ParametricBoundary({self.expression}; inputs {' '.join(self.inputs)}; parameters {' '.join(self.parameters)})"

    def at(self, values: dict[str, Any] | None = None, **others: Any) -> Boundary:
        """Return the boundary for these values of the parameters, exactly as given."""
        given = {**(values or {}), **others}
        if set(given) != set(self.parameters):
            raise InputError(
                f"values for {' '.join(given) or 'nothing'}: expected one for each of {' '.join(self.parameters)}"
            )
        fixed = {name: exact(Fraction(value) if isinstance(value, str) else value) for name, value in given.items()}
        source = ExpressionSource(self.expression, list(self.inputs), fixed)
        name = ", ".join([source.text, *(f"{name} = {value}" for name, value in fixed.items())])
        return Boundary(source, name)

    def over(self, **grids: Iterable[Any]) -> Iterator[tuple[dict[str, Any], Boundary]]:
        """Yield all combinations of the values in the grids, the last parameter fastest, each with its boundary."""
        columns = {name: list(values) for name, values in grids.items()}
        for values in product(*columns.values()):
            chosen = dict(zip(columns, values, strict=True))
            yield chosen, self.at(chosen)
