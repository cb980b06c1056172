"""`piecewise_margin`: margins of ReLU and spline networks.

The same answers as for polynomial networks. The lower bound comes from quadratic programs in floating point, so a finished
search is NUMERICAL; what a timeout leaves is BRACKETED. Counterexamples are compared in exact arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked
from polymargin.class_names import named
from polymargin.margins import Margins, PairMargin
from polymargin.margins.checkpoint import Checkpoint
from polymargin.networks import Network
from polymargin.piecewise.best_first import SearchOutcome
from polymargin.piecewise.incumbents import Incumbent
from polymargin.piecewise.result import PiecewiseMargin
from polymargin.piecewise.search_at import PiecewiseOptions, SearchStart, remarks
from polymargin.rows import ManyPoints, OnePoint, OnRow, answers, one_or_many
from polymargin.standing import Standing
from polymargin.work import Workers

Array = NDArray[np.float64]

# Bounds that differ by less than this, relatively, are one number.
CLOSED = 1e-8


@overload
def piecewise_margin(network: Network, points: OnePoint, **options: Unpack[PiecewiseOptions]) -> PiecewiseMargin: ...
@overload
def piecewise_margin(network: Network, points: ManyPoints, **options: Unpack[PiecewiseOptions]) -> Margins: ...
@overload
def piecewise_margin(network: Network, points: ArrayLike, **options: Unpack[PiecewiseOptions]) -> Any: ...
@checked(Network)
def piecewise_margin(
    network: Network,
    points: ArrayLike,
    *,
    timeout: float | None = None,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    on_row: OnRow | None = None,
    executor: Workers | None = None,
) -> Any:
    """The exact L2 margin at one point (n,), or `Margins` for a batch (m, n); a bad row reports its own error.

    Parameters
    ----------
    network      layers with ReLU of any depth, or one hidden layer with a spline
    timeout      seconds per point; what is known then is a bracket
    seed         of the local search that finds the first counterexample; the answer does not depend on it
    checkpoint   a file that collects finished rows; the same call continues where it stopped
    on_row       called with the number of a row and its margin as soon as there is one
    executor     any `concurrent.futures.Executor` or Dask `Client` that takes the rows of a batch

    >>> from polymargin.networks import ReLUNetwork
    >>> net = ReLUNetwork([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0])])    # |x| against 1
    >>> piecewise_margin(net, [0.25])
    Margin(0.75, class 1 against 0, NUMERICAL by regions)
    """
    array = one_or_many(points, network.dimension)
    question = _MarginQuestion(network, timeout, int(seed))
    if array.ndim == 1:
        return named(question.at(array), network)
    about = {"answers": "piecewise margins", "timeout": timeout, "seed": int(seed)}
    store = (
        None if checkpoint is None else Checkpoint.open(checkpoint, network.fingerprint, array, about, PiecewiseMargin)
    )
    return Margins(answers(question, array, store=store, executor=executor, on_row=on_row))


@dataclass(frozen=True, eq=False)
class _MarginQuestion:
    network: Network
    timeout: float | None
    seed: int

    def at(self, point: Array) -> PiecewiseMargin:
        return _margin_at(self.network, point, self.timeout, self.seed)

    def failed(self, error: str, seconds: float) -> PiecewiseMargin:
        nan = math.nan
        return PiecewiseMargin(nan, nan, nan, None, None, None, Standing.FAILED, "none", seconds, error=error)


def _margin_at(network: Network, u: Array, timeout: float | None, seed: int) -> PiecewiseMargin:
    started = perf_counter()
    start = SearchStart(network, u)
    label = start.label
    if start.tied is not None:
        note = f"classes {label} and {start.tied} tie exactly at the point"
        seconds = perf_counter() - started
        return PiecewiseMargin(
            0.0, 0.0, 0.0, u.copy(), label, start.tied, Standing.NUMERICAL, "tie", seconds, notes=(note,)
        )
    outcome, incumbent, problem = start.search(timeout, seed)
    upper = incumbent.distance
    lower = 0.0 if start.doubt else min(outcome.least, upper)
    nothing = math.isinf(upper) and not outcome.timed_out and not outcome.unresolved
    # Without a tie the search ends at a distance beyond everything; that is a bound, not a proof that there is none.
    closed = not start.doubt and not nothing and lower >= upper * (1 - CLOSED)
    return PiecewiseMargin(
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
        regions=outcome.regions,
        programs=problem.programs,
        open_cells=outcome.open_cells,
    )


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
