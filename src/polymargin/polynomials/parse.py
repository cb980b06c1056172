"""Polynomials from text and from SymPy.

Text is Python syntax: names, numbers, + - * / ** sqrt(2) and parentheses, and one = for an equation, which stands for the
difference of its sides. A decimal such as 0.1 means the rational 1/10, not the nearest double. SymPy expressions and equations
are walked by their own structure, so SymPy itself is never imported here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from polymargin.errors import InputError
from polymargin.polynomials.expression import Expression, Graph, exact
from polymargin.polynomials.roots import square_root

# A power tower in a text from a stranger must not take the machine down.
LARGEST_EXPONENT = 1000
ROOT = "sqrt"


def parse_polynomial(source: Any, graph: Graph, names: Mapping[str, Expression]) -> Expression:
    """Parse a text or a SymPy expression as a polynomial."""
    value = _Text(source, graph, names).value() if isinstance(source, str) else _from_sympy(source, graph, names)
    return value if isinstance(value, Expression) else graph.constant(value)


def variable_names(source: Any, variables: str | Sequence[Any] | None) -> list[str]:
    """Return the names of the variables in order: as given, or the sorted ones that occur."""
    if variables is not None:
        names = variables.replace(",", " ").split() if isinstance(variables, str) else [str(v) for v in variables]
        if len(set(names)) != len(names) or not names:
            raise InputError(f"variables {variables!r}: expected at least one name, each name once")
        return names
    if isinstance(source, str):
        found = {node.id for node in ast.walk(_syntax(source)) if isinstance(node, ast.Name)} - {ROOT}
    else:
        found = {str(symbol) for symbol in getattr(source, "free_symbols", ())}
    if not isinstance(source, str) and _has_imaginary_unit(source):
        raise InputError(f"{str(source)[:200]!r} contains the imaginary unit; a boundary has real coefficients")
    if "I" in found and isinstance(source, str):
        raise InputError(
            f"the I in {source[:200]!r} may be the imaginary unit, and a boundary has real coefficients; "
            "if it is a variable, name all of them with variables='I x y'"
        )
    if not found:
        raise InputError(f"no variable in {str(source)!r}; name the variables with variables='x y'")
    return sorted(found)


def _python(text: str) -> str:
    """Return the text in Python syntax: ** for ^, == for =."""
    return re.sub(r"(?<![=<>!])=(?!=)", "==", text.strip().replace("^", "**"))


def _syntax(text: str) -> ast.Expression:
    try:
        return ast.parse(_python(text), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"cannot read the polynomial {text[:200]!r}: {error}") from None


class _Text:
    def __init__(self, text: str, graph: Graph, names: Mapping[str, Expression]) -> None:
        self.text = _python(text)
        self.tree = _syntax(text)
        self.graph = graph
        self.names = names

    def value(self) -> Any:
        try:
            match self.tree.body:
                case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                    return self._visit(left) - self._visit(right)
                case other:
                    return self._visit(other)
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
                return _divide(self.graph, self._visit(left), self._visit(right))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return _power(self.graph, self._visit(left), self._visit(right))
            case ast.Call(func=ast.Name(id="sqrt"), args=[argument], keywords=[]):
                return _root(self.graph, self._visit(argument))
        segment = ast.get_source_segment(self.text, node)
        raise InputError(f"{segment!r} is not part of a polynomial; use numbers, variables, + - * / ** sqrt(2)")


def _divide(graph: Graph, numerator: Any, denominator: Any) -> Any:
    if isinstance(denominator, Expression) and (square := graph.constant_value(denominator**2)):
        return numerator * denominator / square  # 1/√2 = √2/2
    if isinstance(denominator, Expression):
        raise InputError("division by a variable does not give a polynomial; multiply the equation out")
    if denominator == 0:
        raise InputError("division by zero in the polynomial")
    return numerator / denominator


def _root(graph: Graph, value: Any) -> Any:
    if isinstance(value, Expression):
        raise InputError(
            "sqrt of a variable or of another root is no polynomial; expected a rational number, such as sqrt(2)"
        )
    factor, radicand = square_root(value)
    return graph.root(radicand) * factor if radicand > 1 else factor


def _power(graph: Graph, base: Any, exponent: Any) -> Any:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 2:
        return _power(graph, _root(graph, base), Fraction(exponent.numerator))
    if isinstance(exponent, Fraction) and exponent == -1 and not (isinstance(base, Expression) and graph.degree(base)):
        return _divide(graph, Fraction(1), base)
    if isinstance(exponent, Expression) or exponent.denominator != 1 or not 0 <= exponent <= LARGEST_EXPONENT:
        raise InputError(f"exponent {exponent}: expected an integer from 0 to {LARGEST_EXPONENT}")
    return base ** int(exponent)


def _has_imaginary_unit(source: Any) -> bool:
    return any(getattr(atom, "is_imaginary", False) for atom in getattr(source, "atoms", tuple)())


def _from_sympy(node: Any, graph: Graph, names: Mapping[str, Expression]) -> Any:
    if getattr(node, "rel_op", None) == "==":  # sympy.Eq
        return _from_sympy(node.lhs, graph, names) - _from_sympy(node.rhs, graph, names)
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
        return sum(
            (_from_sympy(argument, graph, names) for argument in node.args[1:]), _from_sympy(node.args[0], graph, names)
        )
    if getattr(node, "is_Mul", False):
        product = _from_sympy(node.args[0], graph, names)
        for argument in node.args[1:]:
            product = product * _from_sympy(argument, graph, names)
        return product
    if getattr(node, "is_Pow", False):
        return _power(graph, _from_sympy(node.base, graph, names), _from_sympy(node.exp, graph, names))
    if hasattr(node, "as_expr") and node.as_expr() is not node:  # sympy.Poly
        return _from_sympy(node.as_expr(), graph, names)
    raise InputError(f"{node!s} is not part of a polynomial; use numbers, symbols, sums, products and powers")
