"""Programs over complex balls: every result is an enclosure.

python-flint's working precision is global to the process; `precision` is the one place that sets it, and it puts the old
value back. Linear instructions become matrix products, which python-flint does in C.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from threading import RLock
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.polynomials import Program
from polymargin.polynomials.roots import Root
from polymargin.polynomials.steps import LinearStep, SquareStep

# FLINT has one precision for the whole process, so that one thread at a time may work with it.
FLINT = RLock()
if hasattr(os, "register_at_fork"):  # a child starts with one thread and a free lock
    os.register_at_fork(before=FLINT.acquire, after_in_parent=FLINT.release, after_in_child=FLINT.release)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with `bits` bits inside the block, in one thread at a time."""
    with FLINT:
        before = flint.ctx.prec
        flint.ctx.prec = bits
        try:
            yield
        finally:
            flint.ctx.prec = before


class BallProgram:
    """A program with its coefficients as balls of the precision at the time it is made."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._steps: list[tuple[Any, ...]] = []
        for step in program.steps:
            if isinstance(step, LinearStep):
                matrix = flint.acb_mat([[ball(entry) for entry in row] for row in step.rows])
                constants = flint.acb_mat([[ball(entry)] for entry in step.constants])
                self._steps.append((step.target, step.arguments, matrix, constants))
            elif isinstance(step, SquareStep):
                self._steps.append((step.target, step.argument, step.argument))
            else:
                self._steps.append((step.target, step.left, step.right))

    def __call__(self, inputs: Sequence[Any], parameters: Sequence[Any]) -> tuple[Any, Any]:
        """Return enclosures of the system (a column) and of its Jacobian (a matrix) over the box `inputs`."""
        program = self._program
        registers: list[Any] = [None] * program.register_count
        registers[: program.input_count] = inputs
        first_constant = program.input_count + program.parameter_count
        registers[program.input_count : first_constant] = parameters
        for offset, constant in enumerate(program.constants):
            registers[first_constant + offset] = ball(constant)
        for step in self._steps:
            if len(step) == 4:
                target, arguments, matrix, constants = step
                column = flint.acb_mat([[registers[argument]] for argument in arguments])
                for row, value in enumerate((matrix * column + constants).entries()):
                    registers[target + row] = value
            else:  # not `** 2` for squares: python-flint's power of a ball around zero is NaN
                registers[step[0]] = registers[step[1]] * registers[step[2]]
        n = program.input_count
        values = flint.acb_mat([[registers[r]] for r in program.values])
        entries = [registers[r] for r in program.derivatives]
        return values, flint.acb_mat([entries[row * n : (row + 1) * n] for row in range(n)])


def ball(number: Fraction | Root | float) -> Any:
    """Convert an exact rational to a complex ball."""
    if isinstance(number, Root):
        return flint.acb(flint.arb(number.radicand).sqrt())
    exact = Fraction(number)
    return flint.acb(flint.fmpq(exact.numerator, exact.denominator))


def below(value: Any) -> float:
    """Return a double that is not above the ball."""
    return math.nextafter(float(value.lower()), -math.inf)


def above(value: Any) -> float:
    """Return a double that is not below the ball."""
    return math.nextafter(float(value.upper()), math.inf)


def distance_bounds(x: Sequence[Any], u: NDArray[np.float64]) -> tuple[float, float]:
    """Return bounds of ‖x − u‖ for real balls x, rounded outward, in the current precision."""
    total = flint.arb(0)
    for coordinate, centre in zip(x, u.tolist(), strict=True):
        difference = coordinate - flint.arb(centre)
        total += difference * difference
    distance = total.nonnegative_part().sqrt()
    return max(0.0, below(distance)), above(distance)
