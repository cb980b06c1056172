"""`margin`: the distance from a point to the nearest tie with another class.

For each rival c' of the predicted class c the nearest real critical point of the distance to {f_c = f_c'}
gives a radius; the least one is the margin (dropping the condition that c and c' are the largest logits
changes nothing when the prediction is unique: before another pair can tie, c ties with one of them).

Degree one is a hyperplane; degree two has the nearest point in closed form up to one scalar equation, at any size; every
higher degree goes through continuation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked, checked_point, real_numbers
from polymargin.boundary import Boundary
from polymargin.bounds import attack
from polymargin.continuation import TrackerSettings
from polymargin.errors import InputError, PolymarginError
from polymargin.margins.base_solutions import BaseSolutions, base_solutions
from polymargin.margins.cache import Cache
from polymargin.margins.checkpoint import Checkpoint
from polymargin.margins.enumeration import CriticalPoints, critical_points_at, foot_on_hyperplane
from polymargin.margins.limit import DEFAULT_LIMIT, check_limit
from polymargin.margins.result import Margin, PairMargin, failed
from polymargin.margins.standing import Standing
from polymargin.networks import PolynomialNetwork
from polymargin.networks.network import Network
from polymargin.quadric import NetworkSolvers, QuadricSolver
from polymargin.work import completed

# Rounding noise above this share of the difference of the two largest logits makes a margin in doubles doubtful.
LARGEST_NOISE = 1e-3
# Terms of the logits must stay within these sizes; their powers and quotients must not leave the range of doubles.
SMALLEST_TERM, LARGEST_TERM = 1e-150, 1e150
# Rows that a worker gets at a time: it has to find or read stage 1 first.
ROWS_PER_TASK = 16


@checked(Network, Boundary)
def margin(
    model: Network | Boundary,
    points: ArrayLike,
    *,
    seed: int = 0,
    threads: int | None = None,
    limit: int = DEFAULT_LIMIT,
    cache: bool | str | Path = True,
    settings: TrackerSettings | None = None,
    checkpoint: str | Path | None = None,
    progress: Callable[[int], None] | None = None,
    executor: Executor | None = None,
) -> Any:
    """The exact L2 margin at one point (n,), or a list of them for a batch (m, n).

    Parameters
    ----------
    model        a network, or a boundary alone
    points       one vector, or a batch; a bad row of a batch reports its own error
    seed         of every random choice; the answer is the same for any number of threads
    threads      worker threads, all available cores by default
    limit        refuse boundaries with more critical points than this
    cache        keep stage-1 solutions on disk (True), nowhere (False) or in a directory
    settings     of the path tracker
    checkpoint   a file that collects finished rows; the same call continues where it stopped
    progress     called with 1 after every finished row of a batch
    executor     any `concurrent.futures.Executor` that takes the rows of a batch; one thread per worker then

    >>> net = PolynomialNetwork([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 4.0], [0.0, 0.0]], [0.0, 4.0])],
    ...                         degree=2)
    >>> margin(net, [0.0, 0.25], cache=False)         # the ellipse x² + 4y² = 4
    Margin(0.75, class 1 against 0, NUMERICAL by quadric)
    """
    array = _points(points)
    session = _Session(model, seed, threads, limit, Cache.from_option(cache), settings or TrackerSettings())
    if array.ndim == 1:
        return session.margin_at(array)
    store = None if checkpoint is None else Checkpoint.open(checkpoint, model_fingerprint(model), array, seed)
    results = [None if store is None else store.get(index) for index in range(len(array))]
    left = [index for index, result in enumerate(results) if result is None]
    if progress is not None and len(left) < len(array):
        progress(len(array) - len(left))
    size = 1 if executor is None else ROWS_PER_TASK
    blocks = [left[start : start + size] for start in range(0, len(left), size)]
    session = session if executor is None else replace(session, threads=1)
    for position, found in completed(_margins, [_Task(session, array[block]) for block in blocks], executor):
        for index, result in zip(blocks[position], found, strict=True):
            results[index] = result
            if store is not None and result.status is not Standing.FAILED:
                store.add(index, result)
            if progress is not None:
                progress(1)
    return results


def model_fingerprint(model: Network | Boundary) -> str:
    """Changes whenever a coefficient of the model does."""
    return model.source.fingerprint if isinstance(model, Boundary) else model.fingerprint


@dataclass
class _Session:
    """One model and what was computed for its boundaries so far."""

    model: Network | Boundary
    seed: int
    threads: int | None
    limit: int
    cache: Cache
    settings: TrackerSettings
    bases: dict[tuple[int, int] | None, BaseSolutions | QuadricSolver | Boundary] = field(default_factory=dict)

    @cached_property
    def quadrics(self) -> NetworkSolvers | None:
        """Solvers for all pairs at once where the whole network has degree two."""
        if isinstance(self.model, PolynomialNetwork) and self.model.degree == 2:
            return NetworkSolvers(self.model)
        return None

    def margin_or_failure(self, u: NDArray[np.float64]) -> Margin:
        started = perf_counter()
        try:
            return self.margin_at(u)
        except PolymarginError as error:
            return failed(str(error), perf_counter() - started)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            return failed(
                f"the arithmetic broke down ({error}); rescale the weights or inputs", perf_counter() - started
            )

    def margin_at(self, u: NDArray[np.float64]) -> Margin:
        checked_point(u, self.model.dimension)
        if isinstance(self.model, Boundary):
            base = self._base(None, self.model)
            started = perf_counter()
            return _combine(None, [self._pair(None, base, u)], perf_counter() - started)
        label, tied = predicted_class(self.model, u)
        if tied is not None:
            note = f"classes {label} and {tied} tie exactly at the point"
            return Margin(0.0, 0.0, 0.0, u.copy(), label, tied, Standing.NUMERICAL, "tie", 0.0, notes=(note,))
        rivals = [rival for rival in range(self.model.class_count) if rival != label]
        bases = [self._base((min(label, r), max(label, r)), None) for r in rivals]
        started = perf_counter()
        pairs = [self._pair(rival, base, u) for rival, base in zip(rivals, bases, strict=True)]
        found = _combine(label, pairs, perf_counter() - started)
        return self._doubted(self.model, found, u)

    def _doubted(self, network: Network, found: Margin, u: NDArray[np.float64]) -> Margin:
        """Bounds instead of an answer where cancellation hides the boundary from doubles; a better upper bound if any."""
        logits = np.sort(network(u))
        noise = rounding_noise(network, u)
        hidden = noise > LARGEST_NOISE * (logits[-1] - logits[-2])
        if not hidden and found.status is not Standing.BRACKETED:
            return found
        best = attack(network, u) if network.hidden_layers else None
        if best is not None and best.label != found.label:
            best = None  # it judged the class in doubles, and was wrong
        notes = found.notes
        if hidden:
            notes = (
                f"the logits cancel: doubles know them to {noise:.1e} only; certify decides in exact arithmetic",
                *notes,
            )
        elif best is None or best.distance >= found.upper:
            return found
        if best is None:
            return replace(
                found, radius=math.inf, lower=0.0, upper=math.inf, point=None, status=Standing.BRACKETED, notes=notes
            )
        return replace(
            found,
            radius=best.distance,
            lower=0.0,
            upper=best.distance,
            point=best.point,
            rival=best.rival,
            status=Standing.BRACKETED,
            notes=notes,
        )

    def _base(
        self, pair: tuple[int, int] | None, boundary: Boundary | None
    ) -> BaseSolutions | QuadricSolver | Boundary:
        """What is computed once per pair of classes: stage 1, or an eigendecomposition, or nothing."""
        if pair not in self.bases and pair is not None and self.quadrics is not None:
            self.bases[pair] = self.quadrics.pair(*pair)
        if pair not in self.bases:
            if boundary is None:
                assert not isinstance(self.model, Boundary)
                assert pair is not None
                boundary = Boundary.from_network(self.model, *pair)
            if boundary.degree < 2:
                self.bases[pair] = boundary
            elif boundary.degree == 2:
                self.bases[pair] = QuadricSolver(boundary)
            else:
                check_limit(boundary, self.limit, self.threads)
                self.bases[pair] = base_solutions(
                    boundary,
                    seed=self.seed,
                    settings=self.settings,
                    threads=self.threads,
                    cache=self.cache,
                )
        return self.bases[pair]

    def _pair(
        self, rival: int | None, base: BaseSolutions | QuadricSolver | Boundary, u: NDArray[np.float64]
    ) -> PairMargin:
        if isinstance(base, QuadricSolver):
            return _on_quadric(rival, base, u)
        if isinstance(base, BaseSolutions):
            found = critical_points_at(base, u, self.settings, self.threads)
            return _from_critical_points(rival, found, "continuation")
        if base.degree == 1:
            return _from_critical_points(rival, foot_on_hyperplane(base, u), "hyperplane")
        if base.degree == 0:
            note = "the boundary polynomial is a nonzero constant: no point ties"
            return PairMargin(rival, math.inf, math.inf, math.inf, None, "constant", True, 0, 0, 0, (note,))
        note = "the boundary polynomial is zero: every point ties"
        return PairMargin(rival, 0.0, 0.0, 0.0, u.copy(), "constant", True, 0, 0, 0, (note,))


@dataclass(frozen=True, eq=False)
class _Task:
    """Rows of a batch; a session travels to a worker with its model and comes back with nothing."""

    session: _Session
    rows: NDArray[np.float64]


def _margins(task: _Task) -> list[Margin]:
    return [task.session.margin_or_failure(row) for row in task.rows]


def _on_quadric(rival: int | None, solver: QuadricSolver, u: NDArray[np.float64]) -> PairMargin:
    nearest = solver.nearest(u)
    return PairMargin(
        rival=rival,
        radius=nearest.distance,
        lower=nearest.distance,
        upper=nearest.distance,
        point=nearest.point,
        method="quadric",
        complete=True,
        complex_count=None,
        real_count=None,
        bound=2 * solver.dimension,
        notes=nearest.notes,
    )


def rounding_noise(network: Network, u: NDArray[np.float64]) -> float:
    """About how much rounding can change a logit: the logits of the same network without signs, times the unit roundoff."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        largest = float(network.without_signs.logits(np.abs(u)).max())
    if largest and not SMALLEST_TERM <= largest <= LARGEST_TERM:
        raise InputError(f"terms of the logits have size {largest:.1e} at the point; rescale the weights or the inputs")
    return 4 * float(np.finfo(np.float64).eps) * largest


