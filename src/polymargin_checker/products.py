"""A program of products from a model file: values, each computed from affine forms of all earlier ones.

The values start with the inputs x. Stage after stage they are joined by p(v) q(v), the products of two forms entry by entry, or
by σ(p(v)) with σ = Σ c_k P_k(z), P_k powers or other polynomials with a recurrence. The logits are forms of all values. A form
lists the columns and weights that are not zero. Entries of the file: stages (a letter each: P product, or the basis of an
activation), sizes (inputs, values of each stage, logits), forms_i_starts, _columns, _weights, _bias, activation_k.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flint import fmpq, fmpz

from polymargin_checker import npy, series
from polymargin_checker.model import Matrix, Model, little_endian
from polymargin_checker.refusal import Refused, Unusable
from polymargin_checker.words import shown
from polymargin_checker.work import spend

FORMAT = "polymargin-products-1"
LARGEST_DEGREE = 127
"""Of one activation."""
_LONGEST = 1 << 20
"""Bits of an exact value."""
_TOUCHED = 64
"""Products that a weight counts for when it becomes an integer and is multiplied one by one."""
_MOST_STAGES = 999
_PARTS = ("starts", "columns", "weights", "bias")


@dataclass(frozen=True)
class Form:
    """Row i is bias[i] + Σ weights[k] · value[columns[k]], starts[i] ≤ k < starts[i + 1]."""

    width: int
    starts: list[int]
    columns: list[int]
    weights: Sequence[float]
    bias: Sequence[float]

    def __len__(self) -> int:
        return len(self.bias)

    def row(self, index: int) -> list[tuple[int, float]]:
        part = slice(self.starts[index], self.starts[index + 1])
        return list(zip(self.columns[part], self.weights[part], strict=True))


@dataclass(frozen=True)
class Stage:
    """A product of two forms, or an activation of one."""

    letter: str
    forms: tuple[Form, ...]
    coefficients: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.forms[0])


@dataclass(frozen=True)
class Products:
    """The program."""

    dimension: int
    stages: tuple[Stage, ...]
    readout: Form

    kind = "product-network"

    @property
    def class_count(self) -> int:
        return len(self.readout)

    @property
    def _forms(self) -> list[Form]:
        return [form for stage in self.stages for form in stage.forms] + [self.readout]

    @property
    def variables(self) -> int:
        """Linear forms of the input that the logits depend on at most: the different ones among the forms."""
        rows = set()
        for form in self._forms:
            for index in range(len(form)):
                rows.add(tuple(entry for entry in form.row(index) if entry[0] < self.dimension))
        return min(self.dimension, len(rows - {()}))

    @property
    def degree(self) -> int:
        """An upper bound on the degree of the logits."""
        degrees = [1] * self.dimension
        for stage in self.stages:
            orders = [_degrees(form, degrees) for form in stage.forms]
            if stage.letter == "P":
                degrees += [sum(pair) for pair in zip(*orders, strict=True)]
            else:
                degrees += [order * (len(stage.coefficients) - 1) for order in orders[0]]
        return max(_degrees(self.readout, degrees))

    def fingerprint(self) -> str:
        digest = hashlib.sha256(b"polymargin products 1")
        for stage in self.stages:
            if stage.letter != "P":
                digest.update(repr((series.NAMES[stage.letter], [c.hex() for c in stage.coefficients])).encode())
            for form in stage.forms:
                _hash(digest, form)
        _hash(digest, self.readout)
        return digest.hexdigest()

    def exact_logits(self, point: Sequence[fmpq]) -> list[fmpq]:
        """By the definition: integers over one power of two."""
        exponent = max(int(entry.q).bit_length() - 1 for entry in point)
        values = _Values([entry.p * ((fmpz(1) << exponent) // entry.q) for entry in point], exponent)
        for stage in self.stages:
            results = [values.form(form) for form in stage.forms]
            if stage.letter == "P":
                values.join(_multiplied(*results))
            else:
                values.join(_activated(stage, results[0]))
        logits = values.form(self.readout)
        return [fmpq(entry, fmpz(1) << logits.exponent) for entry in logits.entries]

    def layers(self, lowering: Any) -> Model:
        """The same logits as layers of squares, with rationals as weights."""
        from polymargin_checker.squares import layers_of_squares

        return layers_of_squares(self, lowering)


def of_layers(model: Model) -> Products:
    """Layers with doubles as weights as such a program: every activation is a stage that sees the layer before it alone."""
    forms, seen = [], 0
    for weights, bias in zip(model.weights, model.biases, strict=True):
        forms.append(_after(seen, weights, bias))
        seen += weights.columns
    stages = tuple(Stage("A", (form,), row) for form, row in zip(forms[:-1], model.activations, strict=True))
    return Products(model.dimension, stages, forms[-1])


def _after(seen: int, weights: Matrix, bias: Sequence[float]) -> Form:
    """The rows of a layer over the values of the one before it, which come after so many others."""
    starts, columns, entries = [0], list[int](), list[float]()
    for index in range(weights.rows):
        for column, weight in enumerate(weights.row(index)):
            if weight != 0:
                columns.append(seen + column)
                entries.append(weight)
        starts.append(len(columns))
    return Form(seen + weights.columns, starts, columns, entries, bias)


class _Values:
    """Integers over 2^exponent."""

    def __init__(self, entries: list[Any], exponent: int) -> None:
        self.entries, self.exponent = entries, exponent

    @property
    def bits(self) -> int:
        return max((int(entry.bit_length()) for entry in self.entries), default=0)

    def form(self, form: Form) -> _Values:
        weights, own = _dyadic(form.weights)
        bias, other = _dyadic(form.bias)
        bits = self.bits
        common = max(self.exponent + own, other)
        afford(bits + common, len(form))
        spend(_TOUCHED * (len(weights) + len(form)), bits + 64, "the exact logits")
        sums = []
        for index, shift in enumerate(bias):
            total = fmpz(0)
            for place in range(form.starts[index], form.starts[index + 1]):
                total += weights[place] * self.entries[form.columns[place]]
            sums.append((total << (common - self.exponent - own)) + (shift << (common - other)))
        return _Values(sums, common)

    def join(self, new: _Values) -> None:
        common = max(self.exponent, new.exponent)
        afford(max(self.bits, new.bits) + common, len(self.entries) + len(new.entries))
        self.entries = [e << (common - part.exponent) for part in (self, new) for e in part.entries]
        self.exponent = common


def _multiplied(left: _Values, right: _Values) -> _Values:
    spend(len(left.entries), left.bits + right.bits, "the exact logits")
    pairs = zip(left.entries, right.entries, strict=True)
    return _Values([a * b for a, b in pairs], left.exponent + right.exponent)


def _activated(stage: Stage, z: _Values) -> _Values:
    """Horner's rule for powers; what has run through k steps is a multiple of 2^(−k·exponent). The recurrence for others."""
    coefficients, own = _dyadic(stage.coefficients)
    degree, shift = len(coefficients) - 1, series.bits_each(stage.letter, z.exponent)
    growth = max(series.steps(stage.letter, degree)).bit_length()
    afford((z.bits + shift + growth) * degree + 64, len(z.entries))
    rule = 1 if stage.letter == "A" else 3  # products in each step
    spend(rule * degree * len(z.entries), (z.bits + shift + growth - 1) * degree, "the exact logits")
    if stage.letter != "A":
        results = [series.value(stage.letter, coefficients, entry, z.exponent) for entry in z.entries]
        return _Values(results, shift * degree + own)
    results = []
    for entry in z.entries:
        last = coefficients[-1]
        for step, c in enumerate(coefficients[-2::-1], start=1):
            last = last * entry + (c << (shift * step))
        results.append(last)
    return _Values(results, shift * degree + own)


