"""Counterexamples in exact arithmetic: the nearest point beyond an approximate tie at which the rival wins or ties."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from polymargin.networks.network import Network
from polymargin.regions import Region
from polymargin.regions.lengths import length_above
from polymargin.relaxation.balls import NormBall
from polymargin.relaxation.coordinates import Coordinates
from polymargin.relaxation.gradients import Functionals

Array = NDArray[np.float64]

# Points of a segment that are evaluated at once, and how often it is refined around the first crossing.
PIECES, REFINEMENTS = 16, 13
# Of its length: a step that is so close to the boundary is there.
AT_BOUNDARY = 1e-12
# Steps beyond a tie, each twice the one before.
NUDGES = 14


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A point at which f_rival + abstain ≥ f_label in exact arithmetic; `distance` is the length of its step, rounded up.

    along    in an ellipsoid or a subspace, sums y for which the inputs are u + E y exactly; `point` may be rounded there
    """

    point: Array
    rival: int
    distance: float
    along: tuple[tuple[float, ...], ...] | None = None


@dataclass(frozen=True, eq=False)
class Confirmation:
    """What is asked at one point: f_label against rivals, in the coordinates z of a region."""

    network: Network
    leads: Functionals
    coordinates: Coordinates
    label: int
    rivals: list[int]
    abstain: float

    @classmethod
    def of(
        cls, network: Network, point: Array, label: int, rivals: Sequence[int], region: Region, abstain: float
    ) -> Confirmation:
        """Return what is asked at a point in a region."""
        coordinates = Coordinates.of(region, point)
        leads = Functionals.leads(network, label, rivals, abstain).around(point).along(coordinates.directions)
        return cls(network, leads, coordinates, label, list(rivals), abstain)

    def behind(self, step: Array, row: int) -> Fraction:
        """Return f_label − f_rival − abstain exactly."""
        logits = self.network.exact_logits(self.coordinates.exact_inputs(step))
        return logits[self.label] - logits[self.rivals[row]] - Fraction(self.abstain)

    def found(self, step: Array, row: int) -> Counterexample | None:
        """Return the counterexample at a step, which is known to be one; None outside the domain."""
        region = self.coordinates.region
        exact = [Fraction(value) for value in self.coordinates.exact_inputs(step).tolist()]
        if not _admits(region.low, region.high, exact):
            return None
        moved = [value - Fraction(start) for value, start in zip(exact, self.coordinates.point.tolist(), strict=True)]
        point = np.array([float(value) for value in exact])
        return Counterexample(point, self.rivals[row], length_above(region, moved), self.coordinates.along(step))

    def nearest(self, step: Array, row: int) -> Counterexample | None:
        """Return the counterexample at the first crossing of the boundary on the way to a step."""
        return self.pushed(self.crossing(step, row), row)

    def pushed(self, step: Array, row: int) -> Counterexample | None:
        """Return what lies across the boundary by the shortest push that convinces exact arithmetic."""
        ball = self.coordinates.ball
        start = self.coordinates.inputs(step)
        scale = float(np.abs(start).max(initial=0.0)) * float(ball.lengths(step))
        moved = float(np.abs(start - self.coordinates.point).max(initial=0.0))
        extra = 0.5 * np.finfo(np.float64).eps * (scale / moved if moved else 0.0)
        for _ in range(NUDGES):
            behind = self.behind(step, row)
            if behind <= 0:
                return self.found(step, row)
            if behind > sys.float_info.max:  # no double says how far to step
                return None
            _, slopes = self.leads.gradients(step[None], np.array([row]))
            rest = NormBall(ball.norm, ball.low - step, ball.high - step)
            drop = float(behind) + extra * float(ball.dual(slopes[0]))
            nudge = rest.shortest(slopes, np.array([drop]))[0]
            if not np.isfinite(nudge).all() or not nudge.any():
                return None
            step, extra = ball.clipped(step + nudge), 2 * extra
        return None

    def crossing(self, step: Array, row: int) -> Array:
        """Return the first point on the way to a step at which the functional is not positive in doubles, as far as one sees."""
        low, high = 0.0, 1.0
        value, slopes = self.leads.gradients(step[None], np.array([row]))
        if value[0] >= -AT_BOUNDARY * self.coordinates.ball.dual(slopes)[0] * self.coordinates.ball.lengths(step):
            return step
        for _ in range(REFINEMENTS):
            shares = np.linspace(low, high, PIECES + 1)[1:]
            values = self.leads.values(shares[:, None] * step, np.full(PIECES, row))
            if not (values <= 0).any():
                return high * step
            first = int((values <= 0).argmax())
            low, high = (shares[first - 1] if first else low), float(shares[first])
        return high * step


def _admits(low: Array | None, high: Array | None, exact: list[Fraction]) -> bool:
    if low is None or high is None:
        return True
    return all(
        (a == -np.inf or Fraction(a) <= x) and (b == np.inf or x <= Fraction(b))
        for a, x, b in zip(low.tolist(), exact, high.tolist(), strict=True)
    )
