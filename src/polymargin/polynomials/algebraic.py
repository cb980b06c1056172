"""Real numbers made of rational ones and square roots, such as 1 + sqrt(2)/3: entries of metrics."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from polymargin.errors import InputError
from polymargin.polynomials.evaluation import evaluate
from polymargin.polynomials.expression import Expression, Graph, exact
from polymargin.polynomials.parse import parse_polynomial
from polymargin.polynomials.program import flatten
from polymargin.polynomials.roots import radicands


class Algebraic:
    """A number given as text; equal if it is computed in the same way.

    >>> float(Algebraic("sqrt(2)/2"))
    0.7071067811865476
    """

    def __init__(self, text: str) -> None:
        self.text = text
        graph = Graph()
        value = parse_polynomial(text, graph, {})
        self.rational = graph.constant_value(value)
        self._program = flatten(graph, [value])
        self.radicands = radicands(self._program.constants)

    def __float__(self) -> float:
        return float(self.lifted(float))

    def __repr__(self) -> str:
        return f"Algebraic({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Algebraic) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def lifted(self, lift: Callable[[Any], Any]) -> Any:
        """Return the number in the arithmetic of a lift, see `evaluate`."""
        return evaluate(self._program, [], lift=lift)[0]

    def on(self, graph: Graph) -> Expression:
        """Return the number as a node of a graph."""
        return parse_polynomial(self.text, graph, {})

    def _key(self) -> tuple[Any, ...]:
        return self._program.steps, self._program.constants, self._program.values


ExactNumber: TypeAlias = Fraction | Algebraic


def exact_number(value: Any) -> ExactNumber:
    """Read a number exactly: integers, Fractions, floats as the dyadic rationals they are, texts such as "1/3" and "sqrt(2)".

    >>> exact_number("1/3"), exact_number("2*sqrt(9)"), exact_number("sqrt(2)")
    (Fraction(1, 3), Fraction(6, 1), Algebraic('sqrt(2)'))
    """
    if isinstance(value, str):
        number = Algebraic(value)
        return number if number.rational is None else number.rational
    if isinstance(value, Algebraic):
        return value
    try:
        return exact(value)
    except InputError:
        raise
    except (TypeError, ValueError):
        raise InputError(f"{value!r}: expected a real number") from None
