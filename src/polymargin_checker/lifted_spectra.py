"""Ranges of the rests beyond the second layer from their curvatures.

With x_j = c Wˡ_ij over layer l − 1, a and c those of that layer, and t > 1 stated by the proof,

    wˡ_i ≤ δᵀ(L_i + t²/(t² − 1) Σ x_j a_j a_jᵀ + t/(t² − 1) Σ |x_j| a_j a_jᵀ + t r² Σ |x_j| N_j)δ + r²ε_i

on the ball, where L_i is what wˡ⁻¹ adds to second order, and −wˡ_i is at most the same with −L_i and −x_j in the first sum. For
l = 3 N_j = Q_j² and ε = 0. Above it N_j = ρ_j², |wˡ⁻¹_j| ≤ r²ρ_j, and ε_i = Σ |Wˡ_ij σ'(p_j)| η_j, where |eˡ⁻¹_j| ≤ r²η_j for
what is not of second order in wˡ⁻¹_j. A proof states η of all layers but the last, and proved here is also

    η_i > 1/(t − 1) Σ |x_j| a_j a_jᵀ + t r² Σ |x_j| N_j + ε_i

(docs/theorems.md, section 9). What is proved of a matrix does not depend on the rival, and is not proved again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from flint import ctx, fmpq

from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.lifted_combinations import Combinations
from polymargin_checker.lifted_expansion import HiddenLayers, Range, Surroundings, rational_above
from polymargin_checker.model import Model
from polymargin_checker.refusal import Refused
from polymargin_checker.work import spend

LOWER, UPPER, ERROR = "lower", "upper", "error"
Levels = dict[tuple[int, str], fmpq]
"""Per neuron and side: what is claimed to dominate, as a multiple of the identity."""


@dataclass(frozen=True)
class ShownLevel:
    """With this t a form is below `level` times the identity on balls up to this radius."""

    stretch: fmpq
    radius: fmpq
    level: fmpq

    def covers(self, other: ShownLevel) -> bool:
        return self.stretch == other.stretch and self.radius >= other.radius and self.level <= other.level


Shown = dict[tuple[int, int, str], ShownLevel]
"""Per layer, neuron and side."""


@dataclass(frozen=True)
class Known:
    """What is proved about a model at a point, for every rival.

    curvatures   per second-layer neuron and side: the least multiple of the identity known to dominate ±Q_i
    spectra      per deeper layer, neuron and side
    around       the model, and its layers around the point (one pair or none)
    products     a network of products around the point (one or none), with what is proved of its curvatures
    """

    curvatures: dict[tuple[int, str], fmpq] = field(default_factory=dict)
    spectra: Shown = field(default_factory=dict)
    around: list[tuple[Model, Surroundings]] = field(default_factory=list)
    products: list[Any] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Neurons:
    """Neurons of a layer, or combinations of the last one's: their weights, and what a refusal calls them."""

    layer: int
    weights: Any
    name: str


