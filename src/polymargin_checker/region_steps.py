"""A model as steps: products and activations of affine forms of all values computed so far, in enclosures.

Layers are the case where a form sees the step before it alone. Source 0 are the inputs, source k the values of step k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flint import fmpq

from polymargin_checker.refusal import Refused
from polymargin_checker.series import in_powers
from polymargin_checker.views import Form as ProductForm
from polymargin_checker.views import Matrix, Model, Products

LARGEST_BLOCK = 1 << 24
"""Weights that a block between two steps may have."""


@dataclass(frozen=True)
class EnclosedForm:
    """bias + Σ block @ values of source; a column and matrices."""

    blocks: tuple[tuple[int, Any], ...]
    bias: Any

    def along(self, directions: Any, origin: Any) -> EnclosedForm:
        """As a form of z instead of the inputs u + A z, for A and u as a column."""
        bias = self.bias
        for source, block in self.blocks:
            bias = bias + block @ origin if source == 0 else bias
        blocks = ((source, block @ directions if source == 0 else block) for source, block in self.blocks)
        return EnclosedForm(tuple(blocks), bias)


@dataclass(frozen=True)
class EnclosedStep:
    """The product of two forms, or Σ c_k z^k of one form."""

    forms: tuple[EnclosedForm, ...]
    coefficients: tuple[fmpq, ...] | None

    def results(self, arithmetic: type[Any], values: list[Any]) -> tuple[Any, list[Any]]:
        """The new values, and the derivatives by each form, as columns."""
        if self.coefficients is None:
            left, right = values
            return left.entrywise(right), [right, left]
        (z,) = values
        slope = [k * c for k, c in enumerate(self.coefficients)][1:]
        return _horner(arithmetic, self.coefficients, z), [_horner(arithmetic, slope or [fmpq(0)], z)]


@dataclass(frozen=True)
class EnclosedSteps:
    """All steps, and B = f_label − f_rival as weights on every source and a constant."""

    arithmetic: type[Any]
    sizes: list[int]
    steps: tuple[EnclosedStep, ...]
    model: Model | Products
    turned: tuple[Any, Any] | None = None
    """A and u where the steps are those of z, with inputs u + A z."""

    def along(self, directions: Any, origin: Any) -> EnclosedSteps:
        """The steps as functions of z."""
        steps = tuple(
            EnclosedStep(tuple(form.along(directions, origin) for form in step.forms), step.coefficients)
            for step in self.steps
        )
        return replace(self, steps=steps, turned=(directions, origin))

    @classmethod
    def of(cls, model: Model | Products, arithmetic: type[Any]) -> EnclosedSteps:
        if isinstance(model, Products):
            sizes = [model.dimension, *(len(stage) for stage in model.stages)]
            steps = tuple(
                EnclosedStep(
                    tuple(_sparse_form(form, sizes, arithmetic) for form in stage.forms),
                    None if stage.letter == "P" else tuple(in_powers(stage.letter, stage.coefficients)),
                )
                for stage in model.stages
            )
            return cls(arithmetic, sizes, steps, model)
        sizes = [model.dimension, *(weights.rows for weights in model.weights[:-1])]
        layers = zip(model.weights[:-1], model.biases[:-1], model.activations, strict=True)
        steps = tuple(
            EnclosedStep((_dense_form(source, weights, bias, arithmetic),), tuple(_rational(c) for c in coefficients))
            for source, (weights, bias, coefficients) in enumerate(layers)
        )
        return cls(arithmetic, sizes, steps, model)

    def output(self, label: int, rival: int) -> tuple[list[Any], Any]:
        """Columns of weights by source, and the constant."""
        columns, constant = self._output(label, rival)
        if self.turned is None:
            return columns, constant
        directions, origin = self.turned
        first = columns[0].transpose
        return [(first @ directions).transpose, *columns[1:]], constant + first @ origin

    def _output(self, label: int, rival: int) -> tuple[list[Any], Any]:
        of = self.arithmetic.of
        if isinstance(self.model, Products):
            readout = self.model.readout
            width = sum(self.sizes)
            row = [fmpq(0)] * width
            for sign, index in ((1, label), (-1, rival)):
                for column, weight in readout.row(index):
                    row[column] += sign * _rational(weight)
            starts = [sum(self.sizes[:k]) for k in range(len(self.sizes) + 1)]
            columns = [of(size, 1, row[start : start + size]) for size, start in zip(self.sizes, starts, strict=False)]
            return columns, of(1, 1, [_rational(readout.bias[label]) - _rational(readout.bias[rival])])
        last, bias = self.model.weights[-1], self.model.biases[-1]
        difference = [_rational(a) - _rational(b) for a, b in zip(last.row(label), last.row(rival), strict=True)]
        columns = [of(size, 1, [fmpq(0)] * size) for size in self.sizes[:-1]]
        return [*columns, of(len(difference), 1, difference)], of(
            1, 1, [_rational(bias[label]) - _rational(bias[rival])]
        )


def _dense_form(source: int, weights: Matrix, bias: Sequence[Any], arithmetic: type[Any]) -> EnclosedForm:
    block = arithmetic.of(weights.rows, weights.columns, weights.values)
    return EnclosedForm(((source, block),), arithmetic.of(len(bias), 1, list(bias)))


def _sparse_form(form: ProductForm, sizes: list[int], arithmetic: type[Any]) -> EnclosedForm:
    rows = [form.row(index) for index in range(len(form))]
    blocks, start = [], 0
    for source, size in enumerate(sizes):
        if start >= form.width:
            break
        if any(start <= column < start + size for row in rows for column, _ in row):
            if len(rows) * size > LARGEST_BLOCK:
                raise Refused(f"a block of {len(rows)} by {size} weights; this checker accepts {LARGEST_BLOCK} of them")
            entries = [0.0] * (len(rows) * size)
            for index, row in enumerate(rows):
                for column, weight in row:
                    if start <= column < start + size:
                        entries[index * size + column - start] = weight
            blocks.append((source, arithmetic.of(len(rows), size, entries)))
        start += size
    return EnclosedForm(tuple(blocks), arithmetic.of(len(form), 1, list(form.bias)))


def _horner(arithmetic: type[Any], coefficients: Sequence[fmpq], z: Any) -> Any:
    rows = z.shape[0]
    total = arithmetic.of(rows, 1, [coefficients[-1]] * rows)
    for c in reversed(coefficients[:-1]):
        total = total.entrywise(z) + arithmetic.of(rows, 1, [c] * rows)
    return total


def _rational(value: Any) -> fmpq:
    return fmpq(*value.as_integer_ratio()) if isinstance(value, float) else fmpq(value)
