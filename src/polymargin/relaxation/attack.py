"""The nearest counterexample that a local search finds in a region.

Walks lead from many starts to the boundary. In a round ball Newton's method makes the best of their points stationary; elsewhere
the radius is the unknown. What is returned is confirmed in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import NEVER, Deadline
from polymargin.networks.forms import dense
from polymargin.networks.network import Network
from polymargin.regions import Region
from polymargin.relaxation.balls import TINY, NormBall
from polymargin.relaxation.confirmation import Confirmation, Counterexample
from polymargin.relaxation.gradients import Functionals
from polymargin.relaxation.kinks import nearest_at_kinks
from polymargin.relaxation.lagrange import FULL, refined
from polymargin.relaxation.radii import ZERO, RadiusSearch
from polymargin.relaxation.walks import first_lengths, rays, settled, walked

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

MANY_STARTS, FEW_STARTS = 24, 4
# How many rivals are followed to the end, from how many places each.
REFINED, PLACES = 4, 2
# Places that are handed to exact arithmetic, at most.
TRIES = 5


@np.errstate(all="ignore")  # numbers far out may overflow; what is found there is compared in exact arithmetic
def nearest_counterexample(
    network: Network,
    point: Array,
    label: int,
    rivals: Sequence[int],
    region: Region,
    *,
    starts: int | None = None,
    seed: int = 0,
    deadline: Deadline = NEVER,
    abstain: float = 0.0,
) -> Counterexample | None:
    """Return the nearest point found at which f_rival + abstain ≥ f_label for one of the rivals; None if none is found.

    The point lies in the region. `starts` is the number of walks for each rival. At the deadline the search makes do with what
    it has.
    """
    confirmation = Confirmation.of(network, point, label, rivals, region, abstain)
    leads, coordinates = confirmation.leads, confirmation.coordinates
    basis = row_space(leads) if coordinates.ball.is_round else None
    ball = coordinates.ball
    if basis is not None:
        ends = np.full(basis.shape[1], np.inf)
        leads, ball = leads.along(basis), NormBall(ball.norm, -ends, ends)
    search = RadiusSearch(leads, ball, network.is_polynomial, deadline)
    return _Attack(search, confirmation, basis).run(starts, np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class _Attack:
    """One point; `basis` has the columns of the coordinates of the search, if they are not those of the region."""

    search: RadiusSearch
    confirmation: Confirmation
    basis: Array | None

    def run(self, starts: int | None, draw: np.random.Generator) -> Counterexample | None:
        """Return the nearest counterexample found."""
        leads, ball, deadline = self.search.leads, self.search.ball, self.search.deadline
        every, here = np.arange(len(leads)), np.zeros((len(leads), ball.dimension))
        if not ball.dimension or (leads.values(here, every) <= 0).any():
            found = self._confirmed(every, here)
            if found is not None or not ball.dimension:
                return found
        starts = starts or (MANY_STARTS if ball.dimension <= FULL else FEW_STARTS)
        rows, lengths = np.repeat(every, starts), first_lengths(leads, ball)
        first = rays(leads, ball, rows, starts, lengths, draw)
        straight_rows, straight = settled(leads, ball, deadline)
        far = walked(leads, ball, rows, first, deadline)
        which, places = np.concatenate([rows, straight_rows, rows]), np.concatenate([far, straight, first])
        found = self._confirmed(*self._improved(which, places, starts, draw))
        if found is None:
            grown = self.search.grown(float(lengths.min()), starts, draw)
            found = self._confirmed(*self._improved(*grown, starts, draw))
        return found

    def _improved(self, rows: Rows, places: Array, starts: int, draw: np.random.Generator) -> tuple[Rows, Array]:
        """Stationary points near the best of places, in front of the places themselves."""
        leads, ball = self.search.leads, self.search.ball
        if not len(rows):
            return rows, places
        if ball.is_round and self.search.smooth:
            chosen = np.arange(len(rows)) if ball.dimension <= FULL else self._promising(rows, places, 1)
            found = rows[chosen], refined(leads, rows[chosen], places[chosen], self.search.deadline)
        else:
            lost = np.argsort(self.search.lengths(rows, places), kind="stable")[:PLACES]
            chosen = np.concatenate([self._promising(rows, places, PLACES), lost])
            found = self.search.shrunk(rows[chosen], places[chosen])
            found = self.search.nearer(*found, starts, draw)
            if ball.is_round:
                found = self._at_kinks(*found, draw)
        return np.concatenate([found[0], rows]), np.concatenate([found[1], places])

    def _at_kinks(self, rows: Rows, places: Array, draw: np.random.Generator) -> tuple[Rows, Array]:
        """The best places of the nearest rivals, moved to the nearest points on and between the pieces around them."""
        chosen = self._promising(rows, places, PLACES)
        pairs = zip(rows[chosen].tolist(), places[chosen], strict=True)
        found = [nearest_at_kinks(self.search.leads, row, place, ZERO, draw) for row, place in pairs]
        return np.concatenate([rows[chosen], rows]), np.concatenate([np.array(found), places])

    def _promising(self, rows: Rows, places: Array, each: int) -> Rows:
        """The best places of the few rivals that seem nearest, by the distance to their linearised boundaries."""
        values, slopes = self.search.leads.gradients(places, rows)
        lengths = self.search.ball.lengths(places)
        lengths = lengths + np.abs(values) / np.maximum(self.search.ball.dual(slopes), TINY)
        lengths = np.where(np.isfinite(lengths), lengths, np.inf)
        chosen: dict[int, list[int]] = {}
        for i in np.argsort(lengths, kind="stable").tolist():
            if int(rows[i]) not in chosen and len(chosen) == REFINED:
                continue
            kept = chosen.setdefault(int(rows[i]), [])
            if len(kept) < each and all(abs(lengths[i] - lengths[k]) > 1e-6 * lengths[i] for k in kept):
                kept.append(i)
        return np.array([i for kept in chosen.values() for i in kept], dtype=np.int64)

    def _confirmed(self, rows: Rows, places: Array) -> Counterexample | None:
        """The nearest of the places on or beyond the boundary that stands up to exact arithmetic."""
        if not len(rows):
            return None
        lengths = self.search.lengths(rows, places)
        best: Counterexample | None = None
        tried: list[float] = []
        for i in np.argsort(lengths, kind="stable").tolist():
            length = float(lengths[i])
            if not np.isfinite(length) or len(tried) == TRIES or (best is not None and length > best.distance):
                break
            if any(abs(length - other) <= 1e-12 * length for other in tried):
                continue
            tried.append(length)
            found = self.confirmation.nearest(places[i] if self.basis is None else self.basis @ places[i], int(rows[i]))
            if found is not None and (best is None or found.distance < best.distance):
                best = found
        return best


def row_space(leads: Functionals) -> Array | None:
    """Return orthonormal columns that span the rows of all forms of the inputs, if these are fewer than the inputs."""
    rows = leads.input_rows
    height, width = sum(block.shape[0] for block in rows), rows[0].shape[1] if rows else 0
    if not 0 < height < width:
        return None
    return np.asarray(np.linalg.qr(np.concatenate([dense(block) for block in rows]).T)[0])
