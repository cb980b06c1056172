"""Programs as SymPy expressions and in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from polymargin.errors import MissingExtraError
from polymargin.polynomials import Program, evaluate
from polymargin.polynomials.roots import Root


def as_sympy(program: Program, names: Sequence[str]) -> Any:
    """Return the first value of a program in symbols with these names."""
    sympy = _sympy()

    def lift(number: Fraction | Root) -> Any:
        if isinstance(number, Root):
            return sympy.sqrt(number.radicand)
        return sympy.Rational(number.numerator, number.denominator)

    return evaluate(program, [sympy.Symbol(name) for name in names], lift=lift)[0]


def sympy_of(text: str) -> Any:
    """Return an integer polynomial as python-flint prints it, as a SymPy expression."""
    return _sympy().sympify(text.replace("^", "**"), rational=True)


def latex_of(expression: Any) -> str:
    """Return LaTeX as SymPy writes it."""
    return str(_sympy().latex(expression))


def has_sympy() -> bool:
    """Return whether SymPy is installed."""
    return find_spec("sympy") is not None


def _sympy() -> Any:
    try:
        return import_module("sympy")
    except ImportError:
        raise MissingExtraError("formulas need SymPy; install it with: pip install sympy") from None
