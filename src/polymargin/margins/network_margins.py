"""The margin of a network: the least over the rivals.

For each rival c' of the predicted class c the nearest real point of {f_c = f_c'} gives a radius; the least one is the margin
(dropping the condition that c and c' are the largest logits changes nothing when the prediction is unique: before another pair
can tie, c ties with one of them). An answer that falsification makes doubtful is left open, for `proving` to close.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from math import comb
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import checked_point
from polymargin.blas import blas_threads
from polymargin.boundary import generic_critical_count
from polymargin.boundary.active_space import MOST_SAMPLES
from polymargin.continuation import Tracker
from polymargin.deadlines import TimeUpError
from polymargin.enumeration.critical_points import CriticalPoints, critical_points_at
from polymargin.errors import InputError, TooManyPathsError
from polymargin.margins.columns import ENUMERATED, beyond_rounding
from polymargin.margins.combined import combined
from polymargin.margins.exponents import unscaled
from polymargin.margins.falsification import seen_ahead
from polymargin.margins.models import ModelMargins
from polymargin.margins.pair_work import Found, PairWork, answers
from polymargin.margins.pairs import (
    FOLLOWING,
    EnumeratedPair,
    Enumeration,
    Pair,
    QuadricPair,
    boundary_of,
    out_of_time,
    pair_for,
)
from polymargin.margins.prediction import LARGEST_NOISE, clear_classes, predicted_class
from polymargin.margins.result import Margin, Ordinary, PairMargin, open_margin
from polymargin.networks.network import Network
from polymargin.networks.noise import check_scale, check_terms, rounding_noise
from polymargin.quadric import NetworkSolvers
from polymargin.standing import Standing

Array = NDArray[np.float64]


def check_architecture(network: Network, variables: int, limit: int) -> None:
    """Refuse to enumerate what is far too large before asking for the exact structure of its boundaries."""
    size = min(variables, len(network.input_forms.bias))
    if network.degree > 2 and size > MOST_SAMPLES and generic_critical_count(size, network.degree) > limit:
        raise TooManyPathsError(
            f"boundaries of degree {network.degree} in {size} variables may have more than {limit:,} critical points"
        )


class NetworkMargins(ModelMargins):
    """A network; boundaries are prepared when a point first needs them, and serve both orders of their two classes."""

    def __init__(self, network: Network, search: Enumeration) -> None:
        self._unscaled = unscaled(network)
        self._network, self._search = self._unscaled.network, search
        if self._network.degree > 1:
            check_scale(self._network)
        self._pairs: dict[tuple[int, int], Pair] = {}
        self._by_label: dict[int, dict[int, Pair]] = {}
        self._given_up: set[int] = set()  # labels for whose boundaries the timeout did not suffice

    @property
    def paths_per_point(self) -> int:
        """Return about how many paths lead to one point; 0 where linear algebra answers."""
        network = self._network
        size = min(network.dimension, len(network.input_forms.bias))
        count = generic_critical_count(size, network.degree) if network.degree > 2 else 0
        return count * (network.class_count - 1)

    def prepare(self, points: Array) -> None:
        """Find the base solutions that all points share."""
        if len(self._pairs) == comb(self._network.class_count, 2):
            return
        with np.errstate(all="ignore"):
            labels = self._network.predict(self._unscaled.point(points))
        for label in np.unique(labels).tolist():
            self._solvers(label, self._search.tracker)

    def ordinary(self, points: Array, tracker: Tracker) -> Ordinary:
        """Return the margins at points (p, n) without doubts, and their rows."""
        return self.search(points, tracker)[0]

    def search(self, points: Array, tracker: Tracker, keep: bool = False) -> tuple[Ordinary, Found | None]:
        """Return what `ordinary` does, and what was found on the way; `keep` the endpoints of all paths for proofs."""
        network, u = self._network, self._unscaled.point(points)
        labels, clear, cancelled = clear_classes(network, u)
        work = self._work(labels, clear, tracker)
        started = perf_counter()
        try:
            made = answers(u, labels, network.class_count, work, tracker, keep)
        except TimeUpError:
            return (np.zeros(0, dtype=np.intp), []), None
        table, answered = made.table, made.table.known
        if cancelled.any():
            answered &= ~(cancelled & ~table.beyond_rounding).any(axis=1)
        if (looked_at := np.flatnonzero(made.followed & answered)).size:
            radii = table.upper[looked_at].min(axis=1)
            answered[looked_at] = ~seen_ahead(network, u[looked_at], labels[looked_at], radii).any(axis=1)
        seconds = (perf_counter() - started) / len(points)
        rows = np.flatnonzero(answered)
        return (rows, self._unscaled.originals(table.margins(rows, seconds))), made

    @property
    def is_scaled(self) -> bool:
        """Return whether everything is computed for another network and other units than those that were given."""
        return self._unscaled.unit != 1.0

    def _work(self, labels: NDArray[np.intp], clear: NDArray[np.bool_], tracker: Tracker) -> list[PairWork]:
        """Return the boundaries between the labels of clear points and their rivals; both orders of two classes together."""
        work: dict[tuple[int, int], PairWork] = {}
        known = np.where(clear, labels, -1)
        for label in np.flatnonzero(np.bincount(labels[clear])).tolist():
            rows = np.flatnonzero(known == label)
            for rival, pair in self._solvers(label, tracker).items():
                key = (label, rival) if label < rival else (rival, label)
                if key not in work:
                    work[key] = PairWork(pair, [])
                work[key].pieces.append((rows, rival))
        return list(work.values())

    def _solvers(self, label: int, tracker: Tracker) -> dict[int, Pair]:
        """Return the solver of every rival; none if a boundary has more critical points than the limit or the time allows."""
        if label not in self._by_label:
            timed = tracker.until(self._search.deadline(tracker).part(FOLLOWING))
            rivals = [rival for rival in range(self._network.class_count) if rival != label]
            try:
                check_architecture(self._network, self._network.dimension, self._search.limit)
                self._by_label[label] = {rival: self._pair(label, rival, timed) for rival in rivals}
            except TooManyPathsError:
                self._by_label[label] = {}
            except TimeUpError:
                self._by_label[label] = {}
                self._given_up.add(label)
        return self._by_label[label]

    def margin_at(self, u: Array, tracker: Tracker) -> Margin:
        """Return the margin at one point (n,)."""
        checked_point(u, self._network.dimension)
        reduced = self._unscaled.point(u)
        if not np.isfinite(reduced).all():
            raise InputError("the point is too far away for weights of this size; rescale the weights or the inputs")
        return self._unscaled.original(self._margin_at(reduced, tracker))

    def _margin_at(self, u: Array, tracker: Tracker) -> Margin:
        network = self._network
        if network.degree > 1:
            check_terms(network, u)
        noise = float(rounding_noise(network, u))
        label, tied = predicted_class(network, u)
        if tied is not None:
            note = f"classes {label} and {tied} tie exactly at the point"
            return Margin(0.0, 0.0, 0.0, u.copy(), label, tied, Standing.CERTIFIED, "tie", 0.0, notes=(note,))
        with blas_threads(self._search.tracker.threads):
            return self._settled(u, label, noise, tracker)

    def _settled(self, u: Array, label: int, noise: float, tracker: Tracker) -> Margin:
        rivals = [rival for rival in range(self._network.class_count) if rival != label]
        deadline = self._search.deadline(tracker)
        timed = tracker.until(deadline.part(FOLLOWING))
        try:
            check_architecture(self._network, self._network.dimension, self._search.limit)
            if label in self._given_up:
                raise out_of_time(self._search.timeout)
            solvers = [self._pair(label, rival, timed) for rival in rivals]
            started = perf_counter()
            pairs = [solver.margin_at(u, rival, timed) for solver, rival in zip(solvers, rivals, strict=True)]
        except TooManyPathsError as error:
            if not self._network.stages:
                raise
            return open_margin(label, f"bounds instead of enumeration: {error}")
        except TimeUpError:
            return open_margin(label, f"bounds instead of enumeration: {out_of_time(self._search.timeout)}")
        return combined(label, self._defended(label, pairs, u, noise), perf_counter() - started)

    def critical_points(self, label: int, rival: int, u: Array, tracker: Tracker) -> CriticalPoints | None:
        """Return the critical points of the boundary of two classes, from prepared solutions; None if there are none."""
        if self.is_scaled or (label, rival) not in self._pairs:
            return None
        pair = self._pairs[label, rival]
        return critical_points_at(pair.base, u, tracker) if isinstance(pair, EnumeratedPair) else None

    def _pair(self, label: int, rival: int, tracker: Tracker) -> Pair:
        key = (min(label, rival), max(label, rival))
        if key not in self._pairs:
            boundary = boundary_of(self._network, *key)
            if self._quadrics is not None:
                self._pairs[key] = QuadricPair(boundary, self._quadrics.pair(*key))
            else:
                self._pairs[key] = pair_for(boundary, self._search, tracker)
        return self._pairs[key]

    @cached_property
    def _quadrics(self) -> NetworkSolvers | None:
        """Return solvers for all pairs at once where the whole network has degree two."""
        network = self._network
        return NetworkSolvers(network) if network.degree == 2 and network.dimension > 1 else None

    def _defended(self, label: int, pairs: list[PairMargin], u: Array, noise: float) -> list[PairMargin]:
        """Return the pairs, open where enumeration did not settle them or falsification makes them doubtful."""
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
                defended.append(replace(pair, lower=0.0, complete=False, notes=(note, *pair.notes)))
            elif ahead[pair.rival]:
                nearer = "" if math.isinf(radius) else f" nearer than {radius:.6g}"
                note = (
                    f"enumeration found no tie{nearer}, but a point{nearer} was met at which this class wins; "
                    "the bounds are proved without enumeration"
                )
                nothing: dict[str, Any] = {
                    "radius": math.inf,
                    "lower": 0.0,
                    "upper": math.inf,
                    "point": None,
                    "complete": False,
                }
                defended.append(replace(pair, **nothing, notes=(note, *pair.notes)))
            else:
                defended.append(pair if pair.complete else replace(pair, lower=min(pair.lower, pair.upper)))
        return defended
