"""The radius as the unknown: the least one within which a functional is not positive.

The lowest value within a radius falls as the radius grows, at the rate at which that of the linearised functional falls. Newton's
method for its zero alternates with descents. It ends at a local answer; others are looked for within a slightly smaller radius,
from random places and from mixtures of them with the best one. Where no walk met the boundary, radii grow from the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.deadlines import Deadline
from polymargin.regions import Norm
from polymargin.relaxation.balls import TINY, NormBall
from polymargin.relaxation.descent import descend
from polymargin.relaxation.gradients import Functionals
from polymargin.relaxation.lagrange import refined

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

# Newton steps for the radius, steps of each descent, and the share of the radius that counts as none.
RADII, DESCENTS, SAME = 24, 10, 1e-8
GROWTHS, GROWTH = 24, 2.5
# How often others are looked for, and within which parts of the radius, one after the other while none is found.
LOOKS, FACTORS = 16, (0.999, 0.9999, 0.99999)
# Starts that mix the best place with random ones; steps of a look, and which share of its places goes on after them.
MIXED, STAGES = 16, ((5, 0.25), (12, 1.0))
# Coordinates up to which the corners of a diamond are tried one by one.
MOST_CORNERS = 2_000
# Places that are made stationary.
BEST = 2
# Of its length and slope: how large a value counts as zero.
ZERO = 1e-9


@dataclass(frozen=True, eq=False)
class RadiusSearch:
    """Functionals that are positive at 0, in a ball of any radius."""

    leads: Functionals
    ball: NormBall
    smooth: bool
    deadline: Deadline

    @cached_property
    def heights(self) -> Array:
        """Return the values (R,) at 0."""
        count = len(self.leads)
        return np.maximum(self.leads.values(np.zeros((count, self.ball.dimension)), np.arange(count)), TINY)

    def lengths(self, rows: Rows, places: Array) -> Array:
        """Return the lengths of places at or beyond the boundary, and inf for the others."""
        values, slopes = self.leads.gradients(places, rows)
        lengths = self.ball.lengths(places)
        return np.where(values <= ZERO * self.ball.dual(slopes) * lengths, lengths, np.inf)

    def shrunk(self, rows: Rows, places: Array) -> tuple[Rows, Array]:
        """Return places where the lowest value within their radius is zero, by Newton's method for the radius."""
        radii = self.ball.lengths(places)
        best, lengths = places.copy(), np.full(len(rows), np.inf)
        for _ in range(RADII):
            if self.deadline.passed or not len(rows):
                break
            places = self.ball.projected(places, radii)
            values, places = descend(self.leads, rows, self.ball, radii, places, DESCENTS, self.deadline)
            _, slopes = self.leads.gradients(places, rows)
            taken = (values <= 0) & (radii < lengths)
            best[taken], lengths[taken] = places[taken], radii[taken]
            inner = self.ball.lowest(slopes, (1 - 1e-4) * radii) - self.ball.lowest(slopes, radii)
            rates = (slopes * inner).sum(axis=1) / (1e-4 * radii)
            wanted = np.clip(radii + values / np.maximum(rates, TINY), 0.5 * radii, 1.5 * radii)
            same = np.abs(wanted - radii) <= SAME * radii
            places, radii = places * (wanted / np.maximum(radii, TINY))[:, None], wanted
            if same.all():
                break
        rows, places = rows, np.where(np.isfinite(lengths)[:, None], best, places)
        return self._stationary(rows, places) if self.smooth and self.ball.norm is Norm.L2 else (rows, places)

    def _stationary(self, rows: Rows, places: Array) -> tuple[Rows, Array]:
        """Return the nearest places, and stationary points near them on their faces of the box."""
        order = np.argsort(self.lengths(rows, places), kind="stable")[:BEST]
        found = []
        for i in order.tolist():
            place = places[i]
            free = np.flatnonzero((place > self.ball.low) & (place < self.ball.high))
            fixed = place.copy()
            fixed[free] = 0.0
            columns = sparse.csr_array(
                (np.ones(len(free)), (free, np.arange(len(free)))), shape=(len(place), len(free))
            )
            face = self.leads.around(fixed).along(columns)
            inner = refined(face, rows[[i]], place[free][None], self.deadline)[0]
            fixed[free] = inner
            found.append(self.ball.clipped(fixed))
        return np.concatenate([rows[order], rows]), np.concatenate([np.array(found).reshape(len(order), -1), places])

    def nearer(self, rows: Rows, places: Array, starts: int, draw: np.random.Generator) -> tuple[Rows, Array]:
        """Look for losses within a part of the radius of the nearest tie, from other starts, as long as that finds some."""
        failures = 0
        for _ in range(LOOKS):
            lengths = self.lengths(rows, places)
            if not lengths.size:
                break
            nearest = int(lengths.argmin())
            radius = float(FACTORS[failures] * lengths[nearest])
            if not np.isfinite(radius) or self.deadline.passed:
                break
            which, values, found = self._looked(radius, int(rows[nearest]), places[nearest], starts, draw)
            lost = np.flatnonzero(values <= 0)
            if lost.size:
                rows, places = self.shrunk(which[lost], found[lost])
                continue
            failures += 1
            if failures == len(FACTORS):
                break
        return rows, places

    def _looked(
        self, radius: float, row: int, place: Array, starts: int, draw: np.random.Generator
    ) -> tuple[Rows, Array, Array]:
        """Return rows, values and places of descents within a radius; the better ones continue longer."""
        count, size = len(self.leads), self.ball.dimension
        rows = np.concatenate([np.tile(np.arange(count), starts), np.full(MIXED, row)])
        radii = np.full(len(rows), radius)
        first = self.ball.lowest(draw.normal(size=(len(rows), size)), radii)
        crossed = draw.uniform(size=(MIXED, size)) < 1 - 0.5 * draw.uniform(size=(MIXED, 1)) ** 2
        first[-MIXED:] = np.where(crossed, place, first[-MIXED:])
        if self.ball.norm is Norm.L1 and size <= MOST_CORNERS:
            first[: count * starts] = self._lowest_corners(radius, starts)
        first = self.ball.projected(first, radii)
        for steps, share in STAGES:
            values, first = descend(self.leads, rows, self.ball, radii, first, steps, self.deadline, goal=0.0)
            if values.min() <= 0:
                break
            best = np.argsort(values / self.heights[rows])[: max(1, int(share * len(rows)))]
            rows, radii, values, first = rows[best], radii[best], values[best], first[best]
        return rows, values, first

    def _lowest_corners(self, radius: float, starts: int) -> Array:
        """Return the lowest of the 2d corners of a diamond, several for each functional."""
        axes = np.eye(self.ball.dimension)
        corners = self.ball.clipped(radius * np.concatenate([axes, -axes]))
        order = np.argsort(self.leads.all_values(corners), axis=0)[:starts]
        return corners[np.resize(order, (starts, order.shape[1])).ravel()]

    def grown(self, radius: float, starts: int, draw: np.random.Generator) -> tuple[Rows, Array]:
        """Return descents within ever larger radii, until a rival wins or all of the domain is searched."""
        count, ball = len(self.leads), self.ball
        rows, places = np.tile(np.arange(count), starts), np.zeros((count * starts, ball.dimension))
        farthest = float(ball.lengths(np.maximum(np.abs(ball.low), np.abs(ball.high))))
        for _ in range(GROWTHS):
            if self.deadline.passed or not np.isfinite(radius):
                break
            radii = np.full(len(rows), radius)
            first = np.where(
                np.arange(len(rows))[:, None] < count, places, ball.lowest(draw.normal(size=places.shape), radii)
            )
            values, places = descend(self.leads, rows, ball, radii, first, DESCENTS, self.deadline, goal=0.0)
            lost = values <= 0
            if lost.any():
                return self.shrunk(rows[lost], places[lost])
            if radius > farthest:
                break
            radius *= GROWTH
        return rows[:0], places[:0]