def _dyadic(values: Sequence[float]) -> tuple[list[Any], int]:
    ratios = [value.as_integer_ratio() for value in values]
    exponent = max((q.bit_length() - 1 for _, q in ratios), default=0)
    return [fmpz(p) << (exponent + 1 - q.bit_length()) for p, q in ratios], exponent


def afford(bits: int, count: int) -> None:
    """Refuse integers that would fill the memory."""
    if bits > _LONGEST or bits * count > 1 << 30:
        raise Refused("the exact logits need more memory than this checker allows; the degree is too high")


def _degrees(form: Form, degrees: Sequence[int]) -> list[int]:
    return [max((degrees[column] for column, _ in form.row(index)), default=0) for index in range(len(form))]


def _hash(digest: Any, form: Form) -> None:
    digest.update(repr((len(form), form.width)).encode())
    for whole in (form.starts, form.columns):
        digest.update(b"".join(number.to_bytes(8, "little") for number in whole))
    for numbers in (form.weights, form.bias):
        digest.update(little_endian(numbers))


# -- the file ----------------------------------------------------------------------------------------


def read_products(entries: Mapping[str, bytes]) -> Products:
    """From the entries of an .npz file."""
    for name in ("stages", "sizes"):
        if name not in entries:
            raise Unusable(f"the entry {name!r} is missing; a network of products needs it")
    letters = npy.text(entries["stages"], "stages")
    if not 1 <= len(letters) <= _MOST_STAGES or set(letters) - {"P", *series.NAMES}:
        raise Unusable(f"stages: {shown(letters)}; expected the letters P, {', '.join(series.NAMES)}, one per stage")
    sizes = _whole(entries["sizes"], "sizes")
    if len(sizes) != len(letters) + 2 or min(sizes) < 1 or sizes[-1] < 2:
        raise Unusable("sizes: expected inputs, one size per stage, and at least two logits")
    known = {"format", "stages", "sizes", "class_names"}  # names say nothing about the logits
    width, used = sizes[0], 0
    stages = []
    for number, letter in enumerate(letters, start=1):
        count = 2 if letter == "P" else 1
        forms = tuple(_form(entries, used + k + 1, width, sizes[number], known) for k in range(count))
        coefficients: tuple[float, ...] = ()
        if letter != "P":
            coefficients = _activation(entries, f"activation_{number}", known)
        stages.append(Stage(letter, forms, coefficients))
        width, used = width + sizes[number], used + count
    readout = _form(entries, used + 1, width, sizes[-1], known)
    for name in entries:
        if name not in known:
            raise Unusable(f"the entry {shown(name)} is not part of a network of products")
    return Products(sizes[0], tuple(stages), readout)


