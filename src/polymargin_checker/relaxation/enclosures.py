"""Intervals of all variables and arguments on a region, and how they become narrower.

They are visited stage by stage: w by interval arithmetic on its bracket; t = a·δ + b·y + w by the support function of the region
and the intervals of y and w; y by the exact range of its function. Every new interval is intersected with the old one, so that
lemmas and splits only add.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from polymargin_checker.relaxation.arithmetic import EnclosedMatrix, Floats
from polymargin_checker.relaxation.expansion import Expansion, Group, Neurons
from polymargin_checker.relaxation.functions import Polynomials, parts_of, ranges
from polymargin_checker.relaxation.region import Region, halves
from polymargin_checker.stages import Piecewise
from polymargin_checker.work import spend_doubles

Ends = tuple[Floats, Floats]


@dataclass(eq=False)
class Enclosures:
    """Ends of the variables after δ and of all arguments t; the box is the region's."""

    expansion: Expansion
    region: Region
    variables: Ends
    arguments: Ends

    @classmethod
    def unknown(cls, expansion: Expansion) -> Enclosures:
        """Return intervals without ends."""
        sizes = expansion.variables, expansion.forms
        variables, arguments = ((np.full(size, -np.inf), np.full(size, np.inf)) for size in sizes)
        return cls(expansion, expansion.region, variables, arguments)

    def copy(self) -> Enclosures:
        parts = [(low.copy(), high.copy()) for low, high in (self.variables, self.arguments)]
        return replace(self, variables=parts[0], arguments=parts[1])

    @property
    def is_empty(self) -> bool:
        """Return whether no point has all these values."""
        return self.region.is_empty or any(bool(np.any(low > high)) for low, high in (self.variables, self.arguments))

    def narrow(self) -> None:
        """Bound everything again, stage by stage; intervals only become narrower."""
        groups = self.expansion.groups
        entries = sum(len(group) * (self.region.dimension + 2 * group.end) for group in groups)
        spend_doubles(8 * entries, "the parts of a relaxation proof")
        for number, group in enumerate(groups):
            self.enclose_remainders(group)
            self.enclose_arguments(group)
            if number + 1 == len(groups) or groups[number + 1].stage != group.stage:
                self.enclose_neurons(group.stage)

    # -- one after the other ---------------------------------------------------------------------

    def enclose_remainders(self, group: Group) -> None:
        """Bound the w of a group by their brackets."""
        if group.remainder is not None:
            parts = [self.image(group.linear, self._variables(group.linear.shape[1]))]
            parts += [self.image(weights, self.products(source)) for source, weights in group.products.items()]
            _intersect(self.variables, slice(group.remainder[1], group.end), self.added(parts))

    def enclose_arguments(self, group: Group) -> None:
        """Bound the t of a group."""
        parts = [self.region.support(group.slopes), self.image(group.tail, self._variables(group.tail.shape[1]))]
        _intersect(self.arguments, slice(group.start, group.start + len(group)), self.added(parts))

    def enclose_neurons(self, stage: int) -> None:
        """Bound the y of a stage."""
        for neurons in self.expansion.neurons:
            if neurons.stage == stage:
                count, start = len(neurons.forms), neurons.start[1]
                ends = ranges(self.expansion.arithmetic, self.parts(neurons), count)
                _intersect(self.variables, slice(start, start + count), ends)

    def parts(self, neurons: Neurons) -> Polynomials:
        """Return the functions of neurons on their intervals, piece by piece."""
        group, expansion = self.expansion.groups[neurons.group], self.expansion
        if neurons.powers is not None:
            return Polynomials(neurons.powers, *self.of_forms(group), np.arange(len(neurons.forms)))
        low, high = self.inputs_of(neurons)
        stage = expansion.network.stages[neurons.stage - 1]
        assert isinstance(stage, Piecewise)
        owner, piece, starts, stops = parts_of(stage, low, high)
        return Polynomials(expansion.arithmetic.exact(stage.pieces[piece]), starts, stops, owner)

    def of_forms(self, group: Group) -> Ends:
        """Return the ends of the t of a group."""
        place = slice(group.start, group.start + len(group))
        return self.arguments[0][place], self.arguments[1][place]

    def inputs_of(self, neurons: Neurons) -> Ends:
        """Return the ends of z = p + t of piecewise neurons."""
        group, exact = self.expansion.groups[neurons.group], self.expansion.arithmetic.exact
        low, high = (part[neurons.forms][:, None] for part in self.of_forms(group))
        value = group.value[neurons.forms]
        return (value + exact(low)).lower()[:, 0], (value + exact(high)).upper()[:, 0]

    # -- intervals of sums and products ------------------------------------------------------------------------------------

    def image(self, matrix: EnclosedMatrix, ends: Ends) -> Ends:
        """Return the ends of matrix @ v for v between the ends; what meets no end is unknown."""
        least, most = ends
        finite = np.isfinite(least) & np.isfinite(most)
        least, most = np.where(finite, least, 0.0), np.where(finite, most, 0.0)
        middle, half = halves(self.expansion.arithmetic, least, most)
        about, reach = matrix @ middle, abs(matrix) @ half
        unknown = matrix.used[:, ~finite].any(axis=1)
        low, high = (about - reach).lower()[:, 0], (about + reach).upper()[:, 0]
        return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)

    def added(self, parts: list[Ends]) -> Ends:
        low, high = ([self.expansion.arithmetic.exact(part[side][:, None]) for part in parts] for side in (0, 1))
        return sum(low[1:], low[0]).lower()[:, 0], sum(high[1:], high[0]).upper()[:, 0]

    def products(self, source: int) -> Ends:
        """Return the ends of the products t t' of a stage."""
        first, second = self.expansion.values[source].factors
        exact, groups = self.expansion.arithmetic.exact, self.expansion.groups
        left, right = ([exact(end[None]) for end in self.of_forms(groups[k])] for k in (first, second))
        corners = [a * b for a in left for b in right]
        low = np.min([corner.lower()[0] for corner in corners], axis=0)
        high = np.max([corner.upper()[0] for corner in corners], axis=0)
        if first == second:
            ends = self.of_forms(groups[first])
            squares = np.minimum((left[0] * left[0]).lower()[0], (left[1] * left[1]).lower()[0])
            low = np.where((ends[0] <= 0) & (ends[1] >= 0), 0.0, np.maximum(squares, 0.0))
        return low, high

    def _variables(self, count: int) -> Ends:
        return self.variables[0][:count], self.variables[1][:count]


def _intersect(ends: Ends, place: slice, new: Ends) -> None:
    np.maximum(ends[0][place], np.nan_to_num(new[0], nan=-np.inf, posinf=np.inf, neginf=-np.inf), out=ends[0][place])
    np.minimum(ends[1][place], np.nan_to_num(new[1], nan=np.inf, posinf=np.inf, neginf=-np.inf), out=ends[1][place])
