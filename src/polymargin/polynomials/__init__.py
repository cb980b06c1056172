"""Polynomials: expressions, their derivatives, and programs that evaluate them over any number."""

from polymargin.polynomials.derivatives import gradient, hessian, jacobian
from polymargin.polynomials.evaluation import evaluate, modulo, to_ball, to_rational
from polymargin.polynomials.expression import Expression, Graph, exact
from polymargin.polynomials.parse import parse_polynomial, variable_names
from polymargin.polynomials.program import Program, flatten

__all__ = [
    "Expression",
    "Graph",
    "Program",
    "evaluate",
    "exact",
    "flatten",
    "gradient",
    "hessian",
    "jacobian",
    "modulo",
    "parse_polynomial",
    "to_ball",
    "to_rational",
    "variable_names",
]
