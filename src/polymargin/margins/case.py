"""One network at one point, for a proof: its class, its rivals, and the time there is."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import checked_point
from polymargin.boundary import Boundary
from polymargin.deadlines import Deadline
from polymargin.enumeration import CriticalPoints
from polymargin.errors import InputError
from polymargin.margins.pairs import boundary_of
from polymargin.margins.prediction import predicted_class
from polymargin.margins.prepared import Prepared
from polymargin.margins.proofs import Subject, beyond
from polymargin.networks.network import Network
from polymargin.networks.noise import check_scale, check_terms
from polymargin.regions import ThreatModel
from polymargin.relaxation.confirmation import Counterexample

# Of the time of a call, for the checker.
CHECKING = 0.25


class Case:
    """`end` is the deadline of the call, `deadline` that of the search; what is left between them is for the checker."""

    def __init__(self, prepared: Prepared, point: ArrayLike, end: Deadline) -> None:
        network = prepared.network
        self.started, self.end = perf_counter(), end
        self.prepared, self.network, self.threat = prepared, network, prepared.threat
        self.threat.region.check_bounded()
        self.u = checked_point(point, network.dimension)
        self.check_size(network, self.u)
        self.threat.region.check_inside(self.u)
        self.label, self.tied = predicted_class(network, self.u)
        self.rivals = self.threat.against(self.label, network.class_count)
        if self.tied is not None and self.tied not in self.rivals:
            tied = " and ".join(map(prepared.name_of, (self.label, self.tied)))
            raise InputError(f"classes {tied} tie at the point: it has no class of its own")
        network.prepare_exact()
        self.deadline = end.part(1 - CHECKING)

    @staticmethod
    def check_size(network: Network, u: NDArray[np.float64]) -> None:
        """Refuse what doubles cannot hold."""
        check_scale(network)
        check_terms(network, u)

    @property
    def has_critical_points(self) -> bool:
        """Return whether margins are nearest points of algebraic hypersurfaces, which may be listed."""
        return self.threat.is_ball and self.network.is_polynomial

    @property
    def seed(self) -> int:
        return self.prepared.search.seed

    @property
    def seconds(self) -> float:
        return perf_counter() - self.started

    def subject(self, threat: ThreatModel | None = None) -> Subject:
        """Return what certificates of this case speak of."""
        return Subject(self.prepared.judge, self.u, self.label, threat or self.threat, self.seed)

    def beyond(self, tie: NDArray[np.float64], rival: int) -> Counterexample | None:
        """Return the nearest point just beyond an approximate tie at which the rival is ahead exactly."""
        return beyond(self.network, self.u, self.label, rival, tie)

    def boundary(self, rival: int) -> Boundary:
        return boundary_of(self.network, self.label, rival)

    def critical_points(self, rival: int) -> CriticalPoints:
        return self.prepared.critical_points(self.label, rival, self.u, self.deadline)
