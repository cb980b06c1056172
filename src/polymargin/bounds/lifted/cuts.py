"""Which cuts a relaxation gets: of Cauchy and Schwarz the one that pays, and those that its solution breaks; the cubic one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.lifted.cubic_cut import CubicCut
from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.local import as_array
from polymargin.bounds.lifted.relaxation import LiftedRelaxation
from polymargin.bounds.lifted.top import Top
from polymargin.relaxation.algebra import NUMPY

Array = NDArray[np.float64]

# How large the weights of a further cut are, relative to those of the first.
EXTRA_CUT = 1.0
# Cuts that are broken by less than this, relative to the largest moment, are not worth a row.
BROKEN = 1e-3
# A cut costs a matrix with the square of the width of the first layer, which a GPU has at once.
WIDEST_CUT = 2000
WIDEST_CUT_ON_GPU = 20_000


def cut_weights(expansion: LiftedExpansion, top: Top, ranges: Sequence[Array]) -> Array:
    """The one cut that pays: where the functional is concave in the rests of the second layer, by how much. (1 or 0, h₂)."""
    widest = WIDEST_CUT if expansion.algebra is NUMPY else WIDEST_CUT_ON_GPU
    if not ranges or len(expansion.layers[0].value) > widest:
        return np.zeros((0, len(ranges[0]) if ranges else 0))
    weights = np.maximum(0.0, -_second_squares(expansion, top, ranges))
    return weights[None] if weights.any() else np.zeros((0, len(weights)))


def cubic_cut(expansion: LiftedExpansion, top: Top, ranges: Sequence[Array], place: Array) -> CubicCut | None:
    """For products as the last solution had them, or as they are where the rests are in the middle of their ranges."""
    weights = expansion.known.get(CubicCut)
    return CubicCut.of(expansion, _second_squares(expansion, top, ranges) if weights is None else weights, place)


def _second_squares(expansion: LiftedExpansion, top: Top, ranges: Sequence[Array]) -> Array:
    """½∂²/∂w² of the functional for the second layer, where the rests are in the middle of their ranges and δ = 0."""
    middles = [limits.mean(axis=1) for limits in ranges]
    slope, square = top.linear + 2 * top.square * middles[-1], top.square
    for below, above, middle in zip(expansion.layers[-2:0:-1], expansion.layers[:1:-1], middles[-2::-1], strict=True):
        weight = slope @ above.weights
        slope, square = weight * (below.rise + 2 * below.bend * middle), weight * below.bend
    return np.asarray(square)


def violated_cut(relaxation: LiftedRelaxation, X: Array) -> Array | None:
    """Weights (h₂,) of the cut that the moments X break most, by how much each neuron breaks it; None if none does.

    E(w_i²) − r² E‖Q_iδ‖², with ‖Q_iδ‖² = c² (W_i ∘ t)ᵀ W¹W¹ᵀ (W_i ∘ t) for t = W¹δ.
    """
    expansion, m = relaxation.expansion, relaxation.expansion.dimension
    if not relaxation.ranges or len(expansion.layers[0].value) > WIDEST_CUT:
        return None
    first, second, place = expansion.layers[0], as_array(expansion.layers[1].weights), relaxation.places[0]
    X = X / X[0, 0]
    middle, half = relaxation.middles[0], relaxation.halves[0]
    squares = half**2 * np.diagonal(X)[place] + 2 * middle * half * X[0, place] + middle**2
    moved = relaxation.radius**2 * (first.slopes @ X[1 : 1 + m, 1 : 1 + m] @ first.slopes.T)
    mixed = (first.slopes @ first.slopes.T) * moved
    bounds = (relaxation.radius * first.bend) ** 2 * ((second @ mixed) * second).sum(axis=1)
    broken = np.maximum(0.0, squares - bounds)
    if broken.max() <= BROKEN * float(squares.max()):
        return None
    # At the start it should count for little beside the first cut, whose weights are curvatures of the functional.
    scale = relaxation.cuts.max() if len(relaxation.cuts) else abs(relaxation.size) / squares.max()
    return np.asarray(EXTRA_CUT * scale * broken / broken.max())
