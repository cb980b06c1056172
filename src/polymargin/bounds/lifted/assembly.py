"""The semidefinite program of a lifted relaxation: its matrices, in the scaled variables (1, δ/r, (w − middle)/half)."""

from __future__ import annotations

from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.local import as_array
from polymargin.relaxation.blocks import BlockMatrix
from polymargin.relaxation.program import SemidefiniteProgram

if TYPE_CHECKING:
    from polymargin.bounds.lifted.cubic_cut import CubicCut
    from polymargin.bounds.lifted.relaxation import LiftedRelaxation

Array = NDArray[np.float64]
# Row and column of the corner of each block, and its entries.
Blocks = list[tuple[int, int, Any]]


def assembled(relaxation: LiftedRelaxation) -> SemidefiniteProgram:
    """Unknowns in the order γ, μ, ν and κ of each lifted layer, θ of all cuts, η, exchanges."""
    unknowns, cuts, side = relaxation.unknowns, relaxation.cut_place, relaxation.places[-1].stop
    held = (*(nu for nu, _ in unknowns), relaxation.first_place, relaxation.exchange_place)
    rows = list(accumulate((run.stop - run.start for run in held), initial=0))  # of each run among those held
    forms, starts = _forms(relaxation)
    squares, linear = _squares(relaxation, rows, starts), _linear(relaxation, rows)
    intervals = (range(kappa.start, kappa.stop) for _, kappa in unknowns)
    dense = [(row, _cut(relaxation, index)) for index, row in enumerate(range(cuts.start, cuts.stop))]
    if relaxation.cubic is not None:
        dense.append((relaxation.cubic_place.start, _cubic(relaxation, relaxation.cubic)))
    return SemidefiniteProgram(
        _base(relaxation),
        BlockMatrix.stacked((starts[-1], side), forms),
        BlockMatrix.stacked((rows[-1], starts[-1]), squares),
        BlockMatrix.stacked((rows[-1], side), linear),
        BlockMatrix.stacked((relaxation.unknown_count, side), _diagonal(relaxation)),
        tuple(run for run in held if run.start < run.stop),
        np.array([1, *chain(*intervals), *range(cuts.start, relaxation.first_place.stop)]),
        tuple(dense),
    )


def _base(relaxation: LiftedRelaxation) -> Array:
    """What the top is of (1, δ, w)."""
    m, place, top = relaxation.expansion.dimension, relaxation.places[-1], relaxation.top
    slopes = relaxation.radius * relaxation.expansion.layers[-1].slopes
    middle, half = relaxation.middles[-1], relaxation.halves[-1]
    pull = top.square * middle + top.linear / 2
    result, inner = np.zeros((place.stop, place.stop)), slice(1, 1 + m)
    result[0, 0] = top.constant + (top.square * middle + top.linear) @ middle
    result[0, inner] = result[inner, 0] = pull @ slopes
    result[0, place] = result[place, 0] = pull * half
    result[inner, inner] = slopes.T @ (top.square[:, None] * slopes)
    mixed = (top.square * half)[:, None] * slopes
    result[place, inner], result[inner, place] = mixed, mixed.T
    np.einsum("ii->i", result)[place] = top.square * half**2
    return result


def _forms(relaxation: LiftedRelaxation) -> tuple[Blocks, list[int]]:
    """tˡ of all layers but the last, then v·δ + (s − Cw) and v·δ − (s − Cw) of the exchanges, and where each of them begins."""
    expansion, places, r = relaxation.expansion, relaxation.places, relaxation.radius
    layers, count, combinations = expansion.layers[:-1], len(relaxation.exchange_scales), expansion.combinations
    starts = list(accumulate((*(len(layer.value) for layer in layers), count, count), initial=0))
    result: Blocks = []
    for k, layer in enumerate(layers):
        middle = relaxation.middles[k - 1] if k else np.zeros(len(layer.value))
        result.append((starts[k], 0, np.hstack([middle[:, None], r * layer.slopes])))
        if k:
            result.append((starts[k], places[k - 1].start, relaxation.halves[k - 1]))
    if combinations is not None:
        directions = combinations.along(expansion.layers[-1].slopes)
        differences = combinations.differences / relaxation.halves[-1][-count:, None]
        for start, sign in zip(starts[-3:], (1, -1), strict=False):
            result.append((start, 0, np.hstack([sign * (differences @ relaxation.middles[-1])[:, None], directions])))
            result.append((start, places[-1].start, sign * differences * relaxation.halves[-1]))
    return result, starts


