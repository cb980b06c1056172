"""The margin of a model at a point: what is known of each rival, put together.

For each rival c' of the predicted class c the nearest real point of {f_c = f_c'} gives a radius; the least one is the margin
(dropping the condition that c and c' are the largest logits changes nothing when the prediction is unique: before another pair
can tie, c ties with one of them). An answer that does not stand up to a second look is replaced by bounds that are proved.

`ordinary` is for many points at once: all paths to all rivals in one queue of the core, and every check on whole arrays. It
answers what nothing speaks against. `margin_at` is for any point, and its answer is the same where both have one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import checked_point
from polymargin.boundary import Boundary, generic_critical_count
from polymargin.boundary.active_space import MOST_SAMPLES
from polymargin.bounds import bracket
from polymargin.continuation import Job, Survey, Tracker, available_threads
from polymargin.errors import InputError, TooManyPathsError
from polymargin.margins.bracket import bracketed
from polymargin.margins.columns import PairColumn, Places, beyond_rounding
from polymargin.margins.exponents import unscaled
from polymargin.margins.falsification import seen_ahead
from polymargin.margins.pairs import ENUMERATED, Enumeration, Pair, QuadricPair, pair_for
from polymargin.margins.prediction import clear_classes, predicted_class, rounding_noise
from polymargin.margins.result import Margin, PairMargin
from polymargin.margins.table import PairTable
from polymargin.networks.network import Network
from polymargin.networks.product_network import quadratic_layers
from polymargin.processes import startable_threads
from polymargin.quadric import NetworkSolvers
from polymargin.standing import Standing

Array = NDArray[np.float64]

# Rounding noise above this share of the difference of two logits makes what doubles see of their boundary doubtful.
LARGEST_NOISE = 1e-3
# A thread of its own pays for at least so many points.
ROWS_PER_THREAD = 128


class ModelMargins(Protocol):
    """One model and what was computed for its boundaries so far."""

    @property
    def dimension(self) -> int: ...

    @property
    def paths_per_point(self) -> int:
        """About how many paths lead to one point; 1 where none do."""
        ...

    def prepare(self, points: Array) -> None:
        """Compute what `ordinary` would have to compute first, once for all points like these."""
        ...

    def ordinary(self, points: Array, tracker: Tracker) -> list[Margin | None]:
        """The margins at points (p, n), finite ones; None where there is more to look at."""
        ...

    def margin_at(self, u: Array, tracker: Tracker) -> Margin:
        """The margin at one point (n,)."""
        ...


def margins_of(model: Network | Boundary, search: Enumeration) -> ModelMargins:
    """For a network, or for a boundary alone."""
    return BoundaryMargins(model, search) if isinstance(model, Boundary) else NetworkMargins(model, search)


class BoundaryMargins:
    """A boundary without a network."""

    def __init__(self, boundary: Boundary, search: Enumeration) -> None:
        self._boundary, self._search = boundary, search

    @cached_property
    def _pair(self) -> Pair:
        return pair_for(self._boundary, self._search)

    @property
    def dimension(self) -> int:
        return self._boundary.dimension

    @property
    def paths_per_point(self) -> int:
        return self._boundary.critical_bound if self._boundary.degree > 2 else 1

    def prepare(self, points: Array) -> None:
        self._pair  # noqa: B018 - made when first asked for

    def ordinary(self, points: Array, tracker: Tracker) -> list[Margin | None]:
        pair = self._pair
        started = perf_counter()
        rows = np.arange(len(points))
        job = pair.job(points, rows)
        survey = None if job is None else next(tracker.survey([job]))
        column = pair.ordinary(points, rows, [None] * len(points), survey)
        seconds = (perf_counter() - started) / len(points)
        found: list[Margin | None] = [None] * len(points)
        known = np.flatnonzero(column.known)
        for row, one in zip(known.tolist(), column.records(known), strict=True):
            found[row] = combined(None, [one], seconds)
        return found

    def margin_at(self, u: Array, tracker: Tracker) -> Margin:
        checked_point(u, self.dimension)
        pair = self._pair
        started = perf_counter()
        return combined(None, [pair.margin_at(u, None, tracker)], perf_counter() - started)


class NetworkMargins:
    """A network; boundaries are prepared when a point first needs them, and serve both orders of their two classes."""

    def __init__(self, network: Network, search: Enumeration) -> None:
        self._unscaled = unscaled(network)
        self._network, self._search = self._unscaled.network, search
        self._pairs: dict[tuple[int, int], Pair] = {}

    @property
    def dimension(self) -> int:
        return self._network.dimension

    @property
    def paths_per_point(self) -> int:
        network = self._network
        size = min(network.dimension, len(network.forms.bias))
        count = generic_critical_count(size, network.degree) if network.degree > 2 else 1
        return count * (network.class_count - 1)

    def prepare(self, points: Array) -> None:
        with np.errstate(all="ignore"):
            labels = self._network.predict(self._unscaled.point(points))
        for label in np.unique(labels).tolist():
            self._solvers(label)

    def ordinary(self, points: Array, tracker: Tracker) -> list[Margin | None]:
        network, u = self._network, self._unscaled.point(points)
        with np.errstate(all="ignore"):
            logits, noise = network(u), rounding_noise(network, u)
            labels, clear = clear_classes(logits, noise)
            ahead = np.take_along_axis(logits, labels[:, None], axis=1) - logits
            cancelled = (ahead != 0) & (noise[:, None] > LARGEST_NOISE * ahead)
        clear &= np.isfinite(noise)
        work = self._work(labels, clear)
        started = perf_counter()
        table, enumerated = _answers(u, labels, network.class_count, work, tracker)
        answered = table.known & ~(cancelled & ~table.beyond_rounding).any(axis=1)
        if (looked_at := np.flatnonzero(enumerated & answered)).size:
            radii = table.upper[looked_at].min(axis=1)
            answered[looked_at] = ~seen_ahead(network, u[looked_at], labels[looked_at], radii).any(axis=1)
        seconds = (perf_counter() - started) / len(points)
        found: list[Margin | None] = [None] * len(points)
        rows = np.flatnonzero(answered)
        for row, margin in zip(rows.tolist(), table.margins(rows, seconds) if len(rows) else (), strict=True):
            found[row] = self._unscaled.original(margin)
        return found

    def _work(self, labels: NDArray[np.intp], clear: NDArray[np.bool_]) -> list[_Work]:
        """The boundaries between the labels of clear points and their rivals; both orders of two classes together."""
        places: dict[tuple[int, int], tuple[Pair, list[int], list[int]]] = {}
        for label in np.unique(labels[clear]).tolist():
            solvers = self._solvers(label)
            rows = np.flatnonzero(clear & (labels == label)).tolist()
            for rival, pair in (solvers or {}).items():
                _, points, rivals = places.setdefault((min(label, rival), max(label, rival)), (pair, [], []))
                points.extend(rows)
                rivals.extend([rival] * len(rows))
        return [_Work(pair, np.array(rows, dtype=np.intp), rivals) for pair, rows, rivals in places.values()]

    def _solvers(self, label: int) -> dict[int, Pair] | None:
        """For every rival of a label; None if some boundary has more critical points than the limit."""
        rivals = [rival for rival in range(self._network.class_count) if rival != label]
        try:
            self._check_size()
            return {rival: self._pair(label, rival) for rival in rivals}
        except TooManyPathsError:
            return None

    def margin_at(self, u: Array, tracker: Tracker) -> Margin:
        checked_point(u, self._network.dimension)
        return self._unscaled.original(self._margin_at(self._unscaled.point(u), tracker))

    def _margin_at(self, u: Array, tracker: Tracker) -> Margin:
        network = self._network
        noise = float(rounding_noise(network, u))
        if not np.isfinite(noise) and not network.is_affine:
            raise InputError(
                "terms of the logits leave the range of doubles at the point; rescale the weights or the inputs"
            )
        label, tied = predicted_class(network, u)
        if tied is not None:
            note = f"classes {label} and {tied} tie exactly at the point"
            return Margin(0.0, 0.0, 0.0, u.copy(), label, tied, Standing.CERTIFIED, "tie", 0.0, notes=(note,))
        rivals = [rival for rival in range(network.class_count) if rival != label]
        try:
            self._check_size()
            solvers = [self._pair(label, rival) for rival in rivals]
        except TooManyPathsError as error:
            return self._bounds(u, str(error))
        started = perf_counter()
        pairs = [solver.margin_at(u, rival, tracker) for solver, rival in zip(solvers, rivals, strict=True)]
        return combined(label, self._defended(label, pairs, u, noise), perf_counter() - started)

    def _check_size(self) -> None:
        """Refuse to enumerate what is far too large before asking for the exact structure of its boundaries."""
        network = self._network
        size = min(network.dimension, len(network.forms.bias))
        count = generic_critical_count(size, network.degree)
        if network.degree > 2 and size > MOST_SAMPLES and count > self._search.limit:
            limit = f"{self._search.limit:,}"
            raise TooManyPathsError(
                f"boundaries of degree {network.degree} in {size} variables may have more than {limit} critical points"
            )

    def _bounds(self, u: Array, reason: str) -> Margin:
        """Both sides of the margin without enumeration: an attack above, a proof below."""
        if not self._network.hidden_layers:
            raise TooManyPathsError(reason)
        found = bracket(self._network, u, rtol=self._search.rtol, timeout=self._search.timeout)
        return Margin(
            radius=found.upper,
            lower=found.lower,
            upper=found.upper,
            point=found.point,
            label=found.label,
            rival=found.rival,
            standing=Standing.CERTIFIED if found.closed else Standing.BRACKETED,
            method="bounds",
            seconds=found.seconds,
            notes=(f"bounds instead of enumeration: {reason}",),
        )

    def _pair(self, label: int, rival: int) -> Pair:
        key = (min(label, rival), max(label, rival))
        if key not in self._pairs:
            boundary = Boundary.from_network(self._network, *key)
            if self._quadrics is not None:
                self._pairs[key] = QuadricPair(boundary, self._quadrics.pair(*key))
            else:
                self._pairs[key] = pair_for(boundary, self._search)
        return self._pairs[key]

    @cached_property
    def _quadrics(self) -> NetworkSolvers | None:
        """Solvers for all pairs at once where the whole network has degree two."""
        layers = quadratic_layers(self._network)
        return None if layers is None or layers.dimension < 2 else NetworkSolvers(layers)

    def _defended(self, label: int, pairs: list[PairMargin], u: Array, noise: float) -> list[PairMargin]:
        """Bounds with proofs instead of what enumeration could not settle, or what does not stand up to a second look."""
        network, logits = self._network, self._network(u)
        radius = min(pair.upper for pair in pairs)
        ahead = np.zeros(network.class_count, dtype=bool)
        if any(pair.method == ENUMERATED for pair in pairs):
            ahead = seen_ahead(network, u[None], np.array([label]), np.array([radius]))[0]
        defended = []
        for pair in pairs:
            if beyond_rounding(pair):
                defended.append(pair)
            elif noise > LARGEST_NOISE * abs(logits[label] - logits[pair.rival]):
                note = "the logits cancel: doubles hardly see them differ; bounds are proved in exact arithmetic"
                doubtful = replace(pair, lower=0.0, complete=False, notes=(note, *pair.notes))
                defended.append(bracketed(network, u, label, doubtful))
            elif ahead[pair.rival]:
                note = f"the classes tie inside the ball of radius {radius:.6g} that enumeration found free of ties"
                defended.append(bracketed(network, u, label, replace(pair, notes=(note, *pair.notes)), doubted=True))
            else:
                defended.append(pair if pair.complete else bracketed(network, u, label, pair))
        return defended


@dataclass(frozen=True, eq=False)
class _Work:
    """One boundary and the points that need it, each with the rival that the boundary is to."""

    pair: Pair
    rows: Places
    rivals: list[int]


def _answers(
    u: Array, labels: NDArray[np.intp], classes: int, work: list[_Work], tracker: Tracker
) -> tuple[PairTable, NDArray[np.bool_]]:
    """The pairs of every point, and which points had paths to follow."""
    jobs = [each.pair.job(u, each.rows) for each in work]
    table, enumerated = PairTable(labels, classes), np.zeros(len(u), dtype=bool)
    for each, job, column in zip(work, jobs, _columns(u, work, jobs, tracker), strict=True):
        enumerated[each.rows] |= job is not None
        table.add(each.rows, each.rivals, column)
    return table, enumerated


def _columns(u: Array, work: list[_Work], jobs: list[Job | None], tracker: Tracker) -> list[PairColumn]:
    """The answers of every boundary; side by side where there are points enough for several threads."""
    told = tracker.survey([job for job in jobs if job is not None])
    surveys = (None if job is None else next(told) for job in jobs)

    def column(each: _Work, survey: Survey | None) -> PairColumn:
        return each.pair.ordinary(u, each.rows, each.rivals, survey)

    threads = min(tracker.threads or available_threads(), len(work), len(u) // ROWS_PER_THREAD)
    if threads < 2 or (threads := startable_threads(threads)) < 2:
        return list(map(column, work, surveys))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(column, work, surveys))


def combined(label: int | None, pairs: list[PairMargin], seconds: float) -> Margin:
    """The nearest of the rivals, with the standing of what is known least."""
    nearest = min(pairs, key=_upper)
    complete = all(pair.complete for pair in pairs)
    notes = tuple(
        [
            note if pair.rival is None else f"against class {pair.rival}: {note}"
            for pair in pairs
            for note in pair.notes
            if pair is nearest or not pair.complete
        ]
    )
    return Margin(
        radius=nearest.upper,
        lower=min([pair.lower for pair in pairs]),
        upper=nearest.upper,
        point=nearest.point,
        label=label,
        rival=nearest.rival,
        standing=_standing(pairs, complete),
        method=nearest.method,
        seconds=seconds,
        complex_count=nearest.complex_count,
        real_count=nearest.real_count,
        pairs=tuple(pairs),
        notes=notes,
    )


def _standing(pairs: list[PairMargin], complete: bool) -> Standing:
    if all(pair.proved for pair in pairs):
        return Standing.CERTIFIED
    return Standing.NUMERICAL if complete else Standing.BRACKETED


def _upper(pair: PairMargin) -> float:
    return pair.upper
