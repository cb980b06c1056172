"""What is prepared once for a model and a threat model: its search for margins, its boundaries, and its judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.class_names import class_name
from polymargin.deadlines import Deadline
from polymargin.enumeration import CriticalPoints
from polymargin.enumeration.critical_points import critical_points_by
from polymargin.margins.block import MOST_NUMBERS, BlockProofs
from polymargin.margins.cells import CellMargins
from polymargin.margins.faces.margins import RegionMargins
from polymargin.margins.judge import Judge
from polymargin.margins.models import BoundaryMargins, ModelMargins
from polymargin.margins.network_margins import NetworkMargins
from polymargin.margins.pairs import Enumeration, boundary_of
from polymargin.networks.network import Network
from polymargin.quadric import NetworkSolvers
from polymargin.regions import ThreatModel


def margins_of(model: Network | Boundary, search: Enumeration) -> ModelMargins:
    """Return the margins of a network, or of a boundary alone, in L2."""
    return BoundaryMargins(model, search) if isinstance(model, Boundary) else NetworkMargins(model, search)


@dataclass(frozen=True, eq=False)
class Prepared:
    """One model asked about one kind of perturbation."""

    model: Network | Boundary
    threat: ThreatModel
    search: Enumeration
    rtol: float = 1e-6

    @property
    def network(self) -> Network:
        """The model, where it is a network."""
        assert not isinstance(self.model, Boundary)
        return self.model

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.network)

    @property
    def has_proofs(self) -> bool:
        """Return whether there are proofs for models of this kind and such perturbations."""
        skew_box = self.threat.region.is_skew and self.threat.region.low is not None
        return not isinstance(self.model, Boundary) and not skew_box

    @cached_property
    def margins(self) -> ModelMargins:
        """The search for margins, with what it computed so far."""
        if not isinstance(self.model, Boundary) and not self.model.is_polynomial:
            return CellMargins(self.model, self.search, self.threat)
        if self.threat.is_plain:
            return margins_of(self.model, self.search)
        return RegionMargins(self.model, self.search, self.threat)

    @cached_property
    def quadrics(self) -> NetworkSolvers | None:
        """Nearest points for all pairs of a network of degree two; None for other networks."""
        return NetworkSolvers(self.network) if self.network.degree == 2 else None

    @cached_property
    def block_proofs(self) -> BlockProofs | None:
        """Proofs of many points at once; None where every point is proved by itself."""
        if not self.has_proofs or not isinstance(self.margins, NetworkMargins) or self.margins.is_scaled:
            return None
        if self.margins.paths_per_point * (self.network.dimension + 1) > MOST_NUMBERS * (self.network.class_count - 1):
            return None
        return BlockProofs(self.judge, self.margins.paths_per_point, self.search.seed)

    def critical_points(self, label: int, rival: int, u: NDArray[np.float64], deadline: Deadline) -> CriticalPoints:
        """Return those of the boundary of two classes, f_a − f_b for a < b."""
        pair, search = (min(label, rival), max(label, rival)), self.search
        tracker = search.tracker.until(deadline)
        if isinstance(self.margins, NetworkMargins):
            found = self.margins.critical_points(*pair, u, tracker)
            if found is not None:
                return found
        boundary = boundary_of(self.network, *pair)
        cache = False if search.cache.directory is None else search.cache.directory
        return critical_points_by(tracker, boundary, u, seed=search.seed, limit=search.limit, cache=cache)

    def name_of(self, number: int | None) -> str:
        """Return what the network calls a class."""
        return class_name(self.model, number)
