"""Branch and bound on the lifted relaxation.

Where the relaxation of the whole ball does not decide, a range is cut in two and both parts are bounded anew: the rest w of a
deeper neuron, or a first-layer neuron, whose narrower range narrows the rests above it. The one to cut is where the dual
matrix, which holds moments of the worst inputs, spreads most, weighted by what the spread costs. The worst part goes first.
Parts do without combinations of rests (`combinations.py`): a cut narrows the rests and not these, and they cost more than they
save there.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.parts import Part, bound_part
from polymargin.bounds.lifted.question import Question
from polymargin.bounds.lifted.ranges import rest_ranges, spectra
from polymargin.bounds.lifted.relaxation import LiftedRelaxation
from polymargin.bounds.lifted.tree import LiftedLeaf, LiftedProof, LiftedSplit
from polymargin.deadlines import Deadline, TimeUpError
from polymargin.relaxation.interior_point import Optimum

Array = NDArray[np.float64]

# Cut within this central part of a range.
CENTRAL = 0.6
# A range that is this much narrower than the widest of its layer is not cut.
NARROW = 1e-5


@dataclass(frozen=True, eq=False)
class Search:
    """How a search ended: proof, number of leaves proved, parts left open, the reason, and a place B ≤ 0 seems to hold."""

    proof: LiftedProof | None
    leaves: int
    open_parts: int
    reason: str
    place: Array | None = None


def prove_positive(
    question: Question, deadline: Deadline, most_leaves: int, suspect: Callable[[Array], bool]
) -> Search:
    """B > 0 on the ball; `suspect` says whether a place is a counterexample, which ends the search."""
    expansion = question.expansion
    try:
        whole = None if question.combined(deadline) is question else question.attempt(deadline)[1]
        if whole is not None:
            return Search(whole, 1, 0, "proved")
        root = Part(tuple(rest_ranges(expansion, question.radius, deadline)))
        curvatures = spectra(expansion, question.radius, deadline)
    except TimeUpError:
        return Search(None, 0, 1, "timeout")
    numbers = count()
    found: dict[int, LiftedLeaf | tuple[int, int, float, int, int]] = {}
    waiting: list[tuple[float, int, Part]] = [(-math.inf, next(numbers), root)]
    leaves = 0
    while waiting:
        if deadline.passed:
            return Search(None, leaves, len(waiting), "timeout")
        if leaves + len(waiting) > most_leaves:
            return Search(None, leaves, len(waiting), "too many leaves")
        _, number, part = heapq.heappop(waiting)
        outcome = bound_part(question, part, whole=part is root, deadline=deadline)
        if outcome.leaf is not None:
            found[number] = outcome.leaf
            leaves += 1
            continue
        if outcome.optimum is None:
            reason = "too large" if question.by_guesses else "rounding"
            reason = "timeout" if deadline.passed else reason
            return Search(None, leaves, 1 + len(waiting), reason)
        place = minimiser(outcome.optimum, outcome.relaxation)
        if suspect(place):
            return Search(None, leaves, 1 + len(waiting), "counterexample", place)
        layer, neuron, value, part = choose_cut(question, part, outcome.optimum, outcome.relaxation)
        low, high = next(numbers), next(numbers)
        found[number] = (layer, neuron, value, low, high)
        for name, half in zip((low, high), part.cut(layer, neuron, value), strict=True):
            heapq.heappush(waiting, (outcome.value, name, half))
    return Search(LiftedProof(root.rests, _tree(found, 0), curvatures), leaves, 0, "proved")


def minimiser(optimum: Optimum, relaxation: LiftedRelaxation) -> Array:
    """δ at which the relaxation attains its least value, if the dual matrix has rank one; a mean otherwise."""
    X, m = optimum.X, relaxation.expansion.dimension
    return np.asarray(np.nan_to_num(relaxation.radius * X[1 : 1 + m, 0] / X[0, 0]))


def choose_cut(
    question: Question, part: Part, optimum: Optimum, relaxation: LiftedRelaxation
) -> tuple[int, int, float, Part]:
    """Layer, neuron and value of the best cut, and the part with the range of that neuron made explicit."""
    X = optimum.X / optimum.X[0, 0]
    natural = relaxation.natural(optimum.y)
    best: tuple[float, int, int, float] = (-1.0, 0, 0, 0.0)
    slopes, inner = question.radius * question.expansion.layers[0].slopes, slice(1, 1 + question.expansion.dimension)
    means, squares = slopes @ X[inner, 0], ((slopes @ X[inner, inner]) * slopes).sum(axis=1)
    reach = question.radius * question.expansion.view.norms
    limits = np.stack([-reach, reach], axis=-1)
    for neuron, ends in part.first.items():
        limits[neuron] = ends
    cost = np.abs(natural.equalities[0] @ question.expansion.layers[1].weights) * abs(question.expansion.layers[0].bend)
    best = _better(best, 1, cost, means, squares - means**2, limits)
    for k, place in enumerate(relaxation.places):
        half, last = relaxation.halves[k], k + 1 == len(relaxation.places)
        means = relaxation.middles[k] + half * X[0, place]
        spread = half**2 * (np.diagonal(X)[place] - X[0, place] ** 2)
        above = question.expansion.layers[k + 1 if last else k + 2].weights
        bend = question.expansion.layers[k + 1].bend
        cost = relaxation.top.square if last else bend * (natural.equalities[k + 1] @ above)
        best = _better(best, k + 2, np.abs(cost), means, spread, relaxation.ranges[k])
    _, number, neuron, value = best
    if number == 1 and neuron not in part.first:
        low, high = limits[neuron].tolist()
        part = Part(part.rests, {**part.first, neuron: (low, high)})
    return number, neuron, value, part


def _better(
    best: tuple[float, int, int, float], layer: int, cost: Array, means: Array, spread: Array, limits: Array
) -> tuple[float, int, int, float]:
    widths = limits[:, 1] - limits[:, 0]
    score = np.where(widths > NARROW * widths.max(), np.nan_to_num(cost * spread), 0.0)
    neuron = int(np.argmax(score))
    if score[neuron] <= best[0]:
        return best
    middle, half = limits[neuron].mean(), (limits[neuron, 1] - limits[neuron, 0]) / 2
    return (
        float(score[neuron]),
        layer,
        neuron,
        float(np.clip(means[neuron], middle - CENTRAL * half, middle + CENTRAL * half)),
    )


def _tree(found: dict[int, LiftedLeaf | tuple[int, int, float, int, int]], number: int) -> LiftedSplit | LiftedLeaf:
    node = found[number]
    if isinstance(node, LiftedLeaf):
        return node
    layer, neuron, value, low, high = node
    return LiftedSplit(layer, neuron, value, _tree(found, low), _tree(found, high))
