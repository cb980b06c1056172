"""Ranges of the rests beyond the second layer from their curvatures.

`lifted_curvatures` has the forms that ±wˡ_i and eˡ_i, what is not of second order in it, stay below on the ball. A proof states
the t > 1 of all layers or, for the third one, balances instead; and for all layers but the last η with |eˡ_i| ≤ r²η_i. Proved
here are the ends of ranges and η, layer by layer. What is proved of a matrix is not about a rival, and is not proved again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flint import ctx, fmpq

from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.lifted_combinations import StatedCombinations, read_balances
from polymargin_checker.lifted_curvatures import ERROR, LOWER, UPPER, BalancedForms, StretchedForms
from polymargin_checker.lifted_expansion import HiddenLayers, Range, Surroundings, rational_above
from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.views import Model
from polymargin_checker.work import spend

Levels = dict[tuple[int, str], fmpq]
"""Per neuron and side: what is claimed to dominate, as a multiple of the identity."""


@dataclass(frozen=True)
class ShownLevel:
    """With this t, or with this balance in its place, a form is below `level` times the identity on balls up to this radius."""

    stretch: fmpq
    balance: fmpq | None
    radius: fmpq
    level: fmpq

    def covers(self, other: ShownLevel) -> bool:
        same = self.stretch == other.stretch and self.balance == other.balance
        return same and self.radius >= other.radius and self.level <= other.level


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
class LiftedNeurons:
    """Neurons of a layer, or combinations of the last one's: their weights, their balances, and what a refusal calls them."""

    layer: int
    weights: Any
    balances: list[fmpq] | None
    name: str


class ProvedSpectra:
    """t and the stated η, and proofs of ends with them, one layer after the other."""

    def __init__(self, expansion: HiddenLayers, value: Any, known: Known) -> None:
        fields(value, "spectra", ("stretch", "errors"), ("balances",))
        self._expansion, self._known = expansion, known
        self._stretch = number(value["stretch"], "spectra, stretch")
        if not self._stretch > 1:
            raise Refused("spectra, stretch: expected a number above 1")
        entries = items(value["errors"], "spectra, errors", len(expansion.layers) - 3)
        self._errors = [self._read(entry, layer) for layer, entry in enumerate(entries, start=3)]
        self._balances, self._symmetric = None, False
        if "balances" in value:
            self._balances = read_balances(value["balances"], "spectra, balances", len(expansion.layers[2].value))

    def _read(self, value: Any, layer: int) -> list[fmpq]:
        where = f"spectra, errors of layer {layer}"
        return [number(entry, where) for entry in items(value, where, len(self._expansion.layers[layer - 1].value))]

    def prove(self, layer: int, ranges: list[Range], below: list[Range], ends: list[tuple[int, str]]) -> None:
        """That the rests do not leave these ends of their ranges, given those of the layer below, and what is said of η."""
        claims = self._levels(ranges, ends)
        if layer < len(self._expansion.layers):
            claims |= {(i, ERROR): level for i, level in enumerate(self._errors[layer - 3])}
        self._prove(self._neurons(layer), claims, below, self._known.spectra)

    def prove_combined(self, combined: StatedCombinations, below: list[Range]) -> None:
        """The same for combinations of the last layer's rests. They are this proof's alone: nothing of them is known or kept."""
        own = LiftedNeurons(
            len(self._expansion.layers), combined.neurons, combined.balances, "combinations, ranges, entry"
        )
        ends = [(place, side) for place in range(len(combined.ranges)) for side in (LOWER, UPPER)]
        self._prove(own, self._levels(combined.ranges, ends), below, {})

    def _neurons(self, layer: int) -> LiftedNeurons:
        weights, balances = self._expansion.layers[layer - 1].weights, self._balances if layer == 3 else None
        return LiftedNeurons(layer, weights, balances, f"ranges of layer {layer}, neuron")

    def _levels(self, ranges: list[Range], ends: list[tuple[int, str]]) -> Levels:
        square = self._expansion.radius * self._expansion.radius
        return {(i, side): (-ranges[i][0] if side == LOWER else ranges[i][1]) / square for i, side in ends}

    def _prove(self, own: LiftedNeurons, claims: Levels, below: list[Range], known: Shown) -> None:
        """What is claimed and not known already; it is known then."""
        more = self._scalars(own, below)
        open_claims: dict[int, list[tuple[str, ShownLevel]]] = {}
        for (neuron, side), level in claims.items():
            balance = None if own.balances is None else own.balances[neuron]
            claim = ShownLevel(self._stretch, balance, self._expansion.radius, level - more[neuron])
            shown = known.get((own.layer, neuron, side))
            if shown is None or not shown.covers(claim):
                open_claims.setdefault(neuron, []).append((side, claim))
        factors = _factors(self._expansion, own) if open_claims else []
        for neuron, sides in open_claims.items():
            columns = [factor.row(neuron) for factor in factors]
            forms = self._forms(own, neuron, columns)
            for side, claim in sides:
                while not _below(forms, side, claim.level):
                    if forms.finest:
                        raise Unproved(_unproved(own, neuron, side))
                    self._symmetric = True  # costs more, and is likely to be needed for the ends that follow
                    forms = self._forms(own, neuron, columns)
                known[own.layer, neuron, side] = claim

    def _forms(self, own: LiftedNeurons, neuron: int, columns: list[Any]) -> StretchedForms | BalancedForms:
        """The matrices of one neuron, from its factors d^k for the layers k below."""
        if own.balances is not None:
            return BalancedForms(self._expansion, own.balances[neuron], columns, self._symmetric)
        return StretchedForms(self._expansion, own.layer, self._stretch, columns)

    def _scalars(self, own: LiftedNeurons, below: list[Range]) -> list[fmpq]:
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


def _below(forms: StretchedForms | BalancedForms, side: str, level: fmpq) -> bool:
    """Whether the form of a side is shown to be below so much. At δ = 0 all rests are zero: an end on the wrong side of that is
    false, whatever the form."""
    level = level - forms.more
    return level > 0 and forms.form(side).shifted(level, None, -1).positive_definite()


def _unproved(own: LiftedNeurons, neuron: int, side: str) -> str:
    if side == ERROR:
        return f"spectra, errors of layer {own.layer}, neuron {neuron}: not shown to be so small"
    return f"{own.name} {neuron}: the {side} end is proved neither by intervals nor by curvatures"


def _factors(expansion: HiddenLayers, own: LiftedNeurons) -> list[Any]:
    """d^k for the layers k below, one row per neuron."""
    factor = own.weights
    result: list[Any] = []
    for k in reversed(range(own.layer - 1)):
        under = expansion.layers[k]
        result.insert(0, factor.times(under.bend))
        if k:
            factor = factor.transpose.entrywise(under.rise).transpose @ under.weights
    return result
