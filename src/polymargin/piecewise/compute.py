"""`piecewise_margin` and `piecewise_verify`: margins and verdicts for ReLU and spline networks.

The same answers as for polynomial networks. The lower bound comes from quadratic programs in floating point, so a finished
search is NUMERICAL; what a timeout leaves is BRACKETED. Counterexamples are compared in exact arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked, checked_point, positive
from polymargin.certificates import Answer, Verdict, Verdicts
from polymargin.certificates.verdict import failed_verdict
from polymargin.errors import InputError
from polymargin.margins import Margins, PairMargin
from polymargin.margins.checkpoint import Checkpoint
from polymargin.piecewise.best_first import Problem, SearchOutcome, best_first
from polymargin.piecewise.incumbents import Incumbent
from polymargin.piecewise.relu.cells import ReLUCells
from polymargin.piecewise.relu.network import ReLUNetwork
from polymargin.piecewise.relu.view import ReLUView
from polymargin.piecewise.result import PiecewiseMargin
from polymargin.piecewise.spline.cells import SplineCells
from polymargin.piecewise.spline.network import SplineNetwork
from polymargin.piecewise.spline.view import SplineView
from polymargin.rows import ManyPoints, OnePoint, OnRow, answers, one_or_many
from polymargin.standing import Standing
from polymargin.work import Workers

Array = NDArray[np.float64]

# Bounds that differ by less than this, relatively, are one number.
CLOSED = 1e-8
# Rounding above this share of the difference of the two largest logits hides it from doubles.
LARGEST_NOISE = 1e-6
# Decades that products of weights may span; their squares must not underflow or overflow.
LARGEST_SCALE = 140
# A verdict looks this much beyond its radius, so that rounding cannot hide a tie at the radius itself.
BEYOND = 1e-9


@dataclass(frozen=True, eq=False)
class _MarginQuestion:
    network: ReLUNetwork | SplineNetwork
    timeout: float | None
    seed: int

    def at(self, point: Array) -> PiecewiseMargin:
        return _margin_at(self.network, point, self.timeout, self.seed)

    def failed(self, error: str, seconds: float) -> PiecewiseMargin:
        nan = math.nan
        return PiecewiseMargin(nan, nan, nan, None, None, None, Standing.FAILED, "none", seconds, error=error)


@dataclass(frozen=True, eq=False)
class _VerdictQuestion:
    network: ReLUNetwork | SplineNetwork
    radius: float
    timeout: float | None
    seed: int

    def at(self, point: Array) -> Verdict:
        return _verdict_at(self.network, point, self.radius, self.timeout, self.seed)

    def failed(self, error: str, seconds: float) -> Verdict:
        return failed_verdict(self.radius, error, seconds)


class PiecewiseOptions(TypedDict, total=False):
    """The keywords of `piecewise_margin` and `piecewise_verify`, for type checkers."""

    timeout: float | None
    seed: int
    checkpoint: str | Path | None
    on_row: OnRow | None
    executor: Workers | None


@overload
def piecewise_margin(
    network: ReLUNetwork | SplineNetwork, points: OnePoint, **options: Unpack[PiecewiseOptions]
) -> PiecewiseMargin: ...
@overload
def piecewise_margin(
    network: ReLUNetwork | SplineNetwork, points: ManyPoints, **options: Unpack[PiecewiseOptions]
) -> Margins: ...
@overload
def piecewise_margin(
    network: ReLUNetwork | SplineNetwork, points: ArrayLike, **options: Unpack[PiecewiseOptions]
) -> Any: ...
@checked(ReLUNetwork, SplineNetwork)
def piecewise_margin(
    network: ReLUNetwork | SplineNetwork,
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
    network      a ReLUNetwork of any depth, or a SplineNetwork
    timeout      seconds per point; what is known then is a bracket
    seed         of the local search that finds the first counterexample; the answer does not depend on it
    checkpoint   a file that collects finished rows; the same call continues where it stopped
    on_row       called with the number of a row and its margin as soon as there is one
    executor     any `concurrent.futures.Executor` or Dask `Client` that takes the rows of a batch

    >>> net = ReLUNetwork([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0])])    # |x| against 1
    >>> piecewise_margin(net, [0.25])
    Margin(0.75, class 1 against 0, NUMERICAL by regions)
    """
    array = one_or_many(points)
    question = _MarginQuestion(network, timeout, int(seed))
    if array.ndim == 1:
        return question.at(array)
    about = {"answers": "piecewise margins", "timeout": timeout, "seed": int(seed)}
    store = (
        None if checkpoint is None else Checkpoint.open(checkpoint, network.fingerprint, array, about, PiecewiseMargin)
    )
    return Margins(answers(question, array, store=store, executor=executor, on_row=on_row))


@overload
def piecewise_verify(
    network: ReLUNetwork | SplineNetwork, points: OnePoint, radius: float, **options: Unpack[PiecewiseOptions]
) -> Verdict: ...
@overload
def piecewise_verify(
    network: ReLUNetwork | SplineNetwork, points: ManyPoints, radius: float, **options: Unpack[PiecewiseOptions]
) -> Verdicts: ...
@overload
def piecewise_verify(
    network: ReLUNetwork | SplineNetwork, points: ArrayLike, radius: float, **options: Unpack[PiecewiseOptions]
) -> Any: ...
@checked(ReLUNetwork, SplineNetwork)
def piecewise_verify(
    network: ReLUNetwork | SplineNetwork,
    points: ArrayLike,
    radius: float,
    *,
    timeout: float | None = 60.0,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    on_row: OnRow | None = None,
    executor: Workers | None = None,
) -> Any:
    """Decide whether another class ties or wins at a distance of at most `radius`, for one point (n,) or a batch (m, n).

    VULNERABLE comes with a counterexample that was compared in exact arithmetic. ROBUST is NUMERICAL: no certificate is written.
    The options are those of `piecewise_margin`.

    >>> net = ReLUNetwork([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0])])
    >>> piecewise_verify(net, [0.25], 0.7).answer.name, piecewise_verify(net, [0.25], 0.8).answer.name
    ('ROBUST', 'VULNERABLE')
    """
    array = one_or_many(points)
    question = _VerdictQuestion(network, positive(radius, "radius"), timeout, int(seed))
    if array.ndim == 1:
        return question.at(array)
    about = {"answers": "piecewise verdicts", "radius": question.radius, "timeout": timeout, "seed": int(seed)}
    store = None if checkpoint is None else Checkpoint.open(checkpoint, network.fingerprint, array, about, Verdict)
    return Verdicts(answers(question, array, store=store, executor=executor, on_row=on_row))


