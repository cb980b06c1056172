"""Polynomials from text and from SymPy.

Text is Python syntax: names, numbers, + - * / ** and parentheses. A decimal such as 0.1 means the
rational 1/10, not the nearest double. SymPy expressions are walked by their own structure, so SymPy
itself is never imported here.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from polymargin.errors import InputError
from polymargin.polynomials.expression import Expression, Graph, exact

# A power tower in a text from a stranger must not take the machine down.
LARGEST_EXPONENT = 1000


def parse_polynomial(source: Any, graph: Graph, names: Mapping[str, Expression]) -> Expression:
    """Parse a text or a SymPy expression as a polynomial."""
    value = _Text(source, names).value() if isinstance(source, str) else _from_sympy(source, names)
    return value if isinstance(value, Expression) else graph.constant(value)


def variable_names(source: Any, variables: str | Sequence[Any] | None) -> list[str]:
    """Return the names of the variables in order: as given, or the sorted ones that occur."""
    if variables is not None:
        names = variables.replace(",", " ").split() if isinstance(variables, str) else [str(v) for v in variables]
        if len(set(names)) != len(names) or not names:
            raise InputError(f"variables {variables!r}: expected at least one name, each name once")
        return names
    if isinstance(source, str):
        found = {node.id for node in ast.walk(_syntax(source)) if isinstance(node, ast.Name)}
    else:
        found = {str(symbol) for symbol in getattr(source, "free_symbols", ())}
    if "I" in found and isinstance(source, str):
        raise InputError(
            f"the I in {source[:200]!r} may be the imaginary unit, and a boundary has real coefficients; "
            "if it is a variable, name all of them with variables='I x y'"
        )
    if not found:
        raise InputError(f"no variable in {str(source)!r}; name the variables with variables='x y'")
    return sorted(found)


def _syntax(text: str) -> ast.Expression:
    try:
        return ast.parse(text.strip().replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"cannot read the polynomial {text[:200]!r}: {error}") from None


class _Text:
    def __init__(self, text: str, names: Mapping[str, Expression]) -> None:
        self.text = text.strip().replace("^", "**")
        self.tree = _syntax(text)
        self.names = names

    def value(self) -> Any:
        try:
            return self._visit(self.tree.body)
        except RecursionError:
            raise InputError("the polynomial is nested too deeply; expand or shorten it") from None

    def _visit(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | complex() | str() | bytes() | None):
                pass
            case ast.Constant():
                return Fraction(ast.get_source_segment(self.text, node) or str(node.value))
            case ast.Name(id=name):
                if name not in self.names:
                    known = " ".join(self.names)
                    raise InputError(f"unknown name {name!r} in the polynomial; the variables are: {known}")
                return self.names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._visit(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._visit(operand)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._visit(left) + self._visit(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self._visit(left) - self._visit(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._visit(left) * self._visit(right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return _divide(self._visit(left), self._visit(right))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return _power(self._visit(left), self._visit(right))
        segment = ast.get_source_segment(self.text, node)
        raise InputError(f"{segment!r} is not part of a polynomial; use numbers, variables, + - * / **")


def _divide(numerator: Any, denominator: Any) -> Any:
    if isinstance(denominator, Expression):
        raise InputError("division by a variable does not give a polynomial; multiply the equation out")
    if denominator == 0:
        raise InputError("division by zero in the polynomial")
    return numerator / denominator


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(exponent, Expression) or exponent.denominator != 1 or not 0 <= exponent <= LARGEST_EXPONENT:
        raise InputError(f"exponent {exponent}: expected an integer from 0 to {LARGEST_EXPONENT}")
    return base ** int(exponent)


def _from_sympy(node: Any, names: Mapping[str, Expression]) -> Any:
    if isinstance(node, (int, float, Fraction)):
        return exact(node)
    if getattr(node, "is_Symbol", False):
        if str(node) not in names:
            raise InputError(f"unknown symbol {node} in the polynomial; the variables are: {' '.join(names)}")
        return names[str(node)]
    if getattr(node, "is_Rational", False):
        return Fraction(int(node.p), int(node.q))
    if getattr(node, "is_Float", False):
        return exact(float(node))
    if getattr(node, "is_Add", False):
        return sum((_from_sympy(argument, names) for argument in node.args[1:]), _from_sympy(node.args[0], names))
    if getattr(node, "is_Mul", False):
        product = _from_sympy(node.args[0], names)
        for argument in node.args[1:]:
            product = product * _from_sympy(argument, names)
        return product
    if getattr(node, "is_Pow", False):
        return _power(_from_sympy(node.base, names), _from_sympy(node.exp, names))
    if hasattr(node, "as_expr") and node.as_expr() is not node:  # sympy.Poly
        return _from_sympy(node.as_expr(), names)
    raise InputError(f"{node!s} is not part of a polynomial; use numbers, symbols, sums, products and powers")
