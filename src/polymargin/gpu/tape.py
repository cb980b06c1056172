"""The tape as a code generator reads it: the instructions of the CPU core, and those that see the parameters.

A homotopy moves the parameters of a program; its derivative along the way is that of the instructions that see a parameter, and
of a linear one only of the columns that do (cpp/program.hpp does the same).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.polynomials import Program
from polymargin.polynomials.steps import LINEAR, PRODUCT, SINGLE_ROWS, SQUARE

__all__ = ["LINEAR", "PRODUCT", "SINGLE_ROWS", "SQUARE", "Instruction", "Tape"]


@dataclass(frozen=True)
class Instruction:
    """Compute registers[target + r] for r < rows.

    `arguments[c][r]` is the argument of row r in column c; `bias[r]` and `factors[c][r]` are places among the coefficients, for
    linear instructions only.
    """

    operation: int
    target: int
    rows: int
    arguments: tuple[tuple[int, ...], ...]
    bias: tuple[int, ...] = ()
    factors: tuple[tuple[int, ...], ...] = ()

    @property
    def linear(self) -> bool:
        """Return whether the instruction is a linear combination."""
        return self.operation in (LINEAR, SINGLE_ROWS)

    @property
    def shared_arguments(self) -> bool:
        """Return whether all rows have the same arguments."""
        return self.operation == LINEAR

    def restricted(self, columns: list[int]) -> Instruction:
        """Return the tape with some of its columns and without constants."""
        arguments = tuple(self.arguments[c] for c in columns)
        return Instruction(
            self.operation, self.target, self.rows, arguments, (), tuple(self.factors[c] for c in columns)
        )


@dataclass(frozen=True)
class Tape:
    """A program with a symmetric Jacobian; `structure` names everything about it but the numbers."""

    inputs: int
    parameters: int
    registers: int
    constants: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    value_code: tuple[Instruction, ...]
    derivative_code: tuple[Instruction, ...]
    motion_code: tuple[Instruction, ...]
    values: tuple[int, ...]
    jacobian: tuple[tuple[int, ...], ...]  # registers, or -1 for zero
    structure: str

    @staticmethod
    def of(program: Program) -> Tape | None:
        """Return the tape of a program, None if the Jacobian is not symmetric."""
        encoded = program.encoded()
        size = program.input_count
        jacobian = encoded["jacobian_registers"].reshape(size, size)
        if (jacobian != jacobian.T).any():
            return None
        code = [_instruction(row, encoded["arguments"]) for row in encoded["code"].tolist()]
        value_code = tuple(code[: encoded["value_code"]])
        digest = hashlib.sha256()
        for name in ("code", "arguments", "value_registers", "jacobian_registers"):
            digest.update(encoded[name].tobytes())
        digest.update(repr((size, program.parameter_count, encoded["value_code"], len(program.constants))).encode())
        return Tape(
            inputs=size,
            parameters=program.parameter_count,
            registers=program.register_count,
            constants=encoded["constant_hi"],
            coefficients=encoded["coefficient_hi"],
            value_code=value_code,
            derivative_code=tuple(code[encoded["value_code"] :]),
            motion_code=_motion(value_code, range(size, size + program.parameter_count)),
            values=tuple(encoded["value_registers"].tolist()),
            jacobian=tuple(map(tuple, jacobian.tolist())),
            structure=digest.hexdigest(),
        )

    @property
    def first_constant(self) -> int:
        """Return the register of the first constant."""
        return self.inputs + self.parameters

    @property
    def moving(self) -> tuple[int, ...]:
        """Return registers that change with the parameters, the parameters first."""
        rows = (step.target + row for step in self.motion_code for row in range(step.rows))
        return (*range(self.inputs, self.first_constant), *rows)


def _instruction(row: list[int], arguments: NDArray[np.int32]) -> Instruction:
    operation, target, rows, columns, first, coefficients = row
    if operation == LINEAR:
        places = [(int(argument),) * rows for argument in arguments[first : first + columns]]
    else:
        count = {SINGLE_ROWS: columns, PRODUCT: 2, SQUARE: 1}[operation]
        places = [tuple(column) for column in arguments[first : first + count * rows].reshape(count, rows).tolist()]
    if operation in (PRODUCT, SQUARE):
        return Instruction(operation, target, rows, tuple(places))
    blocks = [tuple(range(coefficients + k * rows, coefficients + (k + 1) * rows)) for k in range(columns + 1)]
    return Instruction(operation, target, rows, tuple(places), blocks[0], tuple(blocks[1:]))


def _motion(code: tuple[Instruction, ...], parameters: range) -> tuple[Instruction, ...]:
    moves = set(parameters)
    found = []
    for step in code:
        moving = [c for c, column in enumerate(step.arguments) if moves.intersection(column)]
        if moving:
            moves.update(range(step.target, step.target + step.rows))
            found.append(step.restricted(moving) if step.linear else step)
    return tuple(found)