def _squares(relaxation: LiftedRelaxation, rows: list[int], starts: list[int]) -> Blocks:
    """Of ν in the forms of the layer below, of η in the first layer's, of exchanges in theirs."""
    result: Blocks = []
    for k, half in enumerate(relaxation.halves):
        below, above = relaxation.expansion.layers[k : k + 2]
        result.append((rows[k], starts[k], as_array(above.weights) * (-below.bend / half[:, None])))
    if relaxation.first:
        chosen = np.zeros((len(relaxation.first), len(relaxation.expansion.layers[0].value)))
        chosen[np.arange(len(chosen)), list(relaxation.first)] = relaxation.first_halves**-2
        result.append((rows[-3], 0, chosen))
    each = np.full(len(relaxation.exchange_scales), 0.25)
    return [*result, (rows[-2], starts[-3], each), (rows[-2], starts[-2], -each)]


def _linear(relaxation: LiftedRelaxation, rows: list[int]) -> Blocks:
    """Of ν in its own rests and those of the layer below, of η in δ."""
    expansion, middles, halves = relaxation.expansion, relaxation.middles, relaxation.halves
    result: Blocks = []
    for k, (place, middle, half) in enumerate(zip(relaxation.places, middles, halves, strict=True)):
        constant = middle / half
        if k:
            steep = as_array(expansion.layers[k + 1].weights) * expansion.layers[k].rise / half[:, None]
            constant = constant - steep @ middles[k - 1]
            result.append((rows[k], relaxation.places[k - 1].start, -steep * halves[k - 1]))
        result += [(rows[k], place.start, np.ones(len(half))), (rows[k], 0, constant[:, None])]
    if relaxation.first:
        low, high = np.array(list(relaxation.first.values())).T
        slopes = relaxation.radius * expansion.layers[0].slopes[list(relaxation.first)]
        both = np.hstack([(low * high)[:, None], -(low + high)[:, None] * slopes])
        result.append((rows[-3], 0, both / relaxation.first_halves[:, None] ** 2))
    return result


def _diagonal(relaxation: LiftedRelaxation) -> Blocks:
    """Of γ, μ and κ."""
    ball = np.ones((1, 1 + relaxation.expansion.dimension))
    ball[0, 0] = -1.0
    result: Blocks = [(0, 0, -np.ones((1, 1))), (1, 0, ball)]
    for place, (_, kappa) in zip(relaxation.places, relaxation.unknowns, strict=True):
        each = np.ones(kappa.stop - kappa.start)
        result += [(kappa.start, 0, -each[:, None]), (kappa.start, place.start, each)]
    return result


def _cut(relaxation: LiftedRelaxation, index: int) -> Array:
    m, place, weights = relaxation.expansion.dimension, relaxation.places[0], relaxation.cuts[index]
    middle, half = relaxation.middles[0], relaxation.halves[0]
    result = np.zeros((relaxation.places[-1].stop, relaxation.places[-1].stop))
    result[0, 0] = weights @ middle**2
    result[0, place] = result[place, 0] = weights * middle * half
    np.einsum("ii->i", result)[place] = weights * half**2
    result[1 : 1 + m, 1 : 1 + m] -= relaxation.radius**4 * relaxation.squared_curvatures[index]
    result /= relaxation.cut_scales[index]
    return result


def _cubic(relaxation: LiftedRelaxation, cut: CubicCut) -> Array:
    m, place, r = relaxation.expansion.dimension, relaxation.places[0], relaxation.radius
    middle, half = relaxation.middles[0], relaxation.halves[0]
    result, inner = np.zeros((relaxation.places[-1].stop, relaxation.places[-1].stop)), slice(1, 1 + m)
    slopes = -r * cut.weights[:, None] * relaxation.expansion.layers[1].slopes
    result[0, inner] = result[inner, 0] = middle @ slopes
    mixed = half[:, None] * slopes
    result[place, inner], result[inner, place] = mixed, mixed.T
    result[inner, inner] = -(r**2) * cut.inner(r)
    return result / abs(relaxation.size)