class ProvedSpectra:
    """t and the stated η, and proofs of ends with them, one layer after the other."""

    def __init__(self, expansion: HiddenLayers, value: Any, known: Known) -> None:
        fields(value, "spectra", ("stretch", "errors"))
        self._expansion, self._known = expansion, known
        self._stretch = number(value["stretch"], "spectra, stretch")
        if not self._stretch > 1:
            raise Refused("spectra, stretch: expected a number above 1")
        entries = items(value["errors"], "spectra, errors", len(expansion.layers) - 3)
        self._errors = [self._read(entry, layer) for layer, entry in enumerate(entries, start=3)]

    def _read(self, value: Any, layer: int) -> list[fmpq]:
        where = f"spectra, errors of layer {layer}"
        return [number(entry, where) for entry in items(value, where, len(self._expansion.layers[layer - 1].value))]

    def prove(self, layer: int, ranges: list[Range], below: list[Range], ends: list[tuple[int, str]]) -> None:
        """That the rests do not leave these ends of their ranges, given those of the layer below, and what is said of η."""
        claims = self._levels(ranges, ends)
        if layer < len(self._expansion.layers):
            claims |= {(i, ERROR): level for i, level in enumerate(self._errors[layer - 3])}
        self._prove(self._neurons(layer), claims, below, self._known.spectra)

    def prove_combined(self, combined: Combinations, below: list[Range]) -> None:
        """The same for combinations of the last layer's rests. They are this proof's alone: nothing of them is known or kept."""
        own = Neurons(len(self._expansion.layers), combined.neurons, "combinations, ranges, entry")
        ends = [(place, side) for place in range(len(combined.ranges)) for side in (LOWER, UPPER)]
        self._prove(own, self._levels(combined.ranges, ends), below, {})

    def _neurons(self, layer: int) -> Neurons:
        return Neurons(layer, self._expansion.layers[layer - 1].weights, f"ranges of layer {layer}, neuron")

    def _levels(self, ranges: list[Range], ends: list[tuple[int, str]]) -> Levels:
        square = self._expansion.radius * self._expansion.radius
        return {(i, side): (-ranges[i][0] if side == LOWER else ranges[i][1]) / square for i, side in ends}

    def _prove(self, own: Neurons, claims: Levels, below: list[Range], known: Shown) -> None:
        """What is claimed and not known already; it is known then."""
        more = self._scalars(own, below)
        open_claims: dict[int, list[tuple[str, ShownLevel]]] = {}
        for (neuron, side), level in claims.items():
            claim = ShownLevel(self._stretch, self._expansion.radius, level - more[neuron])
            shown = known.get((own.layer, neuron, side))
            if shown is None or not shown.covers(claim):
                open_claims.setdefault(neuron, []).append((side, claim))
        factors = _factors(self._expansion, own) if open_claims else []
        for neuron, sides in open_claims.items():
            self._prove_neuron(own, neuron, sides, [factor.row(neuron) for factor in factors])
            for side, claim in sides:
                known[own.layer, neuron, side] = claim

    def _prove_neuron(
        self, own: Neurons, neuron: int, claims: list[tuple[str, ShownLevel]], columns: list[Any]
    ) -> None:
        """The matrices of one neuron, from its factors d^k for the layers k below."""
        expansion, layer, t = self._expansion, own.layer, self._stretch
        slopes = [under.slopes for under in expansion.layers[: layer - 1]]
        sizes = columns[-1].absolute
        odd = [*columns[:-1], columns[-1].times(t * t / (t * t - 1))]
        curved = reduce(lambda one, other: one + other, (a.form(d) for a, d in zip(slopes, odd, strict=True)))
        spread = slopes[-1].form(sizes.times(t / (t * t - 1)))
        grown = None
        if layer == 3:
            grown = expansion.around.squared_curvatures(sizes).times(t * expansion.radius * expansion.radius)
        for side, claim in claims:
            form = spread.times(1 + 1 / t) if side == ERROR else spread
            if side != ERROR:
                form = form + (curved if side == UPPER else curved.times(fmpq(-1)))
            if grown is not None:
                form = form + grown
            # At δ = 0 all rests are zero: an end on the wrong side of that is false, whatever the form.
            if not (claim.level > 0 and form.shifted(claim.level, None, -1).positive_definite()):
                raise Refused(_unproved(own, neuron, side))

    def _scalars(self, own: Neurons, below: list[Range]) -> list[fmpq]:
        """t Σ |x_j| r²ρ_j² + ε_i for layers above the third, rounded up; zero for the third."""
        expansion, layer, many = self._expansion, own.layer, own.weights.shape[0]
        if layer == 3:
            return [fmpq(0)] * many
        under, square = expansion.layers[layer - 2], ball(expansion.radius) ** 2
        spend(4 * many * len(below), ctx.prec, f"the errors of layer {layer} of a lifted proof")
        arithmetic = expansion.arithmetic
        lengths = [ball(max(-low, high)) ** 2 / square for low, high in below]
        rises = [
            abs(entry) * ball(error) for entry, error in zip(under.rise.entries(), self._errors[layer - 4], strict=True)
        ]
        factor = abs(ball(under.bend)) * ball(self._stretch)
        each = arithmetic.column([factor * length + rise for length, rise in zip(lengths, rises, strict=True)])
        return [rational_above(entry) for entry in (own.weights.absolute @ each).entries()]


def _unproved(own: Neurons, neuron: int, side: str) -> str:
    if side == ERROR:
        return f"spectra, errors of layer {own.layer}, neuron {neuron}: not shown to be so small"
    return f"{own.name} {neuron}: the {side} end is proved neither by intervals nor by curvatures"


def _factors(expansion: HiddenLayers, own: Neurons) -> list[Any]:
    """d^k for the layers k below, one row per neuron."""
    factor = own.weights
    result: list[Any] = []
    for k in reversed(range(own.layer - 1)):
        under = expansion.layers[k]
        result.insert(0, factor.times(under.bend))
        if k:
            factor = factor.transpose.entrywise(under.rise).transpose @ under.weights
    return result
