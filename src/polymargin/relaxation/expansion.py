"""A network around a point: forms and values as rows over ξ = (1, δ, w, y).

    form    z = value + t,    t = slopes · δ + tail · (w, y),    w = linear · (earlier w) + Σ products · (earlier t t')
    value   constant + slopes · δ + tail · (w, y) + bend ∘ t ∘ t'

A form is its value at the point, its gradient there, and its nonlinear remainder w. Forms get a w if one of their blocks is of a
stage that is *curved*: a product, a polynomial of degree two, a piecewise one with a neuron decided to such a piece, or one that
hands on w. A neuron whose function is neither affine nor quadratic on the region gets a variable y for its value, or for what is
nonlinear in it. Variables after δ come stage by stage: the w of its groups of forms, then its y. The checker rebuilds the same
rows (`polymargin_checker.relaxation.expansion`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_poly
from numpy.typing import NDArray

from polymargin.networks.forms import Forms, dense
from polymargin.networks.network import Network
from polymargin.networks.stages import Piecewise, Polynomial, Product
from polymargin.relaxation.functions import values as row_values

Array = NDArray[np.float64]
Seen = Callable[[Array], Array]
"""Rows over the inputs as rows over δ."""


@dataclass(frozen=True, eq=False)
class Values:
    """Values of a stage; `bend` is None where there is no product, `factors` are the numbers of the groups t and t'."""

    constant: Array
    slopes: Array
    tail: Array
    bend: Array | None = None
    factors: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False)
class Combination:
    """Sums of values: constant + slopes · δ + tail · (w, y) + Σ products[stage] · (t t' of that stage)."""

    constant: Array
    slopes: Array
    tail: Array
    products: dict[int, Array]
    is_curved: bool


@dataclass(frozen=True, eq=False)
class Group:
    """The forms of one operand of a stage.

    start      number of the first form among all
    end        how many variables there are after δ, up to and with its w
    remainder  number of the first w among all w, and its place among the variables; None without w
    linear     (h, variables before), products {stage: (h, its values)}: what w is
    """

    stage: int
    start: int
    end: int
    value: Array
    slopes: Array
    tail: Array
    remainder: tuple[int, int] | None
    linear: Array
    products: dict[int, Array]

    def __len__(self) -> int:
        return len(self.value)

    @property
    def forms(self) -> slice:
        """Return the places of the forms."""
        return slice(self.start, self.start + len(self))

    @property
    def places(self) -> slice:
        """Return the places of the w among the variables."""
        return slice(self.end - len(self), self.end) if self.remainder is not None else slice(0, 0)


@dataclass(frozen=True, eq=False)
class Neurons:
    """Variables y of a stage: functions of the forms `forms` of a group.

    number   of the first y among all y
    place    of the first y among the variables
    powers   Taylor coefficients (neurons, degree + 1) of the nonlinear part in t; None for piecewise functions of z
    """

    stage: int
    group: int
    forms: NDArray[np.int64]
    number: int
    place: int
    powers: Array | None

    @property
    def places(self) -> slice:
        """Return the places of the neurons among the variables."""
        return slice(self.place, self.place + len(self.forms))


