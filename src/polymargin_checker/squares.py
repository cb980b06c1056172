"""A program of products as layers of squares, without rounding.

    p q = ((α p + q/α)² − (α p − q/α)²) / 4,      z^(a+b) = z^a z^b,      T_(a+b) = 2 T_a T_b − T_(a−b),  a − b = 0 or 1.

Every value is a form of *atoms*: the inputs, and products of two forms of atoms. An input has level 0, a product one level more
than the highest atom of its factors. Layer l has the products of level l, in the order in which they come up, and then
carries past it what factors of a higher level and the logits need of levels below l, each as a product with 1: the
different sums of theirs, in the order in which they come up, or the single atoms, in their order, if these are fewer and no
layer before carried sums. A product has two neurons, or one if both factors are the same. The proof names a scale α > 0 for
every product and every carried value, in this order. Powers and Chebyshev polynomials are made of those of half their order, and
other series are rewritten in Chebyshev polynomials.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flint import fmpq

from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import number
from polymargin_checker.refusal import Refused
from polymargin_checker.series import in_chebyshev
from polymargin_checker.views import Form, Matrix, Model, Products, Stage
from polymargin_checker.work import spend

_LARGEST_LAYER = 1 << 22
"""Weights of a layer; more would fill the memory."""
_TOUCHED = 64
"""Products that a weight, or a row that is looked at, counts for: all of this is done one by one."""
_LONGEST = 1 << 16
"""Bits of a numerator or a denominator."""

Row = dict[int, Any]
Affine = tuple[Row, Any]
"""Weights by atom or neuron, and a constant."""

_ZERO, _ONE, _QUARTER = fmpq(0), fmpq(1), fmpq(1, 4)
_SQUARE = (0.0, 0.0, 1.0)


def layers_of_squares(model: Products, lowering: Any) -> Model:
    """The layers for all classes."""
    fields(lowering, "lowering", ("scales",))
    scales = iter([number(entry, "lowering, scales") for entry in items(lowering["scales"], "lowering, scales")])
    builder = _Builder(model, scales)
    weights, biases = [], []
    width = model.dimension
    for level in range(1, builder.depth + 1):
        neurons = builder.layer(level)
        weights.append(_matrix(neurons, width))
        biases.append([constant for _, constant in neurons])
        width = len(neurons)
    logits = [builder.seen(form) for form in builder.logits]
    if next(scales, None) is not None:
        raise Refused("lowering, scales: more of them than products and carried values")
    activations = (_SQUARE,) * len(weights)
    return Model((*weights, _matrix(logits, width)), (*biases, [c for _, c in logits]), activations)


class ProductAtoms:
    """All products of a program, activations written with them, and the logits."""

    def __init__(self, model: Products) -> None:
        self.levels = [0] * model.dimension
        self.products: list[tuple[int, Affine, Affine]] = []
        self.values: list[Affine] = [({i: _ONE}, _ZERO) for i in range(model.dimension)]
        for stage in model.stages:
            self._expand(stage)
        self.logits = list(self._rows(model.readout))

    def _expand(self, stage: Stage) -> None:
        if stage.letter == "P":
            pairs = list(zip(self._rows(stage.forms[0]), self._rows(stage.forms[1]), strict=True))
            self.values += [self._product(left, right) for left, right in pairs]
            return
        for z in list(self._rows(stage.forms[0])):
            self.values.append(self._series(stage, z))

    def _rows(self, form: Form) -> Iterator[Affine]:
        for index, bias in enumerate(form.bias):
            terms = [(_rational(w), self.values[column]) for column, w in form.row(index)]
            yield _combined(terms, _rational(bias))

    def _product(self, left: Affine, right: Affine) -> Affine:
        atom = len(self.levels)
        self.levels.append(1 + max((self.levels[a] for a in (*left[0], *right[0])), default=0))
        self.products.append((atom, left, right))
        return {atom: _ONE}, _ZERO

    def _series(self, stage: Stage, z: Affine) -> Affine:
        exact = [_rational(c) for c in stage.coefficients]
        row = exact if stage.letter == "A" else in_chebyshev(stage.letter, stage.coefficients)
        orders = [k for k, c in enumerate(row) if c != 0]
        parts: dict[int, Affine] = {0: ({}, _ONE), 1: z}
        for k in _with_halves(orders):
            found = self._product(parts[(k + 1) // 2], parts[k // 2])
            parts[k] = found if stage.letter == "A" else _combined([(fmpq(2), found), (-_ONE, parts[k % 2])], _ZERO)
        return _combined([(row[k], parts[k]) for k in orders], _ZERO)


class _Builder(ProductAtoms):
    """The layers, one after the other."""

    def __init__(self, model: Products, scales: Iterator[Any]) -> None:
        super().__init__(model)
        self.scales = scales
        self.sums = False
        self.level = 0
        self.own: dict[int, Row] = {}
        self.carried: dict[Any, Row] = {}

    @property
    def depth(self) -> int:
        return max(self.levels)

    def layer(self, level: int) -> list[Affine]:
        own = [entry for entry in self.products if self.levels[entry[0]] == level]
        waiting = [form for atom, *pair in self.products if self.levels[atom] > level for form in pair]
        needed = [part for form in (*waiting, *self.logits) if (part := self._below(form[0], level))]
        sums = list(dict.fromkeys(needed))
        single = sorted({atom for part in sums for atom, *_ in part})
        by_sums = self.sums or len(sums) <= len(single)
        neurons: list[Affine] = []
        reached = {atom: self._squares(neurons, self.seen(left), self.seen(right)) for atom, left, right in own}
        passed: dict[Any, Row] = {}
        carried: list[Any] = list(sums) if by_sums else list(single)
        for name in carried:
            entries = name if by_sums else ((name, 1, 1),)
            row = {atom: fmpq(p, q) for atom, p, q in entries}
            passed[name] = self._squares(neurons, self.seen((row, _ZERO)), ({}, _ONE))
        self.level, self.sums, self.own, self.carried = level, by_sums, reached, passed
        return neurons

    def seen(self, form: Affine) -> Affine:
        """A form of atoms below the next layer, by the neurons of the last one."""
        row, constant = form
        if not self.level:
            return form
        terms = [(w, (self.own[atom], _ZERO)) for atom, w in row.items() if self.levels[atom] == self.level]
        lower = self._below(row, self.level)
        if self.sums:
            terms += [(_ONE, (self.carried[lower], _ZERO))] if lower else []
        else:
            terms += [(fmpq(p, q), (self.carried[atom], _ZERO)) for atom, p, q in lower]
        return _combined(terms, constant)

    def _below(self, row: Row, level: int) -> tuple[Any, ...]:
        entries = [(atom, int(w.p), int(w.q)) for atom, w in row.items() if self.levels[atom] < level]
        spend(2 * _TOUCHED * (len(row) + 1), 0, "the layers of squares")
        return tuple(entries)

    def _squares(self, neurons: list[Affine], left: Affine, right: Affine) -> Row:
        alpha = next(self.scales, None)
        if alpha is None or alpha <= 0:
            raise Refused("lowering, scales: one positive number is needed for every product and every carried value")
        place = len(neurons)
        if left == right:
            neurons.append(left)
            return {place: _ONE}
        neurons += [_combined([(alpha, left), (sign / alpha, right)], _ZERO) for sign in (_ONE, -_ONE)]
        return {place: _QUARTER, place + 1: -_QUARTER}


def _with_halves(orders: list[int]) -> list[int]:
    result: set[int] = set()
    for order in orders:
        waiting = [order]
        while waiting:
            k = waiting.pop()
            if k > 1 and k not in result:
                result.add(k)
                waiting += [k // 2, (k + 1) // 2]
    return sorted(result)


def _combined(terms: list[tuple[Any, Affine]], constant: Any) -> Affine:
    row: Row = {}
    spend(_TOUCHED * sum(len(part) + 1 for _, (part, _) in terms), 256, "the layers of squares")
    for factor, (part, shift) in terms:
        constant = constant + factor * shift if shift else constant
        for place, weight in part.items():
            row[place] = row[place] + factor * weight if place in row else factor * weight
    return {place: row[place] for place in sorted(row) if row[place] != 0}, constant


def _matrix(forms: list[Affine], width: int) -> Matrix:
    if len(forms) * width > _LARGEST_LAYER:
        raise Refused("the layers of squares are too large for this checker")
    entries = [_ZERO] * (len(forms) * width)
    for index, (row, constant) in enumerate(forms):
        for place, weight in (*row.items(), (None, constant)):
            if int(weight.p).bit_length() + int(weight.q).bit_length() > _LONGEST:
                raise Refused("the layers of squares need longer numbers than this checker allows")
            if place is not None:
                entries[index * width + place] = weight
    return Matrix(len(forms), width, entries)


def _rational(value: float) -> Any:
    return fmpq(*value.as_integer_ratio())
