"""Stated ranges of rests that are quadratic forms, proved by their curvatures.

Where w_i = Σ_v M_iv c_v (a_v·δ)², and ‖Dδ‖² ≤ b on the region for a positive diagonal D, w_i = yᵀN_iy with y = F Dδ, the rows
a_v D⁻¹ of F and the diagonal N_i of M_iv c_v. With G = FFᵀ + τ, τ > 0,

    (hi/b) G − G N_i G ≻ 0   ⇒   w_i ≤ hi           (docs/theorems.md, sections 9 and 10), and likewise lo ≤ w_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpq

from polymargin_checker.document import items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.refusal import Refused, Unproved
from polymargin_checker.region import CheckedRegion, Interval, down, up

SHARE = 2.0**-24
"""τ as a part of the largest diagonal entry of FFᵀ."""


class StatedRanges:
    """lo and hi by form with a rest, given out in order; without any, every form goes by its interval."""

    def __init__(self, stated: Any) -> None:
        self._entries = [] if stated is None else list(items(stated, "ranges"))
        self._stated = stated is not None

    def next(self, size: int) -> list[tuple[fmpq, fmpq]] | None:
        """For the next form, of so many neurons."""
        if not self._stated:
            return None
        if not self._entries:
            raise Refused("ranges: fewer entries than forms that have a rest")
        entry = self._entries.pop(0)
        if entry is None:
            return None
        pairs = [items(pair, "ranges", 2) for pair in items(entry, "ranges", size)]
        found = [(number(low, "ranges"), number(high, "ranges")) for low, high in pairs]
        if not all(low <= 0 <= high for low, high in found):
            raise Refused("ranges: expected a number up to 0 and one from 0 on")
        return found

    def end(self) -> None:
        if self._entries:
            raise Refused("ranges: more entries than forms that have a rest")


def proved_rests(
    stated: list[tuple[fmpq, fmpq]],
    slopes: Any,
    weights: Any,
    region: CheckedRegion,
    centre: Sequence[fmpq],
    arithmetic: type[Any],
) -> list[Interval]:
    """The stated ranges as intervals, proved; `slopes` are the rows a_v, `weights` (neurons, v) the M_iv c_v."""
    reaches, bound = region.reaches(centre)
    scaled = slopes.transpose.entrywise(arithmetic.of(len(reaches), 1, reaches)).transpose
    gram = scaled @ scaled.transpose
    side = gram.shape[0]
    largest = max(up(length * length) for length in scaled.row_norms())
    gram = gram + arithmetic.identity(side).times(fmpq(*(SHARE * largest).as_integer_ratio()))
    for neuron, pair in enumerate(stated):
        curved = gram @ gram.entrywise(weights.row(neuron))
        for sign, end in ((1, pair[1]), (-1, -pair[0])):
            form = gram.times(end / bound) + curved.times(fmpq(-sign))
            if not arithmetic.symmetric([[form]]).positive_definite():
                raise Unproved(f"ranges: that of neuron {neuron} is not shown to hold its rest")
    return [(down(ball(low)), up(ball(high))) for low, high in stated]
