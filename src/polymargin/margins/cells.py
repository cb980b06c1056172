"""Margins and verdicts of networks with ReLU or splines: a search over the cells of their inputs.

The lower bound comes from quadratic programs in floating point, so a finished search is NUMERICAL; what a timeout leaves is
BRACKETED. Counterexamples are compared in exact arithmetic. The checker reads no proofs for such networks: ROBUST is never said.
"""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation import Tracker
from polymargin.errors import InputError
from polymargin.margins.models import ModelMargins
from polymargin.margins.result import Margin, PairMargin
from polymargin.margins.verdict import Answer, Verdict
from polymargin.networks.network import Network
from polymargin.piecewise.best_first import SearchOutcome
from polymargin.piecewise.incumbents import Incumbent
from polymargin.piecewise.search_at import SearchStart, remarks
from polymargin.regions import ThreatModel
from polymargin.standing import Standing

Array = NDArray[np.float64]

# Bounds that differ by less than this, relatively, are one number.
CLOSED = 1e-8
# A verdict looks this much beyond its radius, so that rounding cannot hide a tie at the radius itself.
BEYOND = 1e-9


class CellMargins(ModelMargins):
    """A piecewise network, asked point by point."""

    def __init__(self, network: Network, seed: int, threat: ThreatModel) -> None:
        if not threat.is_plain:
            raise InputError(
                f"within={threat.region!r}: networks with ReLU or splines have L2 margins over all perturbations and against "
                "all rivals; leave out within=, rivals= and abstain="
            )
        self._network, self._seed = network, seed

    def margin_at(self, u: Array, tracker: Tracker) -> Margin:
        started = perf_counter()
        start = SearchStart(self._network, u)
        label = start.label
        if start.tied is not None:
            note = f"classes {label} and {start.tied} tie exactly at the point"
            seconds = perf_counter() - started
            place = u.copy()
            return Margin(0.0, 0.0, 0.0, place, label, start.tied, Standing.NUMERICAL, "tie", seconds, notes=(note,))
        outcome, incumbent, problem = start.search(
            tracker.deadline.left if tracker.deadline.exists else None, self._seed
        )
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
            label=label,
            rival=incumbent.rival,
            standing=Standing.NUMERICAL if closed else Standing.BRACKETED,
            method="regions",
            seconds=perf_counter() - started,
            pairs=tuple(_pair(rival, outcome, incumbent) for rival in sorted(outcome.lower)),
            notes=remarks(start.doubt, outcome, nothing, problem.far),
            cells=outcome.cells,
            open_cells=outcome.open_cells,
        )

    def verdict_at(self, u: Array, radius: float, timeout: float | None) -> Verdict:
        """Decide whether another class ties or wins within a radius of one point (n,)."""
        started = perf_counter()
        start = SearchStart(self._network, u)
        if start.tied is not None:
            incumbent = Incumbent(self._network, start.u, start.label)
            incumbent.offer(start.u, start.tied)
            return _verdict(incumbent, SearchOutcome({start.tied: 0.0}), radius, started, "")
        outcome, incumbent, _ = start.search(timeout, self._seed, reach=radius * (1 + BEYOND))
        return _verdict(incumbent, outcome, radius, started, start.doubt)


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


def _verdict(incumbent: Incumbent, outcome: SearchOutcome, radius: float, started: float, doubt: str) -> Verdict:
    beaten = incumbent.distance <= radius
    finished = not beaten and not doubt and outcome.least > radius
    answer = Answer.VULNERABLE if beaten else Answer.UNKNOWN
    if beaten:
        reason = f"class {incumbent.rival} ties or wins at distance {incumbent.distance:.6g}"
    elif finished:
        reason = f"cells searched in doubles without a tie: {outcome.cells}; there is no proof for such networks"
    else:
        reason = "; ".join(remarks(doubt, outcome, False, math.inf)) or "undecided within rounding"
    return Verdict(
        answer=answer,
        radius=radius,
        label=incumbent.label,
        rival=incumbent.rival,
        counterexample=incumbent.point if beaten else None,
        certificate=None,
        standing=Standing.NUMERICAL if beaten or finished else Standing.BRACKETED,
        lower=0.0 if doubt else min(outcome.least, radius, incumbent.distance),
        upper=incumbent.distance,
        reason=reason,
        seconds=perf_counter() - started,
    )
