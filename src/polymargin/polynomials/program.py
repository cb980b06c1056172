"""Straight-line programs: a graph flattened for evaluation.

Registers hold the inputs, then the parameters, then the constants, then results in order. Three
instructions suffice (see `expression`). Linear combinations of the same arguments become one
instruction with several rows: a dense layer is one instruction, and so is the whole upper half of a
shallow network's Hessian.

Outputs come in two groups. The first `value_length` instructions compute the first group alone, which
is how a system and its Jacobian share one program; code that needs only the system runs the prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from polymargin import _core
from polymargin.polynomials.expression import ONE, ZERO, Expression, Graph, Kind, Linear
from polymargin.polynomials.roots import Root
from polymargin.polynomials.steps import LinearStep, ProductStep, SquareStep, Step, encode, split


@dataclass(frozen=True)
class Program:
    """A flattened graph. `values` and `derivatives` are the registers of the two groups of outputs."""

    input_count: int
    parameter_count: int
    constants: tuple[Fraction | Root, ...]
    register_count: int
    steps: tuple[Step, ...]
    value_length: int
    values: tuple[int, ...]
    derivatives: tuple[int, ...]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the compiled program and the cache, which do not travel to other processes."""
        return {name: value for name, value in self.__dict__.items() if name not in ("compiled", "cache")}

    @cached_property
    def cache(self) -> dict[Any, Any]:
        """Return the cache of later packages for this program, by keys of their own; it lives as long as the program."""
        return {}

    @cached_property
    def compiled(self) -> _core.Program:
        """Return the compiled program: a square system and its Jacobian, row by row."""
        return _core.Program(**self.encoded())

    def encoded(self) -> dict[str, Any]:
        """Return the arrays from which the core makes its program."""
        code = encode(self.steps, self.value_length)
        constant_hi, constant_lo = split(self.constants)
        first_constant = self.input_count + self.parameter_count
        zero = first_constant + self.constants.index(ZERO) if ZERO in self.constants else None
        return {
            "inputs": self.input_count,
            "parameters": self.parameter_count,
            "registers": self.register_count,
            "constant_hi": constant_hi,
            "constant_lo": constant_lo,
            "value_registers": np.array(self.values, dtype=np.int32),
            "jacobian_registers": np.array([-1 if r == zero else r for r in self.derivatives], dtype=np.int32),
            **code,
        }


def flatten(graph: Graph, values: Sequence[Expression], derivatives: Sequence[Expression] = ()) -> Program:
    """Return the program that computes `values`, and after them `derivatives`."""
    return _Flattener(graph, values, derivatives).program()


