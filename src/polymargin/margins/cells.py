"""Margins of networks with ReLU or splines: a search over the cells of their inputs, where there are few neurons.

The lower bound comes from quadratic programs in floating point, so a finished search is NUMERICAL; what a timeout leaves is
BRACKETED. Counterexamples are compared in exact arithmetic. Proofs come afterwards, from the relaxation, which the search tells
where the nearest counterexample is.
"""

from __future__ import annotations

import math
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker
from polymargin.margins.models import ModelMargins
from polymargin.margins.pairs import FOLLOWING, Enumeration
from polymargin.margins.prediction import predicted_class
from polymargin.margins.result import Margin, PairMargin, open_margin
from polymargin.networks.network import Network
from polymargin.networks.noise import check_scale
from polymargin.piecewise.best_first import SearchOutcome
from polymargin.piecewise.incumbents import Incumbent
from polymargin.piecewise.search_at import SearchStart, is_searchable, remarks
from polymargin.regions import ThreatModel
from polymargin.standing import Standing

Array = NDArray[np.float64]

# Bounds that differ by less than this, relatively, are one number.
CLOSED = 1e-8
# Neurons beyond which cells are too many.
MOST_NEURONS = 128
# A search counts as so many paths where rows are put together.
PATHS = 256


class CellMargins(ModelMargins):
    """A piecewise network, asked point by point."""

    @property
    def paths_per_point(self) -> int:
        return PATHS

    def __init__(self, network: Network, search: Enumeration, threat: ThreatModel) -> None:
        self._network, self._search, self._threat = network, search, threat
        neurons = sum(map(len, network.stages))
        self._in_cells = threat.is_plain and is_searchable(network) and neurons <= MOST_NEURONS

    def margin_at(self, u: Array, tracker: Tracker) -> Margin:
        """Return the margin at one point (n,); of what is not searched, nothing is known before there are bounds."""
        if not self._in_cells:
            check_scale(self._network)
            self._threat.region.check_inside(u)
            label, tied = predicted_class(self._network, u)
            if tied is not None and tied in self._threat.against(label, self._network.class_count):
                return replace(_tie(u, label, tied, 0.0), norm=self._threat.region.norm.value)
            return replace(open_margin(label, "bounds instead of cells"), norm=self._threat.region.norm.value)
        started, deadline = perf_counter(), self._search.deadline(tracker)
        start = SearchStart(self._network, u)
        if start.tied is not None:
            return _tie(u, start.label, start.tied, perf_counter() - started)
        left = deadline.part(FOLLOWING).left
        outcome, incumbent, problem = start.search(left if math.isfinite(left) else None, self._search.seed)
        upper = incumbent.distance
        lower = 0.0 if start.doubt else min(outcome.least, upper)
        nothing = math.isinf(upper) and not outcome.timed_out and not outcome.unresolved
        # Without a tie the search ends at a distance beyond everything; that is a bound, not a proof that there is none.
        closed = not start.doubt and not nothing and lower >= upper * (1 - CLOSED)
        return Margin(
            radius=upper,
            lower=lower,
            upper=upper,
            point=incumbent.point,
            label=start.label,
            rival=incumbent.rival,
            standing=Standing.NUMERICAL if closed else Standing.BRACKETED,
            method="regions",
            seconds=perf_counter() - started,
            pairs=tuple(_pair(rival, outcome, incumbent) for rival in sorted(outcome.lower)),
            notes=remarks(start.doubt, outcome, nothing, problem.far),
            cells=outcome.cells,
            open_cells=outcome.open_cells,
        )


def _tie(u: Array, label: int, tied: int, seconds: float) -> Margin:
    note = f"classes {label} and {tied} tie exactly at the point"
    return Margin(0.0, 0.0, 0.0, u.copy(), label, tied, Standing.NUMERICAL, "tie", seconds, notes=(note,))


def _pair(rival: int, outcome: SearchOutcome, incumbent: Incumbent) -> PairMargin:
    upper, point = incumbent.by_rival.get(rival, (math.inf, None))
    lower = min(outcome.lower[rival], upper)
    return PairMargin(
        rival=rival,
        radius=upper,
        lower=lower,
        upper=upper,
        point=point,
        method="regions",
        complete=lower >= upper * (1 - CLOSED),
        complex_count=None,
        real_count=None,
        bound=1,  # critical points per region
    )
