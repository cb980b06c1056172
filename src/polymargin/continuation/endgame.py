"""Endpoints of paths that are singular or at infinity: Cauchy's integral over the local monodromy.

Near the end of a path its coordinates are Laurent–Puiseux series x(s) = Σ_{k ≥ −p} c_k s^{k/w} in the remaining way s.
Going once around s = 0 on a small circle permutes the paths; a path comes back to itself after w turns, the length of its
cycle. The points met on the way are samples of a Laurent series in s^{1/w} on a circle, and a discrete Fourier transform
gives its coefficients. Negative powers mean that the coordinate has no finite limit; otherwise c_0 is the limit, to an
accuracy that grows exponentially with the number of samples, although the end itself is never evaluated.

All paths go around together, so the permutation is read off whole and a path that jumped shows at once. The circle must
contain no other branch point. A series without negative powers on a circle extends into it, so such a path is settled as
soon as two radii agree. Negative powers may also come from branch points inside the circle; a coordinate counts as infinite
only where they dominate, on a small circle, and the caller should have other evidence too, such as a path that was seen
to leave.

(Morgan, Sommese and Wampler, Numer. Math. 1991, introduced the Cauchy endgame one path at a time.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.continuation.same_points import SAME_LIMIT, sizes
from polymargin.continuation.tracker import Tracker
from polymargin.polynomials import Program

ComplexArray = NDArray[np.complex128]
Move: TypeAlias = Callable[[ComplexArray, complex, complex], ComplexArray]

SAMPLES = 16  # points per turn
SHRINK = 8.0
MOST_RADII = 9
# Negative powers are believed on circles smaller than this.
SMALL_RADIUS = 1e-4
# A coordinate is finite if no negative power has more than this share of its largest coefficient, and infinite if a
# negative power is the largest. In between, branch points inside the circle may be at work: a smaller one will tell.
FINITE_SHARE = 1e-8
# Two radii agree on a limit within this, relative.
AGREEMENT = 1e-7


@dataclass(frozen=True, eq=False)
class Limits:
    """The ends of N paths in n coordinates.

    points     (N, n) limits; meaningless where `infinite`
    infinite   (N, n) coordinates without a finite limit
    windings   (N,) length of the path's cycle
    settled    (N,) whether two radii agreed; nothing may be concluded from a path that did not settle
    """

    points: ComplexArray
    infinite: NDArray[np.bool_]
    windings: NDArray[np.int64]
    settled: NDArray[np.bool_]

    @classmethod
    def unknown(cls, count: int, size: int) -> Limits:
        """Return limits of which none is settled."""
        return cls(
            points=np.full((count, size), np.nan, dtype=np.complex128),
            infinite=np.zeros((count, size), dtype=bool),
            windings=np.zeros(count, dtype=np.int64),
            settled=np.zeros(count, dtype=bool),
        )


def limits(
    program: Program,
    points: ComplexArray,
    end: ComplexArray,
    direction: ComplexArray,
    radius: complex,
    tracker: Tracker,
) -> Limits:
    """Return limits as s → 0 of the paths that pass through `points` at the parameters end + radius · direction.

    The points must be closed under turning around s = 0: all solutions of the system, or all that are not regular there.
    """
    result = Limits.unknown(*points.shape)

    def move(starts: ComplexArray, s0: complex, s1: complex) -> ComplexArray:
        """Follow to another s; a path that fails becomes NaN and stays unsettled."""
        segment = end + s0 * direction, end + s1 * direction
        paths = tracker.track(program, starts, *segment)
        if not paths.converged.all():
            paths = tracker.tightened().track(program, starts, *segment)
        return np.where(paths.converged[0][:, None], paths.points[0], np.nan)

    current, s = points, radius
    before: Limits | None = None
    for _ in range(MOST_RADII):
        alive = np.asarray(np.isfinite(current).all(axis=1))
        here = _one_radius(current, alive, s, move)
        if before is not None:
            agreed = here.settled & before.settled & _agree(before, here) & ~result.settled
            if abs(s) > SMALL_RADIUS:
                agreed &= ~here.infinite.any(axis=1)
            result.points[agreed] = here.points[agreed]
            result.infinite[agreed] = here.infinite[agreed]
            result.windings[agreed] = here.windings[agreed]
            result.settled[agreed] = True
        if result.settled.all() or not alive.any():
            break
        before = here
        current = np.where(alive[:, None], move(np.where(alive[:, None], current, 0), s, s / SHRINK), np.nan)
        s /= SHRINK
    return result


def _one_radius(current: ComplexArray, alive: NDArray[np.bool_], s: complex, move: Move) -> Limits:
    found = Limits.unknown(*current.shape)
    index = np.flatnonzero(alive)
    turn = [current[index]]
    angles = s * np.exp(2j * np.pi * np.arange(SAMPLES + 1) / SAMPLES)
    angles[-1] = s
    for s0, s1 in pairwise(angles):
        turn.append(move(turn[-1], s0, s1))
        if np.isnan(turn[-1]).any():
            return found  # closure is lost; a smaller circle may do
    samples = np.array(turn[:-1])
    for cycle in _cycles(turn[-1], turn[0]):
        series = np.concatenate([samples[:, member] for member in cycle])
        spectrum = np.fft.fft(series, axis=0) / len(series)
        # The most negative frequencies are left out: that is where aliasing of high positive ones arrives.
        negative = np.abs(spectrum[-(len(series) // 4) :]).max(axis=0)
        others = np.abs(spectrum[: len(series) // 2]).max(axis=0)
        infinite = negative > others
        judged = bool((infinite | (negative <= FINITE_SHARE * others)).all())
        for member in cycle:
            path = index[member]
            found.points[path] = spectrum[0]
            found.infinite[path] = infinite
            found.windings[path] = len(cycle)
            found.settled[path] = judged
    return found


def _cycles(after: ComplexArray, before: ComplexArray) -> Iterator[list[int]]:
    """Return the cycles of the permutation of one turn, or nothing if endpoints do not match starts."""
    successor = np.full(len(before), -1)
    for i, point in enumerate(after):
        distance = np.abs(before - point).max(axis=1) / sizes(before)
        nearest = int(distance.argmin())
        if distance[nearest] <= SAME_LIMIT:
            successor[i] = nearest
    if len(set(successor.tolist())) != len(successor) or (successor < 0).any():
        return
    seen = np.zeros(len(before), dtype=bool)
    for first in range(len(before)):
        cycle = []
        i = first
        while not seen[i]:
            seen[i] = True
            cycle.append(i)
            i = int(successor[i])
        if cycle:
            yield cycle


def _agree(first: Limits, second: Limits) -> NDArray[np.bool_]:
    same = (first.windings == second.windings) & (first.infinite == second.infinite).all(axis=1)
    size = 1 + np.abs(np.where(second.infinite, 0, second.points)).max(axis=1)
    change = np.abs(np.where(second.infinite, 0, second.points - first.points)).max(axis=1)
    return np.asarray(same & (change <= AGREEMENT * size))
