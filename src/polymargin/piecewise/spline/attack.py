"""The first tie of a spline network on the way to a point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polymargin.piecewise.incumbents import Incumbent, first_crossing
from polymargin.piecewise.spline.view import SplineView

Array = NDArray[np.float64]


def offer_first_tie(view: SplineView, rival: int, y: Array, incumbent: Incumbent) -> None:
    """Offer the first tie on the way from u to y, where B(y) ≤ 0."""
    tie = first_crossing(lambda points: view.boundary(rival, points), np.zeros(view.size), y)
    if np.linalg.norm(tie) < incumbent.distance:
        incumbent.offer(view.lift(tie), rival)
