"""The semidefinite program of a lifted relaxation: its matrices, in the scaled variables (1, δ/r, (w − middle)/half)."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.local import as_array
from polymargin.bounds.lifted.program import SemidefiniteProgram, SparseRows

if TYPE_CHECKING:
    from polymargin.bounds.lifted.relaxation import Relaxation

Array = NDArray[np.float64]


def assembled(relaxation: Relaxation) -> SemidefiniteProgram:
    """Unknowns in the order γ, μ, ν and κ of each lifted layer, θ, η, exchanges."""
    expansion, places, unknowns = relaxation.expansion, relaxation.places, relaxation.unknowns
    m, side, count = expansion.dimension, places[-1].stop, relaxation.unknown_count
    forms, starts = _forms(relaxation)
    held = [*(nu for nu, _ in unknowns), relaxation.first_place, relaxation.exchange_place]
    held = [run for run in held if run.start < run.stop]
    rows = np.concatenate([np.arange(run.start, run.stop) for run in held])
    own = {run.start: int(np.searchsorted(rows, run.start)) for run in held}  # where each run is among those held
    squares = np.zeros((len(rows), len(forms)))
    linear, diagonal = SparseRows(len(rows), side), SparseRows(count, side)
    diagonal.add(0, 0, -1.0)
    diagonal.add(1, 0, -1.0)
    diagonal.add(1, np.arange(1, 1 + m), 1.0)
    for k, (place, (nu, kappa)) in enumerate(zip(places, unknowns, strict=True)):
        below, middle, half = expansion.layers[k], relaxation.middles[k], relaxation.halves[k]
        each, row = np.arange(len(middle)), own[nu.start]
        weights = as_array(expansion.layers[k + 1].weights) / half[:, None]
        np.multiply(weights, -below.bend, out=squares[row : row + len(each), starts[k] : starts[k + 1]])
        constant = middle / half
        if k:
            steep = weights * below.rise
            constant = constant - steep @ relaxation.middles[k - 1]
            linear.add_block(row, places[k - 1].start, -steep * relaxation.halves[k - 1])
        linear.add(row + each, place.start + each, 1.0)
        linear.add(row + each, 0, constant)
        diagonal.add(kappa.start + each, 0, -1.0)
        diagonal.add(kappa.start + each, place.start + each, 1.0)
    for row, (neuron, (low, high)) in enumerate(relaxation.first.items(), own.get(relaxation.first_place.start, 0)):
        size = ((high - low) / 2) ** 2
        squares[row, neuron] = 1 / size
        linear.add_block(row, 0, -(low + high) / size * forms[[neuron]])
        linear.add(row, 0, low * high / size)
    for number in range(len(relaxation.exchange_scales)):
        row = own[relaxation.exchange_place.start] + number
        squares[row, [starts[-3] + number, starts[-2] + number]] = 0.25, -0.25
    cuts = relaxation.cut_place
    dense = tuple((row, _cut(relaxation, index)) for index, row in enumerate(range(cuts.start, cuts.stop)))
    intervals = (range(kappa.start, kappa.stop) for _, kappa in unknowns)
    signed = np.array([1, *chain(*intervals), *range(cuts.start, relaxation.first_place.stop)])
    return SemidefiniteProgram(
        _base(relaxation), forms, squares, linear.matrix(), diagonal.matrix(), tuple(held), signed, dense
    )


def _base(relaxation: Relaxation) -> Array:
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


def _forms(relaxation: Relaxation) -> tuple[Array, list[int]]:
    """tˡ of all layers but the last, then v·δ + (s − Cw) and v·δ − (s − Cw) of the exchanges, and where each of them begins."""
    expansion, places, m = relaxation.expansion, relaxation.places, relaxation.expansion.dimension
    layers, count = expansion.layers[:-1], len(relaxation.exchange_scales)
    starts: list[int] = np.cumsum([0, *(len(layer.value) for layer in layers), count, count]).tolist()
    result = np.zeros((starts[-1], places[-1].stop))
    for k, layer in enumerate(layers):
        rows = result[starts[k] : starts[k + 1]]
        np.multiply(layer.slopes, relaxation.radius, out=rows[:, 1 : 1 + m])
        if k:
            rows[:, 0] = relaxation.middles[k - 1]
            np.einsum("ii->i", rows[:, places[k - 1]])[:] = relaxation.halves[k - 1]
    if expansion.combinations is not None:
        above, below = result[starts[-3] : starts[-2]], result[starts[-2] :]
        above[:, 1 : 1 + m] = below[:, 1 : 1 + m] = expansion.combinations.along(expansion.layers[-1].slopes)
        differences = expansion.combinations.differences / relaxation.halves[-1][-count:, None]
        above[:, 0] += differences @ relaxation.middles[-1]
        above[:, places[-1]] = differences * relaxation.halves[-1]
        below[:, 0], below[:, places[-1]] = -above[:, 0], -above[:, places[-1]]
    return result, starts


def _cut(relaxation: Relaxation, index: int) -> Array:
    m, place, weights = relaxation.expansion.dimension, relaxation.places[0], relaxation.cuts[index]
    middle, half = relaxation.middles[0], relaxation.halves[0]
    result = np.zeros((relaxation.places[-1].stop, relaxation.places[-1].stop))
    result[0, 0] = weights @ middle**2
    result[0, place] = result[place, 0] = weights * middle * half
    np.einsum("ii->i", result)[place] = weights * half**2
    result[1 : 1 + m, 1 : 1 + m] -= relaxation.radius**4 * relaxation.squared_curvatures[index]
    result /= relaxation.cut_scales[index]
    return result
