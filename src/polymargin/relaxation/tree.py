"""Branch and bound: a region is split until every part is proved.

A part is split where the relaxation is least sure: at a breakpoint of a piecewise neuron whose value the dual solution does not
agree with, else where the constraint that is used most is far from tight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import Deadline, TimeUpError
from polymargin.networks.stages import Piecewise
from polymargin.relaxation.constraints.argument import Argument
from polymargin.relaxation.constraints.box import BoxConstraint
from polymargin.relaxation.constraints.encoding import number
from polymargin.relaxation.constraints.minorant import Minorant
from polymargin.relaxation.constraints.range import Range
from polymargin.relaxation.descent import lowest_points
from polymargin.relaxation.enclosures import Enclosures
from polymargin.relaxation.lemmas import ProvedEnclosures
from polymargin.relaxation.prover import Outcome, PreparedRegion
from polymargin.relaxation.space import ProgramCoordinates

Array = NDArray[np.float64]
Tree: TypeAlias = "dict[str, object]"
Offer: TypeAlias = "Callable[[str, NDArray[np.int64], tuple[Array, Array], Array, Array], None]"

MOST_LEAVES = 20_000
EMPTY = 1e-9
"""By how much ends cross, relatively, where a checker sees that a part is empty."""
PROGRESS = 0.15
"""Of the bound before a split, by which it rises where the split was a good one."""
INNER = 0.2
"""How far from the ends splits are, relative to the interval."""
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
    """A part of the region, the tree that will stand for it, and where the functional is likely to be low (1, d)."""

    part: Enclosures
    tree: Tree
    start: Array | None = None
    cut_forms: frozenset[int] = frozenset()
    before: float = -np.inf


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
        here = _on(whole, node.part, node.cut_forms)
        if here is None:  # intervals that contradict each other: no point has all these values
            node.tree["empty"] = True
            continue
        region = node.part.region
        values, steps = lowest_points(whole.network, point, region, label, [rival], node.start, deadline=deadline)
        # A part that the ball does not meet has places that it does not allow.
        if values[0] - lead <= 0 and region.lengths(steps[0]) <= region.radius:
            return None, steps[0]
        found = here.bound(here.relaxation(label, rival, lead, steps[0]), steps[0], decide=True, deadline=deadline)
        if found.leaf is not None:
            node.tree.update(found.leaf)
            leaves += 1
            continue
        split = _split(here, found, steps[0], node.before)
        if split is None:
            return None, None
        cut = node.cut_forms | {split.place} if split.word == "argument" else node.cut_forms
        low, high = (_Node(part, {}, steps, cut, found.value) for part in split.sides(node.part))
        node.tree.update(split=[split.word, split.place, number(split.value)], low=low.tree, high=high.tree)
        waiting += [high, low]
    return root.tree, None


def _on(whole: PreparedRegion, part: Enclosures, cut_forms: frozenset[int]) -> PreparedRegion | None:
    for low, high in (part.variables, part.arguments):
        crossed = np.flatnonzero(low > high)
        first, last = low[crossed], high[crossed]
        if not (np.isfinite(first) & np.isfinite(last)).all():
            return None
        if (first - last > EMPTY * (np.abs(first) + np.abs(last))).any():
            return None
        low[crossed] = high[crossed] = (first + last) / 2  # they cross by rounding, which is not emptiness yet
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
    return replace(whole, perturbations=part.region, is_cut=is_cut, proved=proved, cut_forms=cut_forms)


def _split(here: PreparedRegion, found: Outcome, worst: Array, before: float) -> Split | None:
    """Return a split where the relaxation is least sure; None where no double lies between the ends.

    Where the last split hardly raised the bound it halves what is widest: narrow intervals of variables alone do not make every
    relaxation tight.
    """
    place = here.space.place(worst)
    if found.optimum is not None and found.optimum.X[0, 0] > 0:
        place = found.optimum.X[0] / found.optimum.X[0, 0]
    at_breakpoint = _at_breakpoint(here, place)
    if at_breakpoint is None and found.value - before < PROGRESS * abs(before):
        return _widest(here)
    return at_breakpoint or _at_slack(here, found, place) or _widest(here)


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


def _at_slack(here: PreparedRegion, found: Outcome, place: Array) -> Split | None:
    """The constraint that is used most where it is not tight: what multiplier · constraint adds at a place is the gap there."""
    if found.y is None or len(found.y) != found.relaxation.count:  # not even a guess
        return None
    space, parts, y = here.space, found.relaxation.parts, found.y
    scores: list[tuple[float, Split]] = []

    def offer(word: str, numbers: NDArray[np.int64], ends: tuple[Array, Array], at: Array, score: Array) -> None:
        low, high = ends
        value = np.clip(at, low + INNER * (high - low), high - INNER * (high - low))
        possible = (low < value) & (value < high) & (score > 0)
        if possible.any():
            best = int(np.argmax(np.where(possible, score, -np.inf)))
            scores.append((float(score[best]), Split(word, int(numbers[best]), float(value[best]))))

    for constraint in found.relaxation.constraints:
        own = y[parts[constraint.name]]
        if isinstance(constraint, BoxConstraint):
            s, region = place[1 : space.first], here.perturbations
            offer("input", np.arange(len(s)), (region.low, region.high), space.coordinates.steps(s), own * (1 - s**2))
        elif isinstance(constraint, Range):
            v = place[space.first :]
            ends = space.enclosures.variables[0][: len(v)], space.enclosures.variables[1][: len(v)]
            offer("variable", np.arange(len(v)), ends, space.middle + space.half * v, own * (1 - v**2))
        elif isinstance(constraint, Argument):
            low, high = (ends[constraint.chosen] for ends in space.enclosures.arguments)
            t = np.concatenate([space.arguments(k) for k in range(len(space.groups))])[constraint.chosen] @ place
            offer("argument", constraint.chosen, (low, high), t, own * (t - low) * (high - t) / constraint.squares)
        elif isinstance(constraint, Minorant):
            _offer_neurons(here, constraint, own, place, offer)
    return max(scores, key=lambda one: one[0])[1] if scores else None


def _offer_neurons(here: PreparedRegion, minorant: Minorant, y: Array, place: Array, offer: Offer) -> None:
    """Offer the arguments of neurons, by how far the parabolas in use are from the function."""
    space, p = here.space, minorant.parabolas
    weight = minorant.mixture(y)
    for neurons in space.neurons:
        x = space.inputs(neurons) @ place
        group = space.expansion.groups[neurons.group]
        own = np.flatnonzero((p.neuron >= neurons.number) & (p.neuron < neurons.number + len(x)))
        local = p.neuron[own] - neurons.number
        gap = weight[own] * np.abs(
            here.values(neurons, x)[local] - (p.a[own] * x[local] + p.b[own]) * x[local] - p.c[own]
        )
        score = np.zeros(len(x))
        np.add.at(score, local, gap)
        low, high = (ends[neurons.forms] for ends in space.enclosures.of_forms(group))
        t = x if neurons.powers is not None else x - group.value[neurons.forms]
        offer("argument", group.start + neurons.forms, (low, high), t, score)


def _widest(here: PreparedRegion) -> Split | None:
    """Halve the input that moves most, or the argument that varies most in coordinates of forms."""
    space, region = here.space, here.perturbations
    if space.coordinates.is_diagonal:
        word, start, low, high, size = "input", 0, region.low, region.high, region.weights
    else:
        group = space.groups[0]
        low, high = space.enclosures.of_forms(group)
        word, start, size = "argument", group.start, np.ones(len(low))
    own = int(np.argmax((high - low) * size))
    value = float((low[own] + high[own]) / 2)
    return Split(word, start + own, value) if low[own] < value < high[own] else None
