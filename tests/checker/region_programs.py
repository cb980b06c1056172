"""A program whose steps see everything before them, as region proofs take models, and what it is in rationals."""

from __future__ import annotations

import itertools
from typing import Any

from flint import arb, fmpq

from polymargin_checker.enclosures import Balls
from polymargin_checker.neighbourhood import StatedNeighbourhood
from polymargin_checker.region import CheckedRegion
from polymargin_checker.region_steps import EnclosedForm, EnclosedStep, EnclosedSteps

Table = list[list[float]]


def form(bias: list[float], **blocks: Table) -> EnclosedForm:
    """Blocks by source: s0 are the inputs."""
    found = tuple((int(name[1:]), matrix(rows)) for name, rows in blocks.items())
    return EnclosedForm(found, Balls.of(len(bias), 1, bias))


def matrix(rows: Table) -> Balls:
    return Balls.of(len(rows), len(rows[0]), [entry for row in rows for entry in row])


def powers(*coefficients: float) -> tuple[fmpq, ...]:
    return tuple(fmpq(*float(c).as_integer_ratio()) for c in coefficients)


class Program(EnclosedSteps):
    """Steps alone, with an output that sees all of them."""

    def output(self, label: int, rival: int) -> tuple[list[Any], Any]:
        weights = [[0.5 + 0.25 * k - 0.75 * j for j in range(size)] for k, size in enumerate(self.sizes)]
        return [Balls.of(len(row), 1, row) for row in weights], Balls.of(1, 1, [0.375])


def region(norm: str, low: float = -0.5, high: float = 0.25, size: int = 2) -> CheckedRegion:
    """Around 1, 2, …; a box that is not symmetric about the point, in the ball of radius 1/2."""
    point = tuple(fmpq(k + 1) for k in range(size))
    near = StatedNeighbourhood(norm, None, None, None, None, None, fmpq(0))
    ends = tuple((u + powers(low)[0], u + powers(high)[0]) for u in point)
    return CheckedRegion(near, point, fmpq(1, 2), ends)


STEPS = (
    EnclosedStep((form([0.5, -1.0], s0=[[1.0, -0.5], [0.25, 1.0]]),), powers(1.0, -0.5, 0.25, 0.125)),
    EnclosedStep(
        (form([0.25, 0.5], s0=[[0.5, 0.0], [0.0, -0.25]], s1=[[0.0, 1.0], [-0.5, 1.0]]), form([2.0, -1.0])), None
    ),
    EnclosedStep(
        (
            form([-0.5, 1.0], s1=[[0.125, 0.5], [0.5, 0.25]], s2=[[0.25, 0.0], [-0.125, 0.5]]),
            form([0.0, 0.5], s0=[[1.0, 0.0], [0.5, 0.5]], s1=[[0.0, -0.25], [1.0, 0.0]], s2=[[0.5, 0.25], [0.0, 1.0]]),
        ),
        None,
    ),
    EnclosedStep(
        (form([0.125], s1=[[0.25, -0.5]], s2=[[0.125, 0.25]], s3=[[0.03125, -0.0625]]),), powers(0.0, 1.0, 0.5)
    ),
)


def value_of_b(steps: EnclosedSteps, values: list[list[fmpq]], label: int = 0, rival: int = 1) -> fmpq:
    weights, constant = steps.output(label, rival)
    terms = (times([exact(column)], part)[0] for column, part in zip(weights, values, strict=True))
    return sum(terms, exact(constant)[0])


def exact(column: Any) -> list[fmpq]:
    found = [entry.mid() for entry in column.entries()]
    return [fmpq(int(m)) * fmpq(2) ** int(e) for m, e in (value.man_exp() for value in found)]


def rows(table: Any) -> list[list[fmpq]]:
    numbers, width = exact(table), table.shape[1]
    return [numbers[start : start + width] for start in range(0, len(numbers), width)]


def times(table: list[list[fmpq]], column: list[fmpq]) -> list[fmpq]:
    return [sum((a * b for a, b in zip(row, column, strict=True)), fmpq(0)) for row in table]


def run(x: list[fmpq], steps: tuple[EnclosedStep, ...] = STEPS) -> tuple[list[list[list[fmpq]]], list[list[fmpq]]]:
    """All forms of every step, and all values."""
    values, forms = [list(x)], []
    for step in steps:
        forms.append([])
        for one in step.forms:
            z = exact(one.bias)
            for source, block in one.blocks:
                z = [a + b for a, b in zip(z, times(rows(block), values[source]), strict=True)]
            forms[-1].append(z)
        if step.coefficients is None:
            values.append([a * b for a, b in zip(*forms[-1], strict=True)])
        else:
            values.append([sum((c * z**k for k, c in enumerate(step.coefficients)), fmpq(0)) for z in forms[-1][0]])
    return forms, values


def inside(found: list[fmpq], ranges: list[tuple[float, float]]) -> bool:
    return all(arb(low) <= arb(value) <= arb(high) for value, (low, high) in zip(found, ranges, strict=True))


CUBIC = (*STEPS[:3], EnclosedStep(STEPS[3].forms, powers(0.0, 1.0, 0.5, 0.25)))
"""The same, and what comes last needs a parabola below it as well."""


def program(steps: tuple[EnclosedStep, ...] = STEPS) -> Program:
    return Program(Balls, [2, 2, 2, 2, 1], steps, None)  # type: ignore[arg-type]


def grid(part: CheckedRegion) -> list[list[fmpq]]:
    """Points of a region, its corners and edges among them."""
    lines = [[low + (high - low) * k / 4 for k in range(5)] for low, high in part.box]
    return [list(x) for x in itertools.product(*lines) if part.near.within(part.point, x, part.radius)]