class Expansion:
    """All rows of a network around a point.

    decided   the piece of each neuron of piecewise stages, by the number of the stage from 1; −1 where the region does not decide

    Rows are (h, d) over δ, and as long as there were variables over (w, y).
    """

    def __init__(
        self, network: Network, point: Array, dimension: int, seen: Seen, decided: Mapping[int, NDArray[np.int8]]
    ) -> None:
        self.network, self.dimension, self.seen, self.decided = network, dimension, seen, decided
        self.groups: list[Group] = []
        self.neurons: list[Neurons] = []
        self.variables = self.remainders = self.forms = 0
        self.values = [Values(point, np.zeros((0, dimension)), np.zeros((0, 0)))]
        self._curved = [False]
        self._remainder_places = np.zeros(0, dtype=bool)
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

    def functional(self, label: int, rival: int) -> Combination:
        """Return f_label − f_rival."""
        readout = self.network.readout
        rows = {source: dense(block[[label, rival]]) for source, block in readout.blocks}
        blocks = {source: (pair[0] - pair[1])[None] for source, pair in rows.items()}
        return self.combined(blocks, readout.bias[[label]] - readout.bias[[rival]])

    def combined(self, blocks: Mapping[int, Array], constant: Array) -> Combination:
        """Return constant + Σ blocks[source] · values."""
        slopes = np.zeros((len(constant), self.dimension))
        tail = np.zeros((len(constant), self.variables))
        products, curved = {}, False
        for source, block in blocks.items():
            values = self.values[source]
            constant = constant + block @ values.constant
            if source == 0:
                slopes += self.seen(block)
                continue
            slopes += block @ values.slopes
            tail[:, : values.tail.shape[1]] += block @ values.tail
            curved = curved or self._curved[source]
            if values.bend is not None:
                products[source] = block * values.bend
        return Combination(constant, slopes, tail, products, curved)

    def padded_tail(self, group: Group) -> Array:
        """Return the tail with a column for every variable so far."""
        return _padded(group.tail, self.variables)

    def state(self, step: Array) -> tuple[Array, Array]:
        """Return the variables (w, y) and the arguments t of all forms at one δ (d,)."""
        variables, arguments = np.zeros(self.variables), np.zeros(self.forms)
        waiting = list(self.neurons)
        for number, group in enumerate(self.groups):
            if group.remainder is not None:
                variables[group.places] = group.linear @ variables[: group.linear.shape[1]]
                for source, weights in group.products.items():
                    left, right = (arguments[self.groups[k].forms] for k in self.values[source].factors)
                    variables[group.places] += weights @ (left * right)
            arguments[group.forms] = group.slopes @ step + group.tail @ variables[: group.tail.shape[1]]
            while waiting and waiting[0].group == number:
                neurons = waiting.pop(0)
                t = arguments[group.forms][neurons.forms]
                if neurons.powers is None:
                    stage = self.network.stages[neurons.stage - 1]
                    assert isinstance(stage, Piecewise)
                    variables[neurons.places] = stage.activate(group.value[neurons.forms] + t)
                else:
                    variables[neurons.places] = row_values(neurons.powers, t[:, None])[:, 0]
        return variables, arguments

    # -- forms ---------------------------------------------------------------------------------

    def _add_group(self, number: int, forms: Forms) -> None:
        made = self.combined({source: dense(block) for source, block in forms.blocks}, forms.bias)
        tail, linear, remainder = made.tail, np.zeros((len(forms), 0)), None
        if made.is_curved:
            linear, tail = tail * self._remainder_places, tail * ~self._remainder_places
            remainder = self.remainders, self.variables
            self._add_variables(len(forms), remainder=True)
            self.remainders += len(forms)
            tail = np.hstack([tail, np.eye(len(forms))])
        parts = (made.constant, made.slopes, tail, remainder, linear, made.products)
        self.groups.append(Group(number, self.forms, self.variables, *parts))
        self.forms += len(forms)

    def _add_variables(self, count: int, *, remainder: bool) -> None:
        self._remainder_places = np.append(self._remainder_places, np.full(count, remainder))
        self.variables += count

    # -- values --------------------------------------------------------------------------------

    def _multiply(self, first: int) -> None:
        left, right = self.groups[first : first + 2]
        slopes = right.value[:, None] * left.slopes + left.value[:, None] * right.slopes
        tail = right.value[:, None] * self.padded_tail(left) + left.value[:, None] * self.padded_tail(right)
        self.values.append(Values(left.value * right.value, slopes, tail, np.ones(len(left)), (first, first + 1)))
        self._curved.append(True)

    def _activate(self, number: int, stage: Polynomial, first: int) -> None:
        group = self.groups[first]
        taylor = _taylor(stage, group.value)
        if stage.degree <= 2:
            self.values.append(self._polynomial_values(group, first, taylor, has_square=stage.degree == 2))
            self._curved.append(stage.degree == 2 or (stage.degree == 1 and group.remainder is not None))
            return
        powers = taylor.copy()
        powers[:, :2] = 0.0
        place = self._add_neurons(number, first, np.arange(len(group)), powers)
        rise = taylor[:, 1:2]
        tail = rise * self.padded_tail(group) + np.eye(len(group), self.variables, place)
        self.values.append(Values(taylor[:, 0], rise * group.slopes, tail))
        self._curved.append(group.remainder is not None)

    def _select(self, number: int, stage: Piecewise, first: int) -> None:
        group, pieces = self.groups[first], self.decided[number]
        taken = pieces >= 0
        table = np.zeros((len(stage.pieces), 3))
        width = min(3, stage.table.shape[1])
        table[:, :width] = stage.table[:, :width]
        c = np.where(taken[:, None], table[np.maximum(pieces, 0)], 0.0)
        z = group.value
        taylor = np.stack([c[:, 0] + z * (c[:, 1] + z * c[:, 2]), c[:, 1] + 2 * z * c[:, 2], c[:, 2]], axis=1)
        open_forms = np.flatnonzero(~taken)
        place = self._add_neurons(number, first, open_forms, None)
        has_square = bool(c[:, 2].any())
        made = self._polynomial_values(group, first, taylor, has_square=has_square)
        made.tail[open_forms, place + np.arange(len(open_forms))] += 1.0
        self.values.append(made)
        degrees = np.array([len(piece) - 1 for piece in stage.pieces])
        rises = bool((taken & (degrees[np.maximum(pieces, 0)] >= 1)).any())
        self._curved.append(has_square or (rises and group.remainder is not None))

    def _polynomial_values(self, group: Group, first: int, taylor: Array, *, has_square: bool) -> Values:
        rise = taylor[:, 1:2] if taylor.shape[1] > 1 else np.zeros((len(group), 1))
        bend = taylor[:, 2] if has_square else None
        return Values(taylor[:, 0], rise * group.slopes, rise * self.padded_tail(group), bend, (first, first))

    def _add_neurons(self, number: int, group: int, forms: NDArray[np.int64], powers: Array | None) -> int:
        place = self.variables
        if len(forms):
            count = sum(len(neurons.forms) for neurons in self.neurons)
            self.neurons.append(Neurons(number, group, forms, count, place, powers))
            self._add_variables(len(forms), remainder=False)
        return place


def _taylor(stage: Polynomial, places: Array) -> Array:
    """Return coefficients (h, degree + 1) of σ(p + t) in powers of t, in exact arithmetic and then rounded."""
    sigma = fmpq_poly(stage.recurrence.in_powers(stage.coefficients))
    rows = np.zeros((len(places), stage.degree + 1))
    for row, p in zip(rows, places.tolist(), strict=True):
        shifted = sigma(fmpq_poly([fmpq(*p.as_integer_ratio()), 1]))
        row[: shifted.degree() + 1] = [int(c.p) / int(c.q) for c in shifted.coeffs()]
    return rows


def _padded(rows: Array, columns: int) -> Array:
    return rows if rows.shape[1] == columns else np.pad(rows, ((0, 0), (0, columns - rows.shape[1])))