class _Flattener:
    def __init__(self, graph: Graph, values: Sequence[Expression], derivatives: Sequence[Expression]) -> None:
        self.graph = graph
        self.values = values
        self.derivatives = derivatives
        self.linears = self._merge_sums_used_once()
        self.registers: dict[int, int] = {}
        self.steps: list[Step] = []

    def program(self) -> Program:
        graph = self.graph
        outputs = [*self.values, *self.derivatives]
        self._place_leaves()
        constants = self._place_constants(outputs)
        self.next_register = len(self.registers)
        self._emit([node.number for node in self.values])
        value_length = len(self.steps)
        self._emit([node.number for node in self.derivatives])
        return Program(
            input_count=graph.input_count,
            parameter_count=graph.parameter_count,
            constants=constants,
            register_count=self.next_register,
            steps=tuple(self.steps),
            value_length=value_length,
            values=tuple(self.registers[node.number] for node in self.values),
            derivatives=tuple(self.registers[node.number] for node in self.derivatives),
        )

    def _place_leaves(self) -> None:
        """Place inputs and parameters in fixed registers, used or not."""
        graph = self.graph
        for number in graph.leaves():
            index = graph.content(number)
            offset = 0 if graph.kind(number) is Kind.INPUT else graph.input_count
            self.registers[number] = offset + index

    def _place_constants(self, outputs: Sequence[Expression]) -> tuple[Fraction | Root, ...]:
        """Place rational constants, which survive only as outputs, and roots, which survive everywhere."""
        constants: list[Fraction | Root] = []
        for number in self.graph.reachable(outputs):
            if self.graph.kind(number) is Kind.ROOT:
                self.registers[number] = len(self.registers)
                constants.append(Root(self.graph.content(number)))
        for node in outputs:
            value = self.graph.constant_value(node)
            if value is not None and node.number not in self.registers:
                self.registers[node.number] = len(self.registers)
                constants.append(value)
        return tuple(constants)

    def _merge_sums_used_once(self) -> dict[int, Linear]:
        """Merge a sum with a single user, itself a sum, into that user."""
        graph = self.graph
        order = graph.reachable([*self.values, *self.derivatives])
        users: dict[int, int] = dict.fromkeys(order, 0)
        for number in order:
            for operand in graph.operands(number):
                users[operand] += 1
        for node in (*self.values, *self.derivatives):
            users[node.number] += 1
        merged: dict[int, Linear] = {}
        for number in order:
            if graph.kind(number) is not Kind.LINEAR:
                continue
            content: Linear = graph.content(number)
            if any(argument in merged and users[argument] == 1 for argument in content.arguments):
                constant, terms = content.constant, dict[int, Fraction]()
                for factor, argument in zip(content.coefficients, content.arguments, strict=True):
                    if argument in merged and users[argument] == 1:
                        inner = merged[argument]
                        constant += factor * inner.constant
                        parts = zip(inner.coefficients, inner.arguments, strict=True)
                    else:
                        parts = zip((ONE,), (argument,), strict=True)
                    for inner_factor, inner_argument in parts:
                        terms[inner_argument] = terms.get(inner_argument, ZERO) + factor * inner_factor
                kept = tuple(sorted(terms))
                content = Linear(tuple(terms[argument] for argument in kept), kept, constant)
            merged[number] = content
        return merged

    def _operands(self, number: int) -> tuple[int, ...]:
        linear = self.linears.get(number)
        return self.graph.operands(number) if linear is None else linear.arguments

    def _emit(self, outputs: Sequence[int]) -> None:
        """Append the steps for the outputs, nodes of one depth and kind together: they do not need each other."""
        needed = self._needed(outputs)
        depths: dict[int, int] = {}
        for number in needed:
            depths[number] = 1 + max((depths.get(operand, 0) for operand in self._operands(number)), default=0)
        together: dict[tuple[int, ...], list[int]] = {}
        for number in needed:
            if number in self.linears:
                together.setdefault(self.linears[number].arguments, []).append(number)
        for number in sorted(needed, key=lambda number: (depths[number], self.graph.kind(number).value, number)):
            if number in self.registers:
                continue
            if number in self.linears:
                self._emit_linear(together[self.linears[number].arguments])
                continue
            target = self.registers[number] = self._take(1)
            operands = tuple(self.registers[operand] for operand in self.graph.operands(number))
            if self.graph.kind(number) is Kind.SQUARE:
                self.steps.append(SquareStep(target, operands[0]))
            else:
                self.steps.append(ProductStep(target, *operands))

    def _emit_linear(self, numbers: Sequence[int]) -> None:
        contents = [self.linears[number] for number in numbers]
        target = self._take(len(numbers))
        for row, number in enumerate(numbers):
            self.registers[number] = target + row
        arguments = tuple(self.registers[argument] for argument in contents[0].arguments)
        rows = tuple(content.coefficients for content in contents)
        self.steps.append(LinearStep(target, arguments, rows, tuple(content.constant for content in contents)))

    def _needed(self, outputs: Sequence[int]) -> list[int]:
        """Return nodes not yet computed that the outputs need, operands first."""
        seen: set[int] = set()
        stack = list(outputs)
        while stack:
            number = stack.pop()
            if number not in seen and number not in self.registers:
                seen.add(number)
                stack.extend(self._operands(number))
        return sorted(seen)

    def _take(self, count: int) -> int:
        first = self.next_register
        self.next_register += count
        return first
