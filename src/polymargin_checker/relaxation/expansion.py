"""A network around a point: forms and values as rows over ξ = (1, δ, w, y), rebuilt from the weights.

    form    z = p + t,    t = a·δ + b·y + w,    w = bracket: Σ linear · (earlier w) + Σ products · (earlier t t')
    value   constant + a·δ + tail · (w, y) + bend ∘ t ∘ t'

Variables after δ come stage by stage: the w of its groups of forms, then its y. A group has w if one of its blocks is of a stage
that is *curved*: a product, a polynomial of degree two, a piecewise one with a neuron decided to such a piece, or one that hands
on w.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_poly, ctx, fmpq
from numpy.typing import NDArray

from polymargin_checker.refusal import Refused
from polymargin_checker.relaxation.arithmetic import EnclosedMatrix
from polymargin_checker.relaxation.region import Region
from polymargin_checker.series import LETTERS, in_powers
from polymargin_checker.stages import Forms, Network, Piecewise, Polynomial, Product
from polymargin_checker.work import spend

LARGEST_SPACE = 6_000
"""Variables ξ at most: forms are stored in full."""
LARGEST_ROWS = 1 << 25
"""Entries of all rows at most, and of all blocks."""
_TAYLOR = 64
"""Products that a neuron counts for beside its polynomial."""


@dataclass(frozen=True, eq=False)
class Values:
    """constant + slopes · δ + tail · (variables so far) + bend ∘ t ∘ t' of the groups `factors`, a row for each value."""

    constant: EnclosedMatrix
    slopes: EnclosedMatrix
    tail: EnclosedMatrix
    bend: EnclosedMatrix | None = None
    factors: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False)
class Combination:
    """Forms of values: constant + slopes · δ + tail · variables + Σ products[source] · (t t' of that stage)."""

    constant: EnclosedMatrix
    slopes: EnclosedMatrix
    tail: EnclosedMatrix
    products: dict[int, EnclosedMatrix]
    is_curved: bool


@dataclass(frozen=True, eq=False)
class Group:
    """Forms z = value + slopes · δ + tail · variables of a stage, the last two are t.

    start      number of its first form among all
    end        variables after δ up to and with its w
    remainder  number of its first w among all w, and place of its first w among the variables; None without
    """

    stage: int
    start: int
    end: int
    value: EnclosedMatrix
    slopes: EnclosedMatrix
    tail: EnclosedMatrix
    remainder: tuple[int, int] | None
    linear: EnclosedMatrix
    products: dict[int, EnclosedMatrix]

    def __len__(self) -> int:
        return self.value.shape[0]


@dataclass(frozen=True, eq=False)
class Neurons:
    """Variables y of a stage: functions of the forms `forms` of a group.

    start     number of its first y among all, and the place of it among the variables
    powers    Taylor coefficients of ρ in t, (neurons, degree + 1), or None: σ itself, a function of z
    """

    stage: int
    group: int
    forms: NDArray[np.int64]
    start: tuple[int, int]
    powers: EnclosedMatrix | None


