"""Live answers: the margin at a place of the plane, and the critical points of every rival's boundary.

Start solutions of each boundary are kept, so an answer takes milliseconds for small networks. Answers are computed one at a
time.
"""

from __future__ import annotations

import math
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.arguments import DEFAULT_LIMIT
from polymargin.boundary import Boundary
from polymargin.class_names import named
from polymargin.continuation import Tracker
from polymargin.enumeration import CriticalPoints, critical_points
from polymargin.enumeration.cache import Cache
from polymargin.explorer.scene import Scene, located
from polymargin.margins import Margin, PairMargin
from polymargin.margins.exponents import unscaled
from polymargin.margins.pairs import Enumeration
from polymargin.margins.prepared import Prepared
from polymargin.margins.proving import MarginQuestion
from polymargin.quadric import QuadricCriticalPoints, QuadricSolver, quadric_critical_points
from polymargin.regions import ThreatModel

Array = NDArray[np.float64]
Found = CriticalPoints | QuadricCriticalPoints

# For boundaries with more critical points or inputs only the nearest critical point is shown.
MOST_SHOWN, MOST_INPUTS = 2_000, 32
# Rivals whose distances differ by less than this share count as equally near.
TIE = 1e-6


class Answers:
    """Compute the answers of one scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._tracker, self._lock = Tracker(threads=1), Lock()
        self._found: dict[int | None, Found] = {}
        # A margin computed in scaled units enumerates points that do not belong to the picture.
        watcher = self._found.__setitem__ if unscaled(scene.network).unit == 1.0 else None
        cache = Cache.from_option(True)
        search = Enumeration(self._tracker, scene.seed, DEFAULT_LIMIT, cache, scene.timeout, watcher=watcher)
        prepared = Prepared(scene.network, ThreatModel.of(scene.network.dimension), search)
        self._margins = MarginQuestion(prepared, False)
        self._boundaries: dict[tuple[int, int], Boundary] = {}
        self._quadrics: dict[tuple[int, int], QuadricSolver] = {}

    def margin_at(self, u: Array) -> Margin:
        """Return the margin at a point of the input space."""
        with self._lock:
            return named(self._margins.at(u, self._tracker), self.scene.network)

    def at(self, at: tuple[float, float]) -> dict[str, Any]:
        """Return the answer at a place of the plane, as plain data."""
        u = self.scene.plane.points([at])[0]
        with self._lock:
            self._found.clear()
            margin = named(self._margins.at(u, self._tracker), self.scene.network)
            critical = {
                rival: self._found[rival] if rival in self._found else self._critical_points(u, margin.label, rival)
                for rival in range(self.scene.network.class_count)
                if margin.label is not None and rival != margin.label
            }
        pairs = {pair.rival: pair for pair in margin.pairs}
        rivals = []
        for rival, found in critical.items():
            pair = pairs.get(rival)
            rivals.append(
                {
                    "rival": rival,
                    "lower": plain(pair.lower) if pair is not None else None,
                    "upper": plain(pair.upper) if pair is not None else None,
                    "complex": None if found is None else len(found),
                    "real": None if found is None else int(found.real.sum()),
                    "points": self._places(_shown(pair, found)),
                }
            )
        return {
            "place": list(at),
            "class": margin.label,
            "rival": margin.rival,
            "lower": plain(margin.lower),
            "upper": plain(margin.upper),
            "standing": margin.standing.name,
            "method": margin.method,
            "seconds": margin.seconds,
            "notes": list(margin.notes),
            "nearest": None if margin.point is None else self._places(margin.point[None])[0],
            "tied": tied_rivals(margin),
            "rivals": rivals,
        }

    def boundary(self, label: int, rival: int) -> Boundary:
        """Return the boundary between two classes, the same object for both orders."""
        key = (min(label, rival), max(label, rival))
        if key not in self._boundaries:
            self._boundaries[key] = Boundary.from_network(self.scene.network, *key)
        return self._boundaries[key]

    def _quadric(self, label: int, rival: int) -> QuadricSolver:
        key = (min(label, rival), max(label, rival))
        if key not in self._quadrics:
            self._quadrics[key] = QuadricSolver(self.boundary(*key))
        return self._quadrics[key]

    def _critical_points(self, u: Array, label: int, rival: int) -> Found | None:
        boundary = self.boundary(label, rival)
        if boundary.degree < 1 or boundary.dimension > MOST_INPUTS:
            return None
        if boundary.degree == 2:
            return quadric_critical_points(self._quadric(label, rival), u)
        if boundary.degree > 2 and boundary.critical_bound > MOST_SHOWN:
            return None
        return critical_points(boundary, u, seed=self.scene.seed, threads=1)

    def _places(self, points: Array) -> list[list[float]]:
        if not points.size:
            return []
        return [[float(f"{value:.9g}") for value in row] for row in located(self.scene.plane, points).tolist()]


def _shown(pair: PairMargin | None, found: Found | None) -> Array:
    """Return all real critical points if they are known, the nearest otherwise."""
    if found is not None:
        return np.asarray(found.points[found.real].real)
    return np.empty((0, 0)) if pair is None or pair.point is None else pair.point[None]


def tied_rivals(margin: Margin) -> list[int]:
    """Return rivals whose boundaries are equally near up to `TIE`; an empty list if one is nearest."""
    near = [
        pair.rival
        for pair in margin.pairs
        if pair.rival is not None and math.isfinite(pair.upper) and pair.upper <= margin.upper * (1 + TIE)
    ]
    return near if len(near) > 1 else []


def plain(value: float) -> float | str | None:
    """Return a number for JSON: "inf" for infinity, None for NaN."""
    if math.isnan(value):
        return None
    return "inf" if math.isinf(value) else value
