"""The quadratic form that the multipliers of a leaf make of B and of what is known about δ and w.

In the variables (1, δ, w², …, wᴸ), with tˡ = aˡδ + wˡ, it is the matrix of

    B − μ(r² − ‖δ‖²) + Σ νˡ_i (wˡ_i − Σ_j Wˡ_ij (σ'(p_j) w_j + c t_j²)) − Σ κˡ_i (wˡ_i − lo)(hi − wˡ_i)
      − Σ θ_i (r²‖Q_iδ‖² − (w²_i)²) − Σ η_j (t¹_j − lo)(hi − t¹_j) − (2 Σ x_j (a²_j·δ) w²_j + r b‖δ‖² + (r/b) δᵀRδ).

What follows μ, κ, θ and η is not negative on the leaf, and neither is the last bracket, which a leaf may have, with R from x
(`Surroundings.mixed_squares`); what follows ν is zero: where the form is positive, so is B. Combinations of the last layer's
rests are variables too, with a ν and a κ each (`lifted_combinations`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from flint import fmpq

from polymargin_checker.lifted_combinations import StatedCombinations
from polymargin_checker.lifted_expansion import HiddenLayers, LiftedCoordinates, Range, Ranges


@dataclass(frozen=True)
class TopMinorant:
    """B ≥ constant + linear·t + square·t² for the t of the last layer; columns and a number."""

    linear: Any
    square: Any
    constant: Any


@dataclass(frozen=True)
class Cubic:
    """x per neuron of layer 2, which is not the last, and b > 0."""

    weights: list[fmpq]
    balance: fmpq


@dataclass(frozen=True)
class ExactMultipliers:
    """μ, ν and κ per lifted layer, θ per neuron of layer 2, η per first-layer neuron that was split, e per combination, x and b.

    The last layer's ν and κ go on with those of the combinations.
    """

    ball: fmpq
    equalities: list[list[fmpq]]
    intervals: list[list[fmpq]]
    cuts: list[fmpq]
    first: list[fmpq]
    exchanges: list[fmpq] = field(default_factory=list)
    cubic: Cubic | None = None


def form(
    expansion: HiddenLayers,
    frame: LiftedCoordinates,
    top: TopMinorant,
    given: ExactMultipliers,
    ranges: Ranges,
    first: dict[int, Range],
    combined: StatedCombinations | None = None,
) -> Any | None:
    """B minus all constraints times their multipliers, the least over all w², …, wᴸ, as a form over 1 and the frame.

    With combinations the ranges of the last layer go on with theirs. A cubic part needs the frame of δ itself.

    The rests meet each other nowhere, so their block of the whole matrix is diagonal and each is minimised by a division. None
    unless that block is surely positive; then the whole matrix is positive definite if and only if what is returned is.
    """
    of, layers, r2 = expansion.arithmetic.of, expansion.layers, expansion.radius * expansion.radius
    minus = fmpq(-1)
    equalities = [of(len(values), 1, values) for values in given.equalities]  # ν per lifted layer, as columns
    # What multiplies tˡ_j² and wˡ_j: −Wᵀν of the layer above times c and σ'(p), or what the last layer says.
    weights, last = [layer.weights for layer in layers[1:]], (top.linear, top.square)
    if combined is not None:
        weights[-1] = combined.last_weights
        last = (combined.padded(top.linear), combined.padded(top.square))
    outer = [(matrix.transpose @ column).times(minus) for matrix, column in zip(weights, equalities, strict=True)]
    squares = [*(factor.times(layer.bend) for factor, layer in zip(outer, layers[:-1], strict=True)), last[1]]
    linears = [*(factor.entrywise(layer.rise) for factor, layer in zip(outer, layers[:-1], strict=True)), last[0]]
    border = frame.slopes[-1].transpose @ top.linear
    if first:
        curve, pull = _split_neurons(expansion, given.first, first)
        squares[0] = squares[0] + curve
        border = border + frame.slopes[0].transpose @ pull
    meets, inner = list(squares), frame.slopes[0].form(squares[0]).shifted(given.ball, frame.metric, 1)
    if given.cubic is not None:
        x, b = of(len(given.cubic.weights), 1, given.cubic.weights), given.cubic.balance
        meets[1] = meets[1] + x.times(minus)
        mixed = expansion.around.mixed_squares(x, symmetric=True)
        inner = inner + mixed.times(-expansion.radius / b).shifted(-expansion.radius * b, None, 1)
    if any(given.cuts):
        inner = inner + frame.squared_curvatures(of(len(given.cuts), 1, given.cuts)).times(-r2)
    corner = top.constant + of(1, 1, [_corner(given, ranges, first) - given.ball * r2])
    for k, (kappa, part) in enumerate(zip(given.intervals, ranges, strict=True)):
        slopes, square, size = frame.slopes[k + 1], squares[k + 1], len(kappa)
        linear = equalities[k] + linears[k + 1]
        linear = linear + of(size, 1, [-q * (lo + hi) for q, (lo, hi) in zip(kappa, part, strict=True)])
        thetas = given.cuts if k == 0 else []
        own = square + of(size, 1, [q + theta for q, theta in zip_longest(kappa, thetas, fillvalue=fmpq(0))])
        inverse = own.inverse()
        if inverse is None:
            return None
        # own·w² + (linear + 2 g·δ) w is at least −(linear/2 + g·δ)²/own, where g is meets·a but for combinations.
        if combined is not None and k + 2 == len(layers):
            products = combined.products(slopes, top.square, given.exchanges)
            inner = inner + slopes.form(top.square) + products.form(inverse.times(minus))
            border = border + products.transpose @ inverse.entrywise(linear).times(minus)
        else:
            ratio = meets[k + 1].entrywise(inverse)
            inner = inner + slopes.form(square + meets[k + 1].entrywise(ratio).times(minus))
            border = border + slopes.transpose @ ratio.entrywise(linear).times(minus)
        corner = corner + (linear.transpose @ linear.entrywise(inverse)).times(fmpq(-1, 4))
    return inner.bordered(corner, border.times(fmpq(1, 2)))


def _corner(given: ExactMultipliers, ranges: Ranges, first: dict[int, Range]) -> fmpq:
    """Σ κ lo hi + Σ η lo hi."""
    products = [
        kappa * lo * hi
        for kappas, part in zip(given.intervals, ranges, strict=True)
        for kappa, (lo, hi) in zip(kappas, part, strict=True)
    ]
    products += [eta * lo * hi for eta, (lo, hi) in zip(given.first, first.values(), strict=True)]
    return sum(products, fmpq(0))


def _split_neurons(expansion: HiddenLayers, multipliers: list[fmpq], first: dict[int, Range]) -> tuple[Any, Any]:
    """What −Σ η_j (t¹_j − lo)(hi − t¹_j) adds to the factors of (t¹_j)² and of t¹_j, as columns."""
    size = len(expansion.layers[0].value)
    curve, pull = [fmpq(0)] * size, [fmpq(0)] * size
    for eta, (neuron, (lo, hi)) in zip(multipliers, first.items(), strict=True):
        curve[neuron], pull[neuron] = eta, -eta * (lo + hi)
    return expansion.arithmetic.of(size, 1, curve), expansion.arithmetic.of(size, 1, pull)