class Expansion:
    """All rows; `decided` are the pieces (−1: open) of the neurons of piecewise stages, numbered from 1."""

    def __init__(self, network: Network, region: Region, decided: Mapping[int, NDArray[np.int8]]) -> None:
        self.network, self.region, self.decided = network, region, decided
        self.arithmetic = region.arithmetic
        self._check_size()
        self.groups: list[Group] = []
        self.neurons: list[Neurons] = []
        self.variables, self.remainders, self.forms = 0, 0, 0
        self._is_remainder = np.zeros(0, dtype=bool)
        zeros = self.arithmetic.zeros
        # Source 0 is never asked for its rows: they are the columns of a block.
        self.values = [Values(region.point, zeros(0, region.dimension), zeros(0, 0))]
        self._curved = [False]
        for number, stage in enumerate(network.stages, start=1):
            first = len(self.groups)
            for forms in stage.forms:
                self._add_group(number, forms)
            if isinstance(stage, Product):
                self._multiply(first)
            elif isinstance(stage, Polynomial):
                self._activate(number, stage, first)
            else:
                self._select(number, stage, first)

    def _check_size(self) -> None:
        """Count what may become rows before there are any."""
        forms = sum(len(part) for stage in self.network.stages for part in stage.forms)
        size = 1 + self.region.dimension
        curved: list[bool] = [False]
        for number, stage in enumerate(self.network.stages, start=1):
            own = any(curved[source] for part in stage.forms for source, _ in part.blocks)
            size += sum(len(part) for part in stage.forms) if own else 0
            curved.append(own or not isinstance(stage, Piecewise) or bool((self.decided[number] >= 0).any()))
            if isinstance(stage, Polynomial) and len(stage.coefficients) > 3:
                size += len(stage.form)
            if isinstance(stage, Piecewise):
                size += int((self.decided[number] < 0).sum())
        parts = [*(part for stage in self.network.stages for part in stage.forms), self.network.readout]
        weights = sum(block.shape[0] * block.shape[1] for part in parts for _, block in part.blocks)
        if size > LARGEST_SPACE or max(size * forms, weights) > LARGEST_ROWS:
            raise Refused(f"a relaxation proof in {size} variables with {forms} forms; this checker accepts fewer")

    # -- forms -----------------------------------------------------------------------------------

    def combined(
        self, blocks: Mapping[int, EnclosedMatrix], seen: EnclosedMatrix, constant: EnclosedMatrix
    ) -> Combination:
        """Return constant + Σ blocks[source] · values, where `seen` is the block of the inputs as rows over δ."""
        slopes, tail = seen, self.arithmetic.zeros(seen.shape[0], self.variables)
        products, curved = {}, False
        for source, block in blocks.items():
            values = self.values[source]
            constant = constant + block @ values.constant
            if source == 0:
                continue
            slopes = slopes + block @ values.slopes
            tail = tail + self.arithmetic.padded(block @ values.tail, self.variables)
            curved = curved or self._curved[source]
            if values.bend is not None:
                products[source] = block * values.bend.T
        return Combination(constant, slopes, tail, products, curved)

    def _add_group(self, number: int, forms: Forms) -> None:
        exact, zeros = self.arithmetic.exact, self.arithmetic.zeros
        seen, blocks = zeros(len(forms), self.region.dimension), {}
        for source, block in forms.blocks:
            blocks[source] = exact(block.dense)
            if source == 0:
                seen = self.region.seen(block.dense)
        made = self.combined(blocks, seen, exact(forms.bias[:, None]))
        tail, linear, remainder = made.tail, zeros(len(forms), 0), None
        if made.is_curved:
            of_w = exact(self._is_remainder[None].astype(np.float64))
            linear, tail = tail * of_w, tail * exact(1.0 - self._is_remainder[None])
            remainder = self.remainders, self.variables
            self._add_variables(len(forms), True)
            self.remainders += len(forms)
            tail = tail.beside([tail, exact(np.eye(len(forms)))])
        self.groups.append(
            Group(
                number, self.forms, self.variables, made.constant, made.slopes, tail, remainder, linear, made.products
            )
        )
        self.forms += len(forms)

    def _add_variables(self, count: int, remainder: bool) -> None:
        self._is_remainder = np.concatenate([self._is_remainder, np.full(count, remainder)])
        self.variables += count

    def padded_tail(self, group: Group) -> EnclosedMatrix:
        return self.arithmetic.padded(group.tail, self.variables)

    # -- values ----------------------------------------------------------------------------------

    def _multiply(self, first: int) -> None:
        left, right = self.groups[first : first + 2]
        slopes, tail = (
            right.value * one + left.value * other
            for one, other in ((left.slopes, right.slopes), (self.padded_tail(left), self.padded_tail(right)))
        )
        ones = self.arithmetic.exact(np.ones((len(left), 1)))
        self.values.append(Values(left.value * right.value, slopes, tail, ones, (first, first + 1)))
        self._curved.append(True)

    def _activate(self, number: int, stage: Polynomial, first: int) -> None:
        group = self.groups[first]
        c = in_powers(LETTERS[stage.basis], stage.coefficients.tolist())
        if len(c) <= 3:
            c0, c1, c2 = (self.arithmetic.column([value]) for value in (*c, fmpq(0), fmpq(0))[:3])
            self._polynomial_values(group, first, c0, c1, c2, has_square=len(c) == 3)
            self._curved.append(len(c) == 3 or (len(c) == 2 and group.remainder is not None))
            return
        taylor = self._taylor(c, group.value)
        kept = np.ones((1, len(c)))
        kept[0, :2] = 0.0
        place = self._add_neurons(number, first, np.arange(len(group)), taylor * self.arithmetic.exact(kept))
        unit = self.arithmetic.exact(np.eye(len(group), self.variables, place))
        tail = taylor[:, 1:2] * self.padded_tail(group) + unit
        self.values.append(Values(taylor[:, :1], taylor[:, 1:2] * group.slopes, tail))
        self._curved.append(group.remainder is not None)

    def _polynomial_values(
        self, group: Group, first: int, c0: EnclosedMatrix, c1: EnclosedMatrix, c2: EnclosedMatrix, *, has_square: bool
    ) -> None:
        """Set the values of a stage to σ(p) + σ'(p) t + c₂ t² with coefficients for all neurons, or one row for all."""
        p, two = group.value, self.arithmetic.exact([[2.0]])
        rise = c1 + two * c2 * p
        ones = self.arithmetic.exact(np.ones((len(group), 1)))
        value = c0 * ones + p * (c1 + c2 * p)
        bend = c2 * ones if has_square else None
        tail = rise * self.padded_tail(group)
        self.values.append(Values(value, rise * group.slopes, tail, bend, (first, first)))

    def _select(self, number: int, stage: Piecewise, first: int) -> None:
        group, pieces = self.groups[first], self.decided[number]
        taken = pieces >= 0
        table = np.zeros((len(stage.pieces), 3))
        width = min(3, stage.pieces.shape[1])
        table[:, :width] = stage.pieces[:, :width]
        c = np.where(taken[:, None], table[np.maximum(pieces, 0)], 0.0)
        open_forms = np.flatnonzero(~taken)
        place = self._add_neurons(number, first, open_forms, None)
        columns = [self.arithmetic.exact(c[:, k : k + 1]) for k in range(3)]
        has_square = bool(c[:, 2].any())
        self._polynomial_values(group, first, columns[0], columns[1], columns[2], has_square=has_square)
        unit = np.zeros((len(group), self.variables))
        unit[open_forms, place + np.arange(len(open_forms))] = 1.0
        made = self.values[-1]
        tail = made.tail + self.arithmetic.exact(unit)
        self.values[-1] = Values(made.constant, made.slopes, tail, made.bend, made.factors)
        # By structure: a neuron decided to a piece of degree one or two, whatever its numbers.
        degrees = np.array([int(np.flatnonzero(piece).max(initial=0)) for piece in stage.pieces])
        rises = bool((taken & (degrees[np.maximum(pieces, 0)] >= 1)).any())
        self._curved.append(has_square or (rises and group.remainder is not None))

    def _add_neurons(self, number: int, group: int, forms: NDArray[np.int64], powers: EnclosedMatrix | None) -> int:
        """Add variables y and return the place of the first."""
        place = self.variables
        if len(forms):
            count = sum(len(neurons.forms) for neurons in self.neurons)
            self.neurons.append(Neurons(number, group, forms, (count, place), powers))
            self._add_variables(len(forms), False)
        return place

    def _taylor(self, c: list[fmpq], places: EnclosedMatrix) -> EnclosedMatrix:
        """Return the coefficients of σ(p + t) in powers of t, a row for each p."""
        spend(places.shape[0] * (_TAYLOR + len(c) ** 2), ctx.prec, "Taylor coefficients")
        sigma = arb_poly([arb(value) for value in c])
        found: list[arb] = []
        for p in places.balls():
            row = sigma(arb_poly([p, 1])).coeffs()
            found += row + [arb(0)] * (len(c) - len(row))
        return self.arithmetic.around(found, len(c))

    # -- the read-out ----------------------------------------------------------------------------

    def functional(self, label: int, rival: int) -> Combination:
        """Return f_label − f_rival, the rows of the read-out subtracted before anything else."""
        readout, exact = self.network.readout, self.arithmetic.exact
        blocks, seen = {}, self.arithmetic.zeros(1, self.region.dimension)
        for source, block in readout.blocks:
            rows = block.dense
            blocks[source] = exact(rows[label : label + 1]) - exact(rows[rival : rival + 1])
            if source == 0:
                seen = self.region.seen(rows[label : label + 1]) - self.region.seen(rows[rival : rival + 1])
        bias = readout.bias
        return self.combined(blocks, seen, exact(bias[label : label + 1, None]) - exact(bias[rival : rival + 1, None]))
