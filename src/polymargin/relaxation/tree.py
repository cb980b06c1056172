"""Branch and bound: a region is split until every part is proved.

A part is split where the relaxation is least sure: at a breakpoint of a piecewise neuron whose value the dual solution does not
agree with, else in the middle of the coordinate, or the argument of a form, that varies most in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import Deadline, TimeUpError
from polymargin.networks.stages import Piecewise
from polymargin.relaxation.constraints.encoding import number
from polymargin.relaxation.descent import lowest_points
from polymargin.relaxation.enclosures import Enclosures
from polymargin.relaxation.lemmas import ProvedEnclosures
from polymargin.relaxation.prover import Outcome, PreparedRegion
from polymargin.relaxation.space import ProgramCoordinates

Array = NDArray[np.float64]
Tree: TypeAlias = "dict[str, object]"

MOST_LEAVES = 20_000
DISAGREEMENT = 1e-3
"""Of a neuron's value with its function, relative to half its range: below it other splits are better."""


@dataclass(frozen=True)
class Split:
    """A cut of an input, a variable or an argument, by its number, at a value."""

    word: str
    place: int
    value: float

    def sides(self, part: Enclosures) -> tuple[Enclosures, Enclosures]:
        """Return the part below the value and the part above it."""
        low, high = self._ends(part)
        return self._side(part, low, self.value), self._side(part, self.value, high)

    def _ends(self, part: Enclosures) -> tuple[float, float]:
        ends = {
            "input": (part.region.low, part.region.high),
            "variable": part.variables,
            "argument": part.arguments,
        }[self.word]
        return float(ends[0][self.place]), float(ends[1][self.place])

    def _side(self, part: Enclosures, low: float, high: float) -> Enclosures:
        result = part.copy()
        if self.word == "input":
            result.region = part.region.cut(self.place, low, high)
        else:
            ends = result.variables if self.word == "variable" else result.arguments
            ends[0][self.place], ends[1][self.place] = low, high
        result.narrow()
        return result


@dataclass(eq=False)
class _Node:
    """A part of the region, and the tree that will stand for it."""

    part: Enclosures
    tree: Tree


def prove_in_parts(
    whole: PreparedRegion, point: Array, label: int, rival: int, lead: float, deadline: Deadline
) -> tuple[Tree | None, Array | None]:
    """Return a tree of splits whose leaves are proved; else a step δ at which the rival wins, where one was met."""
    try:
        return _proved(whole, point, label, rival, lead, deadline)
    except TimeUpError:
        return None, None


def _proved(
    whole: PreparedRegion, point: Array, label: int, rival: int, lead: float, deadline: Deadline
) -> tuple[Tree | None, Array | None]:
    root = _Node(whole.proved.enclosures, {})
    waiting, leaves = [root], 0
    while waiting:
        if deadline.passed or leaves + len(waiting) > MOST_LEAVES:
            return None, None
        node = waiting.pop()
        here = _on(whole, node.part)
        if here is None:  # intervals that contradict each other: no point has all these values
            node.tree["empty"] = True
            continue
        values, steps = lowest_points(whole.network, point, node.part.region, label, [rival], deadline=deadline)
        if values[0] - lead <= 0:
            return None, steps[0]
        found = here.bound(here.relaxation(label, rival, lead, steps[0]), steps[0], decide=True, deadline=deadline)
        if found.leaf is not None:
            node.tree.update(found.leaf)
            leaves += 1
            continue
        split = _split(here, found, steps[0])
        if split is None:
            return None, None
        low, high = (_Node(part, {}) for part in split.sides(node.part))
        node.tree.update(split=[split.word, split.place, number(split.value)], low=low.tree, high=high.tree)
        waiting += [high, low]
    return root.tree, None


def _on(whole: PreparedRegion, part: Enclosures) -> PreparedRegion | None:
    if any((low > high).any() for low, high in (part.variables, part.arguments)):
        return None
    coordinates = whole.proved.coordinates
    is_cut = whole.is_cut
    if coordinates.is_diagonal:
        is_cut = (
            is_cut
            or not np.array_equal(part.region.low, whole.perturbations.low)
            or not np.array_equal(part.region.high, whole.perturbations.high)
        )
        coordinates = ProgramCoordinates.of(part.expansion, part.region, is_cut=True) if is_cut else coordinates
    proved = ProvedEnclosures(part, coordinates, whole.proved.shape)
    return replace(whole, perturbations=part.region, is_cut=is_cut, proved=proved)


def _split(here: PreparedRegion, found: Outcome, worst: Array) -> Split | None:
    space = here.space
    place, spread = space.place(worst), np.zeros(space.size)
    if found.optimum is not None and found.optimum.X[0, 0] > 0:
        moments = found.optimum.X / found.optimum.X[0, 0]
        place = moments[0]
        spread = np.maximum(np.diagonal(moments) - place**2, 0.0)
    return _at_breakpoint(here, place) or _widest(here, spread)


def _at_breakpoint(here: PreparedRegion, place: Array) -> Split | None:
    """The neuron whose value differs most from its function, at the breakpoint next to its argument."""
    space, best, result = here.space, DISAGREEMENT, None
    for neurons in space.neurons:
        if neurons.powers is not None:
            continue
        stage = space.expansion.network.stages[neurons.stage - 1]
        assert isinstance(stage, Piecewise)
        group = space.expansion.groups[neurons.group]
        z = space.inputs(neurons) @ place
        y = space.middle[neurons.places] + space.half[neurons.places] * place[space.first :][neurons.places]
        low, high = space.enclosures.inputs_of(neurons)
        gaps = np.abs(y - stage.activate(z)) / np.maximum(space.half[neurons.places], 1e-300)
        for own in np.argsort(-gaps):
            inside = [b for b in stage.breakpoints if low[own] < b < high[own]]
            if gaps[own] <= best or not inside:
                continue
            cut = min(inside, key=lambda b: abs(b - z[own]))
            form = group.start + int(neurons.forms[own])
            value = float(cut - group.value[neurons.forms[own]])
            if space.enclosures.arguments[0][form] < value < space.enclosures.arguments[1][form]:
                best, result = float(gaps[own]), Split("argument", form, value)
    return result


def _widest(here: PreparedRegion, spread: Array) -> Split | None:
    space, region = here.space, here.perturbations
    if space.coordinates.is_diagonal:
        width = (region.high - region.low) * region.weights
        score = (spread[1 : space.first] + 1e-3) * width**2
        own = int(np.argmax(score))
        value = float((region.low[own] + region.high[own]) / 2)
        return Split("input", own, value) if region.low[own] < value < region.high[own] else None
    group = space.groups[0]
    rows = space.arguments(0)
    low, high = space.enclosures.of_forms(group)
    score = (rows**2 @ (spread + 1e-3)) * (high - low) ** 2
    own = int(np.argmax(score))
    value = float((low[own] + high[own]) / 2)
    return Split("argument", group.start + own, value) if low[own] < value < high[own] else None
