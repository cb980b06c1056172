"""A network at a point, in coordinates in which its perturbations are a box and a ball.

Mostly these are the inputs themselves. Where a matrix weighs perturbations or a subspace holds them, they are z with the inputs
u + E T z (`SkewFrame`): an L2 ball around z = 0. What is found in z is told in inputs, and compared in exact arithmetic there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.steps import NetworkSteps
from polymargin.deadlines import NEVER, Deadline
from polymargin.networks.network import Network
from polymargin.regions import L2, Region, ThreatModel
from polymargin.regions.frame import SkewFrame
from polymargin.regions.lengths import length_above
from polymargin.relaxation.attack import nearest_counterexample
from polymargin.relaxation.confirmation import Counterexample
from polymargin.relaxation.coordinates import Coordinates
from polymargin.relaxation.within import counterexample_within

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NetworkAt:
    """`near` and `start` are the region and the point in the coordinates of the search; `given` is that of the inputs."""

    network: Network
    point: Array
    given: Region
    near: Region
    abstain: float
    start: Array
    frame: SkewFrame | None
    _turned: dict[int, tuple[NetworkSteps, NetworkSteps]] = field(default_factory=dict)

    @classmethod
    def of(cls, network: Network, point: Array, asked: ThreatModel) -> NetworkAt:
        region = asked.region
        region.check_inside(point)
        frame = region.frame
        if frame is None:
            return cls(network, point, region, region, asked.abstain, point, None)
        plain, start = L2().in_dimension(frame.dimension), np.zeros(frame.dimension)
        return cls(network, point, region, plain, asked.abstain, start, frame)

    def nearest(self, label: int, rivals: list[int], seed: int, deadline: Deadline = NEVER) -> Counterexample | None:
        """Return the nearest counterexample that a search finds until the deadline."""
        return nearest_counterexample(
            self.network, self.point, label, rivals, self.given, seed=seed, deadline=deadline, abstain=self.abstain
        )

    def within(
        self, radius: float, label: int, rivals: list[int], seed: int, starts: int | None = None
    ) -> tuple[Counterexample | None, Array]:
        """Return a counterexample within a radius, if one is found, and the lowest place (R, n) for each of the rivals."""
        found, steps = counterexample_within(
            self.network, self.point, label, rivals, self.given, radius, starts=starts, seed=seed, abstain=self.abstain
        )
        return found, steps if self.frame is not None else Coordinates.of(self.given, self.point).inputs(steps)

    def region(self, radius: float) -> AllowedRegion:
        return AllowedRegion.of(self.near, self.abstain, self.start, radius)

    def steps(self, label: int, rival: int) -> NetworkSteps:
        found = NetworkSteps.of(self.network, label, rival)
        if self.frame is None:
            return found
        if id(found) not in self._turned:
            self._turned[id(found)] = found, found.along(self.frame.directions, self.point)
        return self._turned[id(found)][1]

    def grouped(self, label: int, rivals: list[int]) -> list[tuple[NetworkSteps, list[int]]]:
        """Steps, and the rivals that share them."""
        result: list[tuple[NetworkSteps, list[int]]] = []
        for rival in rivals:
            steps = self.steps(label, rival)
            if result and result[-1][0] is steps:
                result[-1][1].append(rival)
            else:
                result.append((steps, [rival]))
        return result

    def behind(self, place: Array, label: int, rival: int) -> bool:
        """Whether the label does not lead by what is asked for, in doubles."""
        logits = self.network(self._inputs(place))
        return bool(logits[label] - logits[rival] <= self.abstain)

    def lost(self, place: Array, label: int, rival: int) -> Counterexample | None:
        """What is found at a place if the label does not lead there by what is asked for, in exact arithmetic."""
        exact = self._exact(place)
        logits = self.network.exact_logits(exact)
        if logits[label] - logits[rival] > Fraction(self.abstain):
            return None
        return Counterexample(exact.astype(np.float64), rival, self.length(place), self._along(place))

    def lost_within(self, place: Array, label: int, rival: int, radius: float) -> Counterexample | None:
        """The same, if the place is allowed and no farther than the radius; doubles are asked first."""
        if not self.behind(place, label, rival) or not self.near.admits(place):
            return None
        found = self.lost(place, label, rival)
        return found if found is not None and found.distance <= radius else None

    def length(self, place: Array) -> float:
        """Of the perturbation that leads to a place, rounded up."""
        pairs = zip(self._exact(place).tolist(), self.point.tolist(), strict=True)
        steps = [Fraction(value) - Fraction(start) for value, start in pairs]
        return length_above(self.given, steps)

    def _inputs(self, place: Array) -> Array:
        """In doubles."""
        return place if self.frame is None else self.point + self.frame.columns @ (self.frame.turn @ place)

    def _exact(self, place: Array) -> NDArray[Any]:
        """The inputs; Fractions in a subspace, in which doubles would not stay."""
        if self.frame is None or self.given.subspace is None:
            return self._inputs(place)
        return np.array(self.frame.moved(self.point, self.frame.turn @ place), dtype=object)

    def _along(self, place: Array) -> tuple[tuple[float, ...], ...] | None:
        if self.frame is None:
            return None
        if self.given.subspace is not None:
            return tuple((step,) for step in (self.frame.turn @ place).tolist())
        moving = list(self.given.moving)
        ends, starts = self._inputs(place)[moving].tolist(), (-self.point[moving]).tolist()
        return tuple(zip(ends, starts, strict=True))
