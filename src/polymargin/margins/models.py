"""The margin of a model at a point: what is known of each rival, put together.

For each rival c' of the predicted class c the nearest real point of {f_c = f_c'} gives a radius; the least one is the margin
(dropping the condition that c and c' are the largest logits changes nothing when the prediction is unique: before another pair
can tie, c ties with one of them). An answer that does not stand up to a second look is replaced by bounds that are proved.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import checked_point
from polymargin.boundary import Boundary, generic_critical_count
from polymargin.boundary.active_space import MOST_SAMPLES
from polymargin.bounds import bracket
from polymargin.errors import InputError, TooManyPathsError
from polymargin.margins.bracket import bracketed
from polymargin.margins.exponents import unscaled
from polymargin.margins.falsification import seen_ahead
from polymargin.margins.pairs import Pair, QuadricPair, Search, pair_for
from polymargin.margins.prediction import predicted_class, rounding_noise
from polymargin.margins.result import Margin, PairMargin
from polymargin.networks import PolynomialNetwork
from polymargin.networks.network import Network
from polymargin.quadric import NetworkSolvers
from polymargin.standing import Standing

Array = NDArray[np.float64]

# Rounding noise above this share of the difference of two logits makes what doubles see of their boundary doubtful.
LARGEST_NOISE = 1e-3


class ModelMargins(Protocol):
    """One model and what was computed for its boundaries so far."""

    def margin_at(self, u: Array) -> Margin:
        """The margin at one point (n,)."""
        ...


def margins_of(model: Network | Boundary, search: Search) -> ModelMargins:
    """For a network, or for a boundary alone."""
    return BoundaryMargins(model, search) if isinstance(model, Boundary) else NetworkMargins(model, search)


class BoundaryMargins:
    """A boundary without a network."""

    def __init__(self, boundary: Boundary, search: Search) -> None:
        self._boundary, self._search = boundary, search

    @cached_property
    def _pair(self) -> Pair:
        return pair_for(self._boundary, self._search)

    def margin_at(self, u: Array) -> Margin:
        checked_point(u, self._boundary.dimension)
        pair = self._pair
        started = perf_counter()
        return _combine(None, [pair.margin_at(u, None)], perf_counter() - started)


class NetworkMargins:
    """A network; boundaries are prepared when a point first needs them, and serve both orders of their two classes."""

    def __init__(self, network: Network, search: Search) -> None:
        self._unscaled = unscaled(network)
        self._network, self._search = self._unscaled.network, search
        self._pairs: dict[tuple[int, int], Pair] = {}

    def margin_at(self, u: Array) -> Margin:
        checked_point(u, self._network.dimension)
        return self._unscaled.original(self._margin_at(self._unscaled.point(u)))

    def _margin_at(self, u: Array) -> Margin:
        network = self._network
        noise = rounding_noise(network, u)
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
        pairs = [solver.margin_at(u, rival) for solver, rival in zip(solvers, rivals, strict=True)]
        return _combine(label, self._defended(label, pairs, u, noise), perf_counter() - started)

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
        found = bracket(self._network, u, timeout=self._search.timeout)
        return Margin(
            radius=found.upper,
            lower=found.lower,
            upper=found.upper,
            point=found.point,
            label=found.label,
            rival=found.rival,
            status=Standing.CERTIFIED if found.closed else Standing.BRACKETED,
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
        network = self._network
        if isinstance(network, PolynomialNetwork) and network.degree == 2 and network.dimension > 1:
            return NetworkSolvers(network)
        return None

    def _defended(self, label: int, pairs: list[PairMargin], u: Array, noise: float) -> list[PairMargin]:
        """Bounds with proofs instead of what enumeration could not settle, or what does not stand up to a second look."""
        network, logits = self._network, self._network(u)
        radius = min(pair.upper for pair in pairs)
        enumerated = any(pair.method == "continuation" for pair in pairs)
        ahead = seen_ahead(network, u, label, radius) if enumerated else np.zeros(network.class_count, dtype=bool)
        defended = []
        for pair in pairs:
            if pair.proved or pair.method == "hyperplane":
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
        status=_standing(pairs, complete),
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