def predicted_class(network: Network, u: NDArray[np.float64]) -> tuple[int, int | None]:
    """The class of the largest logit, and another class if the two tie exactly."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        logits = network(u)
        order = np.argsort(-logits, kind="stable")
        noise = rounding_noise(network, u)
    label, second = int(order[0]), int(order[1])
    if logits[label] - logits[second] > 100 * noise:
        return label, None
    exact: list[Fraction] = network.exact_logits(u)
    largest = max(exact)
    top = [index for index, value in enumerate(exact) if value == largest]
    return top[0], top[1] if len(top) > 1 else None


def _from_critical_points(rival: int | None, found: CriticalPoints, method: str) -> PairMargin:
    audit = found.audit
    nearest = float(found.distances[0]) if len(found) and found.real[0] else math.inf
    point = found.points[0].real.copy() if math.isfinite(nearest) else None
    notes = audit.findings + audit.remarks
    if audit.complete and point is None:
        notes = ("no critical point is real: the boundary is empty over the reals",)
    return PairMargin(
        rival=rival,
        radius=nearest,
        lower=nearest if audit.complete else 0.0,
        upper=nearest,
        point=point,
        method=method,
        complete=audit.complete,
        complex_count=audit.found,
        real_count=audit.real,
        bound=audit.bound,
        notes=notes,
    )


def _combine(label: int | None, pairs: list[PairMargin], seconds: float) -> Margin:
    nearest = min(pairs, key=lambda pair: pair.upper)
    complete = all(pair.complete for pair in pairs)
    notes = tuple(
        note if pair.rival is None else f"against class {pair.rival}: {note}"
        for pair in pairs
        for note in pair.notes
        if pair is nearest or not pair.complete
    )
    return Margin(
        radius=nearest.upper,
        lower=min(pair.lower for pair in pairs),
        upper=nearest.upper,
        point=nearest.point,
        label=label,
        rival=nearest.rival,
        status=Standing.NUMERICAL if complete else Standing.BRACKETED,
        method=nearest.method,
        seconds=seconds,
        complex_count=nearest.complex_count,
        real_count=nearest.real_count,
        pairs=tuple(pairs),
        notes=notes,
    )


def _points(points: ArrayLike) -> NDArray[np.float64]:
    array = real_numbers("points", points)
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise InputError(f"points of shape {array.shape}: expected one vector (n,) or a batch (m, n)")
    return array
