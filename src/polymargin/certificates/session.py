"""What a proof search needs to know, and the time it has."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import DEFAULT_LIMIT, checked_point
from polymargin.boundary import Boundary
from polymargin.class_names import class_name
from polymargin.continuation import Tracker, TrackerSettings, available_threads
from polymargin.deadlines import Deadline
from polymargin.enumeration import CriticalPoints
from polymargin.enumeration.critical_points import critical_points_by
from polymargin.errors import InputError
from polymargin.margins import predicted_class
from polymargin.margins.judge import Judge
from polymargin.margins.proofs import Subject, beyond
from polymargin.networks.noise import check_scale, check_terms
from polymargin.quadric import NetworkSolvers
from polymargin.regions import ThreatModel, ThreatOptions
from polymargin.relaxation.confirmation import Counterexample
from polymargin.rows import OnRow
from polymargin.work import Workers


@dataclass(frozen=True)
class Options:
    """How to search; the same names as in `margin`."""

    seed: int = 0
    threads: int | None = None
    limit: int = DEFAULT_LIMIT
    cache: bool | str | Path = True
    settings: TrackerSettings = field(default_factory=TrackerSettings)

    @property
    def of_the_answer(self) -> dict[str, Any]:
        """What can change an answer, for checkpoints."""
        return {"seed": int(self.seed), "limit": int(self.limit), "settings": asdict(self.settings)}

    @property
    def tracker(self) -> Tracker:
        return Tracker(self.settings, self.threads)

    @property
    def processes(self) -> int:
        return self.threads or available_threads()


class ProofOptions(ThreatOptions, total=False):
    """The keywords of `verify`, for type checkers."""

    timeout: float | None
    seed: int
    threads: int | None
    limit: int
    cache: bool | str | Path
    settings: TrackerSettings | None
    checkpoint: str | Path | None
    on_row: OnRow | None
    executor: Workers | None


# Of the time of a call, for the checker.
CHECKING = 0.25


class Session:
    """One network at one point: its class, its rivals, its judge, and the clock.

    deadline   of the search; what is left of the timeout then is for the checker
    """

    def __init__(
        self,
        judge: Judge,
        point: ArrayLike,
        options: Options,
        timeout: float | None,
        asked: ThreatModel | None = None,
    ) -> None:
        network = judge.network
        self.judge, self.network = judge, network
        self.u = checked_point(point, network.dimension)
        self.options = options
        check_scale(network)
        check_terms(network, self.u)
        self.label, self.tied = predicted_class(network, self.u)
        self.asked = ThreatModel.of(network.dimension) if asked is None else asked
        self.rivals = self.asked.against(self.label, network.class_count)
        if self.tied is not None and self.tied not in self.rivals:
            tied = " and ".join(map(self.name_of, (self.label, self.tied)))
            raise InputError(f"classes {tied} tie at the point: it has no class of its own")
        self.started = perf_counter()
        self.end = Deadline.after(timeout)
        self.deadline = self.end.part(1 - CHECKING)

    def name_of(self, number: int | None) -> str:
        """What the network calls a class."""
        return class_name(self.network, number)

    @property
    def time_left(self) -> float:
        return self.deadline.left

    @property
    def seconds(self) -> float:
        return perf_counter() - self.started

    def subject(self, asked: ThreatModel | None = None) -> Subject:
        """What certificates of this session speak of."""
        return Subject(self.judge, self.u, self.label, asked or self.asked, self.options.seed)

    def beyond(self, tie: NDArray[np.float64], rival: int) -> Counterexample | None:
        """The nearest point just beyond an approximate tie at which the rival is ahead exactly."""
        return beyond(self.network, self.u, self.label, rival, tie)

    def boundary(self, rival: int) -> Boundary:
        return Boundary.from_network(self.network, min(self.label, rival), max(self.label, rival))

    @cached_property
    def quadrics(self) -> NetworkSolvers | None:
        """Nearest points for all pairs of a network of degree two; None for other networks."""
        return NetworkSolvers(self.network) if self.network.degree == 2 else None

    def critical_points(self, boundary: Boundary) -> CriticalPoints:
        options, tracker = self.options, self.options.tracker.until(self.deadline)
        return critical_points_by(
            tracker, boundary, self.u, seed=options.seed, limit=options.limit, cache=options.cache
        )
