"""Forms that the rests beyond the second layer stay below on the ball, by their curvatures (docs/theorems.md, section 9).

With x_j = c Wˡ_ij over layer l − 1, a and c those of that layer, and t > 1,

    wˡ_i ≤ δᵀ(L_i + t²/(t² − 1) Σ x_j a_j a_jᵀ + t/(t² − 1) Σ |x_j| a_j a_jᵀ + t r² Σ |x_j| N_j)δ + r²ε_i

on the ball, where L_i is what wˡ⁻¹ adds to second order, and −wˡ_i is at most the same with −L_i and −x_j in the first sum. For
l = 3 N_j = Q_j² and ε = 0. Above it N_j = ρ_j², |wˡ⁻¹_j| ≤ r²ρ_j, and ε_i = Σ |Wˡ_ij σ'(p_j)| η_j, where |eˡ⁻¹_j| ≤ r²η_j for
what is not of second order in wˡ⁻¹_j. Of that in wˡ_i

    |eˡ_i| ≤ δᵀ(1/(t − 1) Σ |x_j| a_j a_jᵀ + t r² Σ |x_j| N_j)δ + r²ε_i.

These bound every product (a_j·δ) w_j by itself, although w² is even in δ and a·δ odd. For l = 3 they may be bounded together:

    w³_i = δᵀM_iδ + 2 Σ_j x_j (a_j·δ) w_j + Σ_j x_j w_j²,      |Σ_j x_j (a_j·δ) w_j| ≤ ‖δ‖² √(δᵀR_iδ),

M_i = L_i + Σ x_j a_j a_jᵀ and R_i one of the two of `Surroundings.mixed_squares`, of which the symmetric one is smaller. So for
every balance b > 0

    w³_i ≤ δᵀ(M_i + (r/b) R_i + r² Σ_j max(x_j, 0) Q_j²)δ + r b ‖δ‖²,

−w³_i is at most the same with −M_i and −x_j, and |e³_i| without M_i and with |x_j|.
"""

from __future__ import annotations

from functools import cached_property, reduce
from typing import Any

from flint import fmpq

from polymargin_checker.lifted_expansion import HiddenLayers

LOWER, UPPER, ERROR = "lower", "upper", "error"


class StretchedForms:
    """By t, for one neuron from its factors d^k for the layers k below; what is no form there is left out."""

    more, finest = fmpq(0), True

    def __init__(self, expansion: HiddenLayers, layer: int, t: fmpq, columns: list[Any]) -> None:
        slopes = [under.slopes for under in expansion.layers[: layer - 1]]
        sizes = columns[-1].absolute
        odd = [*columns[:-1], columns[-1].times(t * t / (t * t - 1))]
        self._t, self._curved = t, _weighted(slopes, odd)
        self._spread = slopes[-1].form(sizes.times(t / (t * t - 1)))
        self._grown = None
        if layer == 3:
            self._grown = expansion.around.squared_curvatures(sizes).times(t * expansion.radius * expansion.radius)

    def form(self, side: str) -> Any:
        """That of −wˡ_i, of wˡ_i or of |eˡ_i|."""
        form = self._spread.times(1 + 1 / self._t) if side == ERROR else self._spread
        if side != ERROR:
            form = form + (self._curved if side == UPPER else self._curved.times(fmpq(-1)))
        return form if self._grown is None else form + self._grown


class BalancedForms:
    """By a balance, for one neuron of the third layer; `more` is r b, `finest` the symmetric R."""

    def __init__(self, expansion: HiddenLayers, balance: fmpq, columns: list[Any], symmetric: bool) -> None:
        self._around, self._radius, self._columns = expansion.around, expansion.radius, columns
        self.more, self.finest = expansion.radius * balance, symmetric
        self._mixed = self._around.mixed_squares(columns[1], symmetric).times(expansion.radius / balance)

    def form(self, side: str) -> Any:
        """That of −w³_i, of w³_i or of |e³_i|."""
        x = self._columns[1]
        sizes = x.absolute
        if side != ERROR:
            sizes = (sizes + (x if side == UPPER else x.times(fmpq(-1)))).times(fmpq(1, 2))
        form = self._mixed + self._around.squared_curvatures(sizes).times(self._radius * self._radius)
        if side != ERROR:
            form = form + (self._curved if side == UPPER else self._curved.times(fmpq(-1)))
        return form

    @cached_property
    def _curved(self) -> Any:
        """M_i."""
        return _weighted([under.slopes for under in self._around.layers[:2]], self._columns)


def _weighted(slopes: list[Any], columns: list[Any]) -> Any:
    """Σ_k a^kᵀ diag(d^k) a^k."""
    return reduce(lambda one, other: one + other, (a.form(d) for a, d in zip(slopes, columns, strict=True)))
