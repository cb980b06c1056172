"""`piecewise_verify`: verdicts for ReLU and spline networks; the search of `piecewise_margin`, as far as a radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked, positive
from polymargin.certificates import Answer, Verdict, Verdicts
from polymargin.certificates.verdict import failed_verdict
from polymargin.class_names import named
from polymargin.margins.checkpoint import Checkpoint
from polymargin.networks import Network
from polymargin.piecewise.best_first import SearchOutcome
from polymargin.piecewise.incumbents import Incumbent
from polymargin.piecewise.search_at import PiecewiseOptions, SearchStart, remarks
from polymargin.rows import ManyPoints, OnePoint, OnRow, answers, one_or_many
from polymargin.standing import Standing
from polymargin.work import Workers

Array = NDArray[np.float64]

# A verdict looks this much beyond its radius, so that rounding cannot hide a tie at the radius itself.
BEYOND = 1e-9


@overload
def piecewise_verify(
    network: Network, points: OnePoint, radius: float, **options: Unpack[PiecewiseOptions]
) -> Verdict: ...
@overload
def piecewise_verify(
    network: Network, points: ManyPoints, radius: float, **options: Unpack[PiecewiseOptions]
) -> Verdicts: ...
@overload
def piecewise_verify(
    network: Network, points: ArrayLike, radius: float, **options: Unpack[PiecewiseOptions]
) -> Any: ...
@checked(Network)
def piecewise_verify(
    network: Network,
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

    VULNERABLE comes with a counterexample that was compared in exact arithmetic. ROBUST is never said, because the checker
    reads no proofs for such networks: a search that ends without a tie is UNKNOWN and NUMERICAL, and `lower` is the radius.
    The options are those of `piecewise_margin`.

    >>> from polymargin.networks import ReLUNetwork
    >>> net = ReLUNetwork([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0])])
    >>> piecewise_verify(net, [0.25], 0.7)
    Verdict(UNKNOWN at radius 0.7, NUMERICAL: cells searched in doubles without a tie: 1; there is no proof for such networks)
    >>> piecewise_verify(net, [0.25], 0.8).answer.name
    'VULNERABLE'
    """
    array = one_or_many(points, network.dimension)
    question = _VerdictQuestion(network, positive(radius, "radius"), timeout, int(seed))
    if array.ndim == 1:
        return named(question.at(array), network)
    about = {"answers": "piecewise verdicts", "radius": question.radius, "timeout": timeout, "seed": int(seed)}
    store = None if checkpoint is None else Checkpoint.open(checkpoint, network.fingerprint, array, about, Verdict)
    return Verdicts(answers(question, array, store=store, executor=executor, on_row=on_row))


@dataclass(frozen=True, eq=False)
class _VerdictQuestion:
    network: Network
    radius: float
    timeout: float | None
    seed: int

    def at(self, point: Array) -> Verdict:
        return _verdict_at(self.network, point, self.radius, self.timeout, self.seed)

    def failed(self, error: str, seconds: float) -> Verdict:
        return failed_verdict(self.radius, error, seconds)


def _verdict_at(network: Network, u: Array, radius: float, timeout: float | None, seed: int) -> Verdict:
    started = perf_counter()
    start = SearchStart(network, u)
    if start.tied is not None:
        incumbent = Incumbent(network, start.u, start.label)
        incumbent.offer(start.u, start.tied)
        return _verdict(incumbent, SearchOutcome({start.tied: 0.0}), radius, started, "")
    outcome, incumbent, _ = start.search(timeout, seed, reach=radius * (1 + BEYOND))
    return _verdict(incumbent, outcome, radius, started, start.doubt)


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