def _activation(entries: Mapping[str, bytes], name: str, known: set[str]) -> tuple[float, ...]:
    known.add(name)
    if name not in entries:
        raise Unusable(f"the entry {name!r} is missing; an activation needs its coefficients")
    coefficients = tuple(npy.numbers(entries[name], name, 1).values.tolist())
    if not 2 <= len(coefficients) <= LARGEST_DEGREE + 1 or coefficients[-1] == 0.0:
        raise Unusable(f"{name}: expected 2 to {LARGEST_DEGREE + 1} coefficients, the last not zero")
    return coefficients


def _form(entries: Mapping[str, bytes], number: int, width: int, rows: int, known: set[str]) -> Form:
    names = [f"forms_{number}_{part}" for part in _PARTS]
    known.update(names)
    for name in names:
        if name not in entries:
            raise Unusable(f"the entry {name!r} is missing; a form needs it")
    starts, columns = (_whole(entries[name], name) for name in names[:2])
    weights, bias = (npy.numbers(entries[name], name, 1).values for name in names[2:])
    if len(bias) != rows or len(starts) != rows + 1 or len(columns) != len(weights):
        raise Unusable(f"forms_{number}: the lengths of its parts do not fit {rows} rows")
    if starts[0] != 0 or starts[-1] != len(weights) or any(a > b for a, b in pairwise(starts)):
        raise Unusable(f"forms_{number}: the starts do not rise from 0 to the number of weights")
    for index in range(rows):
        row = columns[starts[index] : starts[index + 1]]
        if any(a >= b for a, b in pairwise(row)) or (row and not 0 <= row[0] <= row[-1] < width):
            raise Unusable(f"forms_{number}: the columns of row {index} do not rise within 0 and {width - 1}")
    return Form(width, starts, columns, weights, bias)


def _whole(content: bytes, name: str) -> list[int]:
    values: array[float] = npy.numbers(content, name, 1).values
    whole = [int(value) for value in values]
    if any(a != b or a < 0 for a, b in zip(whole, values, strict=True)):
        raise Unusable(f"{name}: expected whole numbers from 0")
    return whole
