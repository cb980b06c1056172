"""Combinations s = C wᴸ of the last layer's rests, which a lifted proof may use as rests of their own.

They are the rests of neurons with the weights C Wᴸ to which nobody listens, with ranges and equalities like all others. With d_i
what multiplies (tᴸ_i)² in B, any matrix D, any numbers e_k and v_k = e_k Σ_i D_ki a_i,

    Σ_i d_i (a_i·δ) w_i = Σ_i (d_i a_i − Σ_k C_ki v_k)·δ w_i + Σ_k (v_k·δ) s_k,

because s = C w: the form of a leaf may say the right side for the left (docs/theorems.md, section 9). C, D and the ranges belong
to one proof. Nothing that is proved of them is kept for another rival.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import fmpq

from polymargin_checker.document import fields, items
from polymargin_checker.dyadics import number
from polymargin_checker.lifted_expansion import HiddenLayers, Range
from polymargin_checker.refusal import Refused


@dataclass(frozen=True, eq=False)
class StatedCombinations:
    """One row per combination: C and D as stated, and C Wᴸ; Wᴸ with C Wᴸ below; and the ranges of s, which are to be proved."""

    weights: Any
    directions: Any
    neurons: Any
    last_weights: Any
    ranges: list[Range]
    balances: list[fmpq] | None

    def products(self, slopes: Any, square: Any, exchanges: list[fmpq]) -> Any:
        """What meets 2δ w and, below, 2δ s in the form, a row per rest; `slopes` and `square` are a and d of the last layer."""
        many = self.directions.shape[0]
        shares = type(slopes).of(many, 1, exchanges)
        directions = (self.directions @ slopes).entrywise(shares)
        left = slopes.entrywise(square) + (self.weights.transpose @ directions).times(fmpq(-1))
        return type(slopes).stacked([left, directions])

    def padded(self, column: Any) -> Any:
        """A column for the last layer with zeros for the combinations."""
        many = self.weights.shape[0]
        return type(column).stacked([column, type(column).of(many, 1, [fmpq(0)] * many)])


def read_combinations(expansion: HiddenLayers, value: Any) -> StatedCombinations:
    """What a proof states, or a refusal; the ranges are not proved yet."""
    if len(expansion.layers) < 2 or expansion.last.degree() > 2:
        raise Refused(
            "combinations need two hidden layers at least, the last one with an activation of degree two at most"
        )
    fields(value, "combinations", ("weights", "directions", "ranges", "balances"))
    many = len(items(value["weights"], "combinations, weights"))
    if not many:
        raise Refused("combinations, weights: expected one row at least")
    weights, directions = (
        _rows(expansion, value[key], f"combinations, {key}", many) for key in ("weights", "directions")
    )
    ranges = []
    for place, entry in enumerate(items(value["ranges"], "combinations, ranges", many)):
        where = f"combinations, ranges, entry {place}"
        low, high = (number(end, where) for end in items(entry, where, 2))
        if not low < high:
            raise Refused(f"{where}: the range is empty")
        ranges.append((low, high))
    balances = None
    if value["balances"] is not None:
        if len(expansion.layers) != 3:
            raise Refused("combinations, balances: expected null, for there are not three hidden layers")
        balances = read_balances(value["balances"], "combinations, balances", many)
    below = expansion.layers[-1].weights
    neurons = weights @ below
    last = expansion.arithmetic.stacked([below, neurons])
    return StatedCombinations(weights, directions, neurons, last, ranges, balances)


def read_balances(value: Any, where: str, many: int) -> list[fmpq]:
    """One number above zero per neuron or combination of the third layer (`lifted_balances`)."""
    balances = [number(entry, where) for entry in items(value, where, many)]
    if any(balance <= 0 for balance in balances):
        raise Refused(f"{where}: expected numbers above zero")
    return balances


def _rows(expansion: HiddenLayers, value: Any, where: str, many: int) -> Any:
    width = len(expansion.layers[-1].value)
    rows = [[number(entry, where) for entry in items(row, where, width)] for row in items(value, where, many)]
    return expansion.arithmetic.of(many, width, [entry for row in rows for entry in row])
