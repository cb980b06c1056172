"""Ties of a spline network by local search: steps to the tie of the linearised network (DeepFool), from u and around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.piecewise.incumbents import Incumbent, first_crossing
from polymargin.piecewise.spline.view import SplineView

Array = NDArray[np.float64]

STEPS = 40
OVERSHOOT = 1.02


def attack_spline(view: SplineView, incumbent: Incumbent, *, starts: int, seed: int) -> None:
    """Offer the ties that walks from u, and from around it, lead to."""
    generator = np.random.default_rng(seed)
    for rival in view.rivals:
        reach = 0.0
        for start in range(starts):
            # The first walk starts at u; its length tells how far around u the others should start.
            end = _walk(view, rival, reach * generator.normal(size=view.size) / np.sqrt(view.size))
            if end is not None:
                offer_first_tie(view, rival, end, incumbent)
            if start == 0:
                reach = 1.0 if end is None else float(np.linalg.norm(end))


def offer_first_tie(view: SplineView, rival: int, y: Array, incumbent: Incumbent) -> None:
    """B(y) ≤ 0: offer the first tie on the way from u to y."""
    tie = first_crossing(lambda points: view.boundary(rival, points), np.zeros(view.size), y)
    if np.linalg.norm(tie) < incumbent.distance:
        incumbent.offer(view.lift(tie), rival)


def _walk(view: SplineView, rival: int, y: Array) -> Array | None:
    """A point with B ≤ 0, None if the walk meets none."""
    factors, constant = view.difference(rival)
    for _ in range(STEPS):
        values = view.matrix @ y + view.offset
        height = float(factors @ view.function.activate(values)) + constant
        if height <= 0:
            return y
        slope = (factors * view.function.slopes(values)) @ view.matrix
        square = float(slope @ slope)
        if square == 0.0 or not np.isfinite(height / square):
            return None
        y = y - OVERSHOOT * height / square * slope
    return None
