"""Intervals of all variables and arguments on a region.

Stage by stage: w by interval arithmetic on what it is; t = slopes · δ + tail · (w, y) by the support function of the region and
the intervals of w and y; y by the least and largest values of its function. Every new interval is intersected with the old one,
so that lemmas and splits only add. The checker finds its own, rounded outward; a proof lists multipliers, no intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.stages import Piecewise
from polymargin.regions.perturbations import Perturbations
from polymargin.relaxation.expansion import Expansion, Group, Neurons
from polymargin.relaxation.functions import FunctionParts, parts_of, ranges

Array = NDArray[np.float64]
Ends = tuple[Array, Array]

CANCELLED = 1e-14
"""Of what is added up, for what its sum may be off by."""


@dataclass(eq=False)
class Enclosures:
    """Ends of the variables after δ and of all arguments t, on a region."""

    expansion: Expansion
    region: Perturbations
    variables: Ends
    arguments: Ends

    @classmethod
    def unknown(cls, expansion: Expansion, region: Perturbations) -> Enclosures:
        """Return intervals without ends."""
        sizes = expansion.variables, expansion.forms
        variables, arguments = ((np.full(size, -np.inf), np.full(size, np.inf)) for size in sizes)
        return cls(expansion, region, variables, arguments)

    def copy(self) -> Enclosures:
        """Return the same intervals, to be made narrower."""
        parts = [(low.copy(), high.copy()) for low, high in (self.variables, self.arguments)]
        return replace(self, variables=parts[0], arguments=parts[1])

    def narrow(self) -> None:
        """Bound everything again, stage by stage; intervals only become narrower."""
        groups = self.expansion.groups
        for number, group in enumerate(groups):
            self.enclose_remainders(group)
            self.enclose_arguments(group)
            if number + 1 == len(groups) or groups[number + 1].stage != group.stage:
                self.enclose_neurons(group.stage)

    def enclose_remainders(self, group: Group) -> None:
        """Bound the w of a group by what they are."""
        if group.remainder is not None:
            before = group.linear.shape[1]
            parts = [_image(group.linear, (self.variables[0][:before], self.variables[1][:before]))]
            parts += [_image(weights, self.products(source)) for source, weights in group.products.items()]
            _intersect(self.variables, group.places, _sum(parts))

    def enclose_arguments(self, group: Group) -> None:
        """Bound the t of a group."""
        known = group.tail.shape[1]
        ends = self.variables[0][:known], self.variables[1][:known]
        _intersect(self.arguments, group.forms, _sum([self.region.support(group.slopes), _image(group.tail, ends)]))

    def enclose_neurons(self, stage: int) -> None:
        """Bound the y of a stage."""
        for neurons in self.expansion.neurons:
            if neurons.stage == stage:
                _intersect(self.variables, neurons.places, ranges(self.parts(neurons), len(neurons.forms)))

    def parts(self, neurons: Neurons) -> FunctionParts:
        """Return the functions of neurons on their intervals, piece by piece."""
        if neurons.powers is not None:
            low, high = self.of_forms(self.expansion.groups[neurons.group])
            return FunctionParts(neurons.powers, low, high, np.arange(len(neurons.forms)))
        stage = self.expansion.network.stages[neurons.stage - 1]
        assert isinstance(stage, Piecewise)
        return parts_of(stage, *self.inputs_of(neurons))

    def of_forms(self, group: Group) -> Ends:
        """Return the ends of the t of a group."""
        return self.arguments[0][group.forms], self.arguments[1][group.forms]

    def inputs_of(self, neurons: Neurons) -> Ends:
        """Return the ends of z = p + t of piecewise neurons, with room for the rounding of a checker where p and t cancel."""
        group = self.expansion.groups[neurons.group]
        low, high = (ends[neurons.forms] for ends in self.of_forms(group))
        p = group.value[neurons.forms]
        return p + low - CANCELLED * (np.abs(p) + np.abs(low)), p + high + CANCELLED * (np.abs(p) + np.abs(high))

    def products(self, source: int) -> Ends:
        """Return the ends of the products t t' of a stage."""
        first, second = self.expansion.values[source].factors
        left, right = (self.of_forms(self.expansion.groups[k]) for k in (first, second))
        with np.errstate(invalid="ignore"):
            corners = np.array([a * b for a in left for b in right])
        low, high = corners.min(axis=0), corners.max(axis=0)
        if first == second:
            low = np.where((left[0] <= 0) & (left[1] >= 0), 0.0, np.minimum(left[0] ** 2, left[1] ** 2))
        return low, high


def _image(matrix: Array, ends: Ends) -> Ends:
    """Return the ends of matrix @ v for v between the ends; what meets no end is unknown."""
    finite = np.isfinite(ends[0]) & np.isfinite(ends[1])
    low, high = np.where(finite, ends[0], 0.0), np.where(finite, ends[1], 0.0)
    about, reach = matrix @ ((low + high) / 2), np.abs(matrix) @ ((high - low) / 2)
    unknown = matrix[:, ~finite].any(axis=1)
    return np.where(unknown, -np.inf, about - reach), np.where(unknown, np.inf, about + reach)


def _sum(parts: list[Ends]) -> Ends:
    return sum((part[0] for part in parts[1:]), parts[0][0]), sum((part[1] for part in parts[1:]), parts[0][1])


def _intersect(ends: Ends, place: slice, new: Ends) -> None:
    np.fmax(ends[0][place], new[0], out=ends[0][place])
    np.fmin(ends[1][place], new[1], out=ends[1][place])
