"""VNN-LIB 1.0: declare-const X_i and Y_j, then assertions; read by a small parser of its own."""

from __future__ import annotations

import re
from typing import Any

from polymargin.errors import InputError
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

_TOKEN = re.compile(r"[()]|[^\s()]+")
_NAME = re.compile(r"([XY])_([0-9]{1,7})")
MOST_VARIABLES = 1_000_000


def parse(text: str) -> Query:
    """Parse a query; X_0 … X_{n−1} and Y_0 … Y_{k−1} must be declared without gaps."""
    declared: dict[str, set[int]] = {"X": set(), "Y": set()}
    formulas: list[Formula] = []
    for statement in _statements(text):
        if not isinstance(statement, list) or not statement or not isinstance(statement[0], str):
            raise InputError(f"expected (declare-const …) or (assert …), got {_shown(statement)}")
        match statement:
            case ["declare-const", str(name), str(kind)]:
                variable = _variable(name)
                if kind != "Real" or variable.index in declared[variable.kind]:
                    raise InputError(f"(declare-const {name} {kind}): expected X_i or Y_j of type Real, each once")
                declared[variable.kind].add(variable.index)
            case ["assert", formula]:
                formulas.append(_formula(formula, declared))
            case _:
                raise InputError(f"{_shown(statement)}: expected (declare-const …) or (assert …)")
    for kind, numbers in declared.items():
        if not numbers or max(numbers) + 1 != len(numbers) or len(numbers) > MOST_VARIABLES:
            raise InputError(
                f"declared are {len(numbers)} variables {kind}_i; expected {kind}_0, {kind}_1, … without gaps"
            )
    if not formulas:
        raise InputError("no assertion in the file")
    inputs, outputs = (
        DeclaredTensor("X", "real", (len(declared["X"]),)),
        DeclaredTensor("Y", "real", (len(declared["Y"]),)),
    )
    return Query("1.0", "", inputs, outputs, all_of(formulas))


def _statements(text: str) -> list[Any]:
    """Return nested lists of words."""
    stack: list[list[Any]] = [[]]
    for line in text.splitlines():
        for token in _TOKEN.findall(line.partition(";")[0]):
            if token == "(":
                stack.append([])
            elif token == ")":
                if len(stack) < 2:
                    raise InputError("a closing parenthesis too many")
                finished = stack.pop()
                stack[-1].append(finished)
            else:
                stack[-1].append(token)
    if len(stack) > 1:
        raise InputError("a closing parenthesis is missing: the file is cut off")
    return stack[0]


def _formula(node: Any, declared: dict[str, set[int]]) -> Formula:
    match node:
        case ["and", *parts] if parts:
            return all_of([_formula(part, declared) for part in parts])
        case ["or", *parts] if parts:
            return any_of([_formula(part, declared) for part in parts])
        case [str(operator), left, right]:
            return compared(operator, _polynomial(left, declared), _polynomial(right, declared))
    raise InputError(f"{_shown(node)} is not a condition that is read")


def _polynomial(node: Any, declared: dict[str, set[int]]) -> VariablePolynomial:
    if isinstance(node, str):
        if node[0] not in "XY":
            return VariablePolynomial.constant(exact_number(node))
        variable = _variable(node)
        if variable.index not in declared[variable.kind]:
            raise InputError(f"{node} is not declared")
        return VariablePolynomial.of(variable)
    match node:
        case ["+", *parts] if parts:
            return total(_polynomial(part, declared) for part in parts)
        case ["-", part]:
            return -_polynomial(part, declared)
        case ["-", first, *parts]:
            return total([_polynomial(first, declared), *(-_polynomial(part, declared) for part in parts)])
        case ["*", *parts] if parts:
            result = VariablePolynomial.constant(exact_number("1"))
            for part in parts:
                result = result * _polynomial(part, declared)
            return result
    raise InputError(f"{_shown(node)} is not an expression that is read")


def _variable(name: str) -> Variable:
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(f"{name[:40]!r}: expected a variable X_i or Y_j")
    return Variable(match[1], int(match[2]))


def _shown(node: Any) -> str:
    text = node if isinstance(node, str) else f"({' '.join(_shown(part) for part in node[:3])}{' …' * (len(node) > 3)})"
    return text[:80]
