"""VNN-LIB 2.0: parsed and type-checked by the standard's own parser (PyPI package vnnlib), then read off its tree.

The tree keeps every number as it was written, so decimals stay exact. One network with one input and one output is
read; hidden nodes and several networks are refused.
"""

from __future__ import annotations

import json
import re
from typing import Any

from polymargin.errors import InputError
from polymargin.networks.readers.foreign import package
from polymargin.vnnlib.expressions import (
    Formula,
    Variable,
    VariablePolynomial,
    all_of,
    any_of,
    compared,
    exact_number,
    total,
)
from polymargin.vnnlib.query import DeclaredTensor, Query

MOST_ENTRIES = 1_000_000
_COMPARISONS = {
    "GreaterEqual": ">=",
    "LessEqual": "<=",
    "GreaterThan": ">",
    "LessThan": "<",
    "Equal": "==",
    "NotEqual": "!=",
}
_FAMILIES = {"BF": "bfloat", "F": "float", "I": "int", "U": "uint"}


def parse(text: str) -> Query:
    """Parse a query of version 2.0 with the standard's parser."""
    vnnlib = package("vnnlib", "vnnlib")
    try:
        tree = vnnlib.parse_query_string(text)
    except Exception as error:  # the parser's own exception, or what its C++ code throws at numbers out of range
        raise InputError(f"not a valid VNN-LIB 2.0 query ({_reason(error)})") from None
    if len(tree.networks) != 1:
        raise InputError(f"{len(tree.networks)} networks; expected one")
    network = tree.networks[0]
    if network.hidden or len(network.inputs) != 1 or len(network.outputs) != 1:
        raise InputError(f"network {network.name!r}: expected one input, one output and no hidden nodes")
    inputs, outputs = _tensor(network.inputs[0]), _tensor(network.outputs[0])
    reader = _FormulaReader({inputs.name: ("X", inputs), outputs.name: ("Y", outputs)})
    cases = all_of([reader.formula(assertion.expr) for assertion in tree.assertions])
    return Query("2.0", network.name, inputs, outputs, cases)


def _tensor(definition: Any) -> DeclaredTensor:
    tensor = DeclaredTensor(definition.name, _type_name(definition.dtype.name), tuple(definition.shape))
    if any(length < 1 for length in tensor.shape) or tensor.size > MOST_ENTRIES:
        raise InputError(f"{tensor.name} has shape {tensor.shape}; expected at most {MOST_ENTRIES} entries")
    return tensor


def _type_name(name: str) -> str:
    """Return the standard's name of an element type: F32 is float32, Real is real."""
    match = re.fullmatch(r"(BF|F|I|U)([0-9]+)", name)
    return f"{_FAMILIES[match[1]]}{match[2]}" if match else name.lower()


class _FormulaReader:
    def __init__(self, tensors: dict[str, tuple[str, DeclaredTensor]]) -> None:
        self.tensors = tensors

    def formula(self, node: Any) -> Formula:
        name = type(node).__name__
        if name in _COMPARISONS:
            return compared(_COMPARISONS[name], self.polynomial(node.lhs), self.polynomial(node.rhs))
        if name == "And":
            return all_of([self.formula(part) for part in node.args])
        if name == "Or":
            return any_of([self.formula(part) for part in node.args])
        raise InputError(f"{str(node)[:80]} is not a condition that is read")

    def polynomial(self, node: Any) -> VariablePolynomial:
        match type(node).__name__:
            case "Var":
                return VariablePolynomial.of(self.variable(node))
            case "Float" | "Int" | "IntExpr" | "Literal":
                return VariablePolynomial.constant(exact_number(node.lexeme))
            case "Negate":
                return -self.polynomial(node.expr)
            case "Plus":
                return total(self.polynomial(part) for part in node.args)
            case "Minus":
                return total([self.polynomial(node.head), *(-self.polynomial(part) for part in node.rest)])
            case "Multiply":
                result = VariablePolynomial.constant(exact_number("1"))
                for part in node.args:
                    result = result * self.polynomial(part)
                return result
        raise InputError(f"{str(node)[:80]} is not an expression that is read")

    def variable(self, node: Any) -> Variable:
        kind, tensor = self.tensors[node.name]
        index = 0
        for position, length in zip(node.indices, tensor.shape, strict=True):
            index = index * length + position
        return Variable(kind, index)


def _reason(error: Exception) -> str:
    """Return one line of a parser's message, which is a sentence or a JSON list of errors."""
    text = str(error).strip()
    try:
        first = json.loads(text)["errors"][0]
        text = f"line {first['line']}: {first['message']} {first['offendingSymbol']!r}. {first['hint']}"
    except (ValueError, KeyError, IndexError, TypeError):
        pass
    return " ".join(text.split())[:300] or type(error).__name__
