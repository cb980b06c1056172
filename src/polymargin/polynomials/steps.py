"""The steps of a program, and the instructions that the core makes of them.

Python keeps one step per product, square and linear combination with arguments of its own. The core gets them in groups:
one instruction for consecutive steps of one kind that do not need each other's results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.polynomials.roots import Root

# Operations of the core. Linear steps of one row make a group of rows with arguments of their own.
LINEAR, SINGLE_ROWS, PRODUCT, SQUARE = range(4)


@dataclass(frozen=True, slots=True)
class LinearStep:
    """registers[target + r] = constants[r] + Σ_c rows[r][c] · registers[arguments[c]]."""

    target: int
    arguments: tuple[int, ...]
    rows: tuple[tuple[Fraction, ...], ...]
    constants: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class ProductStep:
    """registers[target] = registers[left] · registers[right]."""

    target: int
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class SquareStep:
    """registers[target] = registers[argument]²."""

    target: int
    argument: int


Step: TypeAlias = LinearStep | ProductStep | SquareStep


class _Encoder:
    """Instructions (operation, target, rows, columns, arguments, coefficients) and what they refer to; see cpp/interface.hpp."""

    def __init__(self) -> None:
        self.code: list[tuple[int, int, int, int, int, int]] = []
        self.arguments: list[int] = []
        self.coefficients: list[Fraction] = []

    def append(self, steps: Sequence[Step]) -> None:
        """Append one instruction: a linear step of several rows, or a group of others."""
        first = steps[0]
        shape = (len(steps), 0)
        start = (len(self.arguments), len(self.coefficients))
        if isinstance(first, LinearStep):
            rows = [row for step in steps if isinstance(step, LinearStep) for row in step.rows]
            shape = (len(rows), len(first.arguments))
            self.coefficients.extend(c for step in steps if isinstance(step, LinearStep) for c in step.constants)
            self.coefficients.extend(row[column] for column in range(shape[1]) for row in rows)
        operands = [_operands(step) for step in steps]
        self.arguments.extend(operand for place in zip(*operands, strict=True) for operand in place)
        self.code.append((_operation(first), first.target, *shape, *start))


def encode(steps: Sequence[Step], value_length: int) -> dict[str, Any]:
    """Return the arrays of the core's program; no instruction reaches over the end of the values."""
    encoder = _Encoder()
    for group in _groups(steps[:value_length]):
        encoder.append(group)
    value_code = len(encoder.code)
    for group in _groups(steps[value_length:]):
        encoder.append(group)
    coefficient_hi, coefficient_lo = split(encoder.coefficients)
    return {
        "value_code": value_code,
        "code": np.array(encoder.code, dtype=np.int32).reshape(-1, 6),
        "arguments": np.array(encoder.arguments, dtype=np.int32),
        "coefficient_hi": coefficient_hi,
        "coefficient_lo": coefficient_lo,
    }


def _groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    group: list[Step] = []
    for step in steps:
        if group and not _belongs(step, group):
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def _belongs(step: Step, group: Sequence[Step]) -> bool:
    """Return whether the step can be the next row: same shape, next register, and independent of the rows before it."""
    first = group[0]
    operands = _operands(step)
    return (
        _operation(step) == _operation(first) != LINEAR
        and len(operands) == len(_operands(first))
        and step.target == first.target + len(group)
        and max(operands, default=-1) < first.target
    )


def _operation(step: Step) -> int:
    if isinstance(step, LinearStep):
        return LINEAR if len(step.rows) > 1 else SINGLE_ROWS
    return PRODUCT if isinstance(step, ProductStep) else SQUARE


def _operands(step: Step) -> tuple[int, ...]:
    if isinstance(step, LinearStep):
        return step.arguments
    return (step.left, step.right) if isinstance(step, ProductStep) else (step.argument,)


def split(numbers: Sequence[Fraction | Root]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each rational as a double and the double nearest to its remainder."""
    hi, lo = [], []
    for entry in numbers:
        number = entry.approximation() if isinstance(entry, Root) else entry
        head = number.numerator / number.denominator
        top, bottom = head.as_integer_ratio()
        # Division of integers rounds correctly, whatever their size.
        rest = number.numerator * bottom - top * number.denominator
        hi.append(head)
        lo.append(rest / (number.denominator * bottom) if rest else 0.0)
    return np.array(hi, dtype=np.float64), np.array(lo, dtype=np.float64)