def _verdict_at(
    network: ReLUNetwork | SplineNetwork, u: Array, radius: float, timeout: float | None, seed: int
) -> Verdict:
    started = perf_counter()
    start = _Start(network, u)
    if start.tied is not None:
        incumbent = Incumbent(network, start.u, start.label)
        incumbent.offer(start.u, start.tied)
        return _verdict(incumbent, SearchOutcome({start.tied: 0.0}), radius, started, "")
    outcome, incumbent, _ = start.search(timeout, seed, reach=radius * (1 + BEYOND))
    return _verdict(incumbent, outcome, radius, started, start.doubt)


class _Start:
    """A network at a point: its class in exact arithmetic, and whether doubles can tell it from the others."""

    def __init__(self, network: ReLUNetwork | SplineNetwork, u: Array) -> None:
        checked_point(u, network.dimension)
        _check_scale(network)
        self.network, self.u = network, u
        logits: list[Fraction] = network.exact_logits(u)
        largest = max(logits)
        self.label, *others = [index for index, value in enumerate(logits) if value == largest]
        self.tied = others[0] if others else None
        rounded = network(u)
        self.doubt = ""
        for rival, value in enumerate(logits):
            lead = float(logits[self.label] - value)
            if lead and abs(rounded[self.label] - rounded[rival] - lead) > LARGEST_NOISE * lead:
                self.doubt = (
                    f"rounding hides the difference of classes {self.label} and {rival} at the point from doubles"
                )

    def search(
        self, timeout: float | None, seed: int, reach: float = math.inf
    ) -> tuple[SearchOutcome, Incumbent, Problem[Any]]:
        problem: Problem[Any] = (
            ReLUCells(ReLUView(self.network, self.u, self.label))
            if isinstance(self.network, ReLUNetwork)
            else SplineCells(SplineView(self.network, self.u, self.label), seed)
        )
        incumbent = Incumbent(self.network, self.u, self.label)
        deadline = math.inf if timeout is None else perf_counter() + timeout
        outcome = best_first(problem, incumbent, reach=reach, deadline=deadline, seed=seed)
        return outcome, incumbent, problem


def _check_scale(network: ReLUNetwork | SplineNetwork) -> None:
    """Products of weights through the layers, and their squares, must stay within the range of doubles."""
    smallest = largest = 0.0
    for layer in network.layers:
        sizes = np.abs(layer.weights[layer.weights != 0])
        if sizes.size:
            smallest += math.log10(float(sizes.min()))
            largest += math.log10(float(sizes.max()))
    if smallest < -LARGEST_SCALE or largest > LARGEST_SCALE:
        raise InputError(
            f"weights multiply to sizes from 1e{smallest:.0f} to 1e{largest:.0f} through the layers; rescale them to less than "
            f"1e±{LARGEST_SCALE}"
        )


def _margin_at(network: ReLUNetwork | SplineNetwork, u: Array, timeout: float | None, seed: int) -> PiecewiseMargin:
    started = perf_counter()
    start = _Start(network, u)
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
        notes=_notes(start.doubt, outcome, nothing, problem.far),
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


def _notes(doubt: str, outcome: SearchOutcome, nothing: bool, far: float) -> tuple[str, ...]:
    notes = [doubt] if doubt else []
    if outcome.timed_out:
        notes.append(f"the time was up with {outcome.open_cells} cells open")
    if outcome.unresolved:
        nearest = min(outcome.unresolved)
        notes.append(
            f"a region with ties no nearer than {nearest:.6g} is not settled: exact arithmetic confirms none "
            "(classes touch without crossing), or its critical points are degenerate"
        )
    if nothing:
        notes.append(f"no tie within {far:.3g}: no other class is ever reached, as far as doubles can see")
    return tuple(notes)


def _verdict(incumbent: Incumbent, outcome: SearchOutcome, radius: float, started: float, doubt: str) -> Verdict:
    beaten = incumbent.distance <= radius
    robust = not beaten and not doubt and outcome.least > radius
    answer = Answer.VULNERABLE if beaten else Answer.ROBUST if robust else Answer.UNKNOWN
    if beaten:
        reason = f"class {incumbent.rival} ties or wins at distance {incumbent.distance:.6g}"
    elif robust:
        reason = f"no tie in {outcome.cells} cells"
    else:
        reason = "; ".join(_notes(doubt, outcome, False, math.inf)) or "undecided within rounding"
    return Verdict(
        answer=answer,
        radius=radius,
        label=incumbent.label,
        rival=incumbent.rival,
        counterexample=incumbent.point if beaten else None,
        certificate=None,
        standing=Standing.BRACKETED if answer is Answer.UNKNOWN else Standing.NUMERICAL,
        lower=0.0 if doubt else min(outcome.least, radius, incumbent.distance),
        upper=incumbent.distance,
        reason=reason,
        seconds=perf_counter() - started,
    )
