"""The ball of a norm in a box, in coordinates in which all weights are one: what is lowest, nearest and shortest there.

    lowest      argmin g·δ  over ‖δ‖ ≤ r            projected   the nearest point with ‖δ‖ ≤ r
    shortest    argmin ‖δ‖  over g·δ ≤ −c           both for many g, δ, r and c at once, and all within low ≤ δ ≤ high

On each of these paths coordinates move in proportion to one number until they meet an end of the box. What has to reach a goal is
then piecewise linear in that number, or in its square. Its breakpoints are sorted, and the piece on which it reaches the goal is
solved: no iteration, no tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.regions import Norm

Array = NDArray[np.float64]

TINY = 1e-300


@dataclass(frozen=True, eq=False)
class NormBall:
    """A norm, and the ends (d,) of a box, which may be infinite. The box of a ball around the point holds 0."""

    norm: Norm
    low: Array
    high: Array

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        return len(self.low)

    @property
    def is_round(self) -> bool:
        """Return whether this is an L2 ball that no box cuts."""
        return self.norm is Norm.L2 and not np.isfinite(self.low).any() and not np.isfinite(self.high).any()

    def lengths(self, steps: Array) -> Array:
        """Return the norms of steps (…, d)."""
        if self.norm is Norm.L2:
            return np.asarray(np.linalg.norm(steps, axis=-1))
        sizes = np.abs(steps)
        return np.asarray(sizes.max(axis=-1, initial=0.0) if self.norm is Norm.LINF else sizes.sum(axis=-1))

    def dual(self, slopes: Array) -> Array:
        """Return the dual norms of slopes (…, d)."""
        if self.norm is Norm.L2:
            return np.asarray(np.linalg.norm(slopes, axis=-1))
        sizes = np.abs(slopes)
        return np.asarray(sizes.sum(axis=-1) if self.norm is Norm.LINF else sizes.max(axis=-1, initial=0.0))

    def clipped(self, steps: Array) -> Array:
        """Return the steps clipped to the box."""
        return np.clip(steps, self.low, self.high)

    def lowest(self, slopes: Array, radii: Array) -> Array:
        """Return where linear functions with slopes (S, d) are least within the radii (S,)."""
        if self.norm is Norm.LINF:
            return self.clipped(-radii[:, None] * np.sign(slopes))
        return self._greedy(-slopes, radii) if self.norm is Norm.L1 else self._within(-slopes, radii, np.inf)

    def projected(self, steps: Array, radii: Array) -> Array:
        """Return the nearest points to steps (S, d) in the Euclidean sense within the radii (S,)."""
        if self.norm is Norm.LINF:
            return self.clipped(np.clip(steps, -radii[:, None], radii[:, None]))
        return self._shrunk(steps, radii) if self.norm is Norm.L1 else self._within(steps, radii, 1.0)

    def shortest(self, slopes: Array, drops: Array) -> Array:
        """Return the shortest δ with slopes · δ ≤ −drops, for drops (S,) ≥ 0; as far as the box goes if it ends before."""
        sizes, base = np.abs(slopes), self.clipped(np.zeros_like(slopes))
        if self.norm is Norm.L1:
            return self._greedy(-slopes, drops, sizes)
        if self.norm is Norm.L2:
            flat = -slopes * (drops / np.maximum((slopes * slopes).sum(axis=1), TINY))[:, None]
        else:
            flat = -np.sign(slopes) * (drops / np.maximum(sizes.sum(axis=1), TINY))[:, None]
        if self._holds(flat):
            return np.asarray(flat)
        along = -slopes if self.norm is Norm.L2 else -np.sign(slopes)
        ends, starts = self._meetings(along, base)
        times = _first(starts, ends, sizes * np.abs(along), drops + (slopes * base).sum(axis=1))
        return self._moved(along, times)

    # -- paths ---------------------------------------------------------------------------------

    def _holds(self, steps: Array) -> bool:
        return bool(((self.low <= steps) & (steps <= self.high)).all())

    def _ends(self, along: Array) -> Array:
        """Return the ends of the box in these directions."""
        return np.where(along > 0, self.high, np.where(along < 0, self.low, self.clipped(np.zeros(self.dimension))))

    def _meetings(self, along: Array, base: Array) -> tuple[Array, Array]:
        """Return the multiples of `along` at which coordinates stop at the box, and at which they start to move."""
        moves = along != 0
        safe = np.where(moves, along, 1.0)
        ends = np.where(moves, np.maximum(self._ends(along) / safe, 0.0), 0.0)
        starts = np.where(moves, np.maximum(base / safe, 0.0), 0.0)
        return np.maximum(ends, starts), starts

    def _moved(self, along: Array, times: Array) -> Array:
        """Return clip(t · along) for t that may be infinite."""
        with np.errstate(invalid="ignore", over="ignore"):
            steps = np.where(along == 0, 0.0, times[:, None] * along)
        return self.clipped(steps)

    def _within(self, along: Array, radii: Array, most: float) -> Array:
        """Return clip(t · along) of length r, or with t = most if that is shorter."""
        sizes = np.maximum(np.linalg.norm(along, axis=1), TINY)
        times = np.minimum(radii / sizes, most)
        flat = times[:, None] * along
        if self._holds(flat):
            return np.asarray(flat)
        base = self.clipped(np.zeros_like(along))
        ends, starts = self._meetings(along, base)
        squares = _first(starts**2, ends**2, along**2, radii**2 - (base * base).sum(axis=1))
        return self._moved(along, np.minimum(np.sqrt(squares), most))

    def _greedy(self, along: Array, budgets: Array, gains: Array | None = None) -> Array:
        """Move to the ends of the box, steepest coordinates first, until lengths, or gains times them, use up the budgets."""
        base = self.clipped(np.zeros_like(along))
        reach = self._ends(along) - base
        order = np.argsort(-np.abs(along), axis=1)
        rates = np.ones_like(along) if gains is None else np.maximum(gains, TINY)
        left = budgets - (np.abs(base) if gains is None else np.where(along > 0, 1.0, -1.0) * gains * base).sum(axis=1)
        costs = np.take_along_axis(np.where(along == 0, 0.0, np.abs(reach) * rates), order, axis=1)
        before = np.cumsum(np.append(np.zeros((len(along), 1)), costs[:, :-1], axis=1), axis=1)
        spent = np.clip(np.nan_to_num(left[:, None] - before, nan=0.0, neginf=0.0), 0.0, costs)
        moved = np.empty_like(along)
        np.put_along_axis(moved, order, spent / np.take_along_axis(rates, order, axis=1), axis=1)
        return self.clipped(base + np.sign(along) * moved)

    def _shrunk(self, steps: Array, radii: Array) -> Array:
        """Return clip(sign(x) max(|x| − τ, 0)) of length r."""
        sizes = np.abs(steps)
        if (self.clipped(steps) == steps).all() and (sizes.sum(axis=1) <= radii).all():
            return steps
        base = self.clipped(np.zeros_like(steps))
        top = sizes.max(axis=1, initial=0.0)[:, None]
        same = np.sign(base) * np.sign(steps) >= 0
        starts = top - sizes + np.where(same, np.abs(base), 0.0)  # of the time top − τ
        ends = np.where(same, top - sizes + np.abs(self._ends(steps)), starts)
        times = _first(starts, np.maximum(ends, starts), np.ones_like(sizes), radii - np.abs(base).sum(axis=1))
        excess = np.maximum(sizes - np.maximum(top[:, 0] - times, 0.0)[:, None], 0.0)
        return self.clipped(np.sign(steps) * excess)


def _first(starts: Array, ends: Array, rates: Array, goals: Array) -> Array:
    """Return the first times t (S,) at which Σ rate · (clip(t, start, end) − start) reaches the goals; inf if it never does."""
    times = np.concatenate([starts, ends], axis=1) if starts.any() else ends
    turns = np.concatenate([rates, -rates], axis=1) if starts.any() else -rates
    first = np.zeros(len(goals)) if starts.any() else rates.sum(axis=1)
    order = np.argsort(times, axis=1)
    times, turns = (np.take_along_axis(array, order, axis=1) for array in (times, turns))
    slopes = np.concatenate([first[:, None], first[:, None] + np.cumsum(turns, axis=1)], axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        widths = np.diff(times, axis=1, prepend=0.0)
        values = np.cumsum(np.where(widths > 0, slopes[:, :-1] * widths, 0.0), axis=1)
    reached = values >= goals[:, None]
    each, piece = np.arange(len(goals)), reached.argmax(axis=1)
    before = np.where(piece > 0, values[each, piece - 1], 0.0)
    begun = np.where(piece > 0, times[each, piece - 1], 0.0)
    inside = begun + np.maximum(goals - before, 0.0) / np.maximum(slopes[each, piece], TINY)
    return np.asarray(np.where(reached.any(axis=1), inside, np.inf))
