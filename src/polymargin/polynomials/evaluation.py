"""Running a program over any kind of number.

The numbers may be floats or complex numbers, NumPy arrays of them (one entry per point), Fractions,
python-flint balls or residues modulo a prime: anything with + and * between its own kind. `lift` turns
an exact coefficient into that kind; it is where rounding is decided. This is the reference for the C++
core and the route to exact and certified arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from polymargin.errors import InputError
from polymargin.polynomials.program import Program
from polymargin.polynomials.roots import Root
from polymargin.polynomials.steps import LinearStep, SquareStep

Number = TypeVar("Number")


def evaluate(
    program: Program,
    inputs: Sequence[Any],
    parameters: Sequence[Any] = (),
    *,
    lift: Callable[[Any], Any] = float,
    derivatives: bool = False,
) -> list[Any]:
    """Return the values of the program, followed by its derivatives if wanted.

    >>> from polymargin.polynomials import Graph, flatten
    >>> graph = Graph()
    >>> x, y = graph.inputs(2)
    >>> program = flatten(graph, [x**2 + y / 3])
    >>> evaluate(program, [Fraction(1, 2), Fraction(1)], lift=Fraction)
    [Fraction(7, 12)]
    """
    registers: list[Any] = [None] * program.register_count
    first_constant = program.input_count + program.parameter_count
    registers[: program.input_count] = inputs
    registers[program.input_count : first_constant] = parameters
    for offset, constant in enumerate(program.constants):
        if lift is Fraction and isinstance(constant, Root):
            raise InputError(
                f"sqrt({constant.radicand}) is no rational number: there is no exact answer for this polynomial"
            )
        registers[first_constant + offset] = lift(constant)
    for step in program.steps if derivatives else program.steps[: program.value_length]:
        if isinstance(step, LinearStep):
            arguments = [registers[argument] for argument in step.arguments]
            for row, (coefficients, constant) in enumerate(zip(step.rows, step.constants, strict=True)):
                total = lift(constant)
                for coefficient, argument in zip(coefficients, arguments, strict=True):
                    if coefficient:
                        total = total + lift(coefficient) * argument
                registers[step.target + row] = total
        elif isinstance(step, SquareStep):
            value = registers[step.argument]
            registers[step.target] = value * value
        else:
            registers[step.target] = registers[step.left] * registers[step.right]
    outputs = program.values + program.derivatives if derivatives else program.values
    return [registers[output] for output in outputs]


def to_rational(number: Fraction | Root) -> Any:
    """Convert an exact rational to python-flint's type."""
    import flint

    if isinstance(number, Root):
        raise InputError(f"sqrt({number.radicand}) is no rational number: there is no exact answer for this polynomial")
    return flint.fmpq(number.numerator, number.denominator)


def to_ball(number: Fraction | Root) -> Any:
    """Convert an exact rational to a python-flint complex ball of the current precision."""
    import flint

    if isinstance(number, Root):
        return flint.acb(flint.arb(number.radicand).sqrt())
    return flint.acb(to_rational(number))


def modulo(prime: int) -> Callable[[Fraction | Root], Any]:
    """Return a lift into the integers modulo a prime; denominators must not be divisible by it."""
    import flint

    def lift(number: Fraction | Root) -> Any:
        if isinstance(number, Root):
            return number.modulo(prime)
        return flint.nmod(number.numerator, prime) / flint.nmod(number.denominator, prime)

    return lift
