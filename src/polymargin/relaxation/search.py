"""The largest radius that is proved, for all rivals together.

γ(r), the best bound at a radius, falls with r. For the rival that seems nearest its root is found by tangents: the optimum of one
radius gives the slope of γ there. The other rivals are tried at radii that were proved, where most of them fall to a guess; one
that does not becomes the one whose root is looked for. The best proof of all rivals so far is kept, and the time that is given is
used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polymargin.deadlines import NEVER, Deadline, TimeUpError
from polymargin.networks.network import Network
from polymargin.regions import Region
from polymargin.relaxation.curvatures import CurvatureCache
from polymargin.relaxation.descent import lowest_points
from polymargin.relaxation.program import SemidefiniteProgram
from polymargin.relaxation.prover import Outcome, PreparedRegion, Proof

Array = NDArray[np.float64]

TOLERANCE = 2e-3
FIRST = 0.96
"""Where the search starts, relative to the nearest counterexample."""
CAUTION = 0.3
"""By what part of the tolerance a radius is tried below the root of a tangent."""
ATTEMPTS = 12
NEAR, BELOW = 1e-3, 0.93
"""Radius at which rivals are compared where nothing limits it, and the next part of one at which a proof failed."""
COSTLY, SHARES = 400, (0.85, 0.6, 0.3, 0.1, 0.02)
"""Variables of a program that takes seconds, and parts of the limit that guesses are tried at before."""
STEP = 1e-6


@dataclass(frozen=True, eq=False)
class ProvedRadius:
    """All rivals of `proofs` are proved to stay behind on the region of this radius; 0 and no proofs where nothing is proved."""

    radius: float = 0.0
    proofs: dict[int, Proof] = field(default_factory=dict)


@dataclass(eq=False)
class RegionSearch:
    """A network around a point in a region, with everything that attempts at different radii share."""

    network: Network
    point: Array
    label: int
    rivals: Sequence[int]
    region: Region
    lead: float = 0.0
    deadline: Deadline = NEVER
    cache: CurvatureCache = field(default_factory=CurvatureCache)
    with_box: bool = True
    _prepared: dict[float, PreparedRegion] = field(default_factory=dict, repr=False)
    _worst: dict[tuple[float, int], Array] = field(default_factory=dict, repr=False)

    def prepared(self, radius: float) -> PreparedRegion:
        """Return the network on the region of a radius; the last few are kept."""
        if radius not in self._prepared:
            while len(self._prepared) > 2:
                del self._prepared[next(iter(self._prepared))]
            made = self._made(radius)
            self._prepared[radius] = made
        return self._prepared[radius]

    def _made(self, radius: float) -> PreparedRegion:
        given = self.network, self.point, self.region, radius, self.cache, self.deadline
        return PreparedRegion.of(*given, with_box=self.with_box)

    def attempt(self, rival: int, radius: float, *, decide: bool, solve: bool = True) -> Outcome:
        """Bound the lead over a rival on the region of a radius; without `solve` by guesses only."""
        here = self.prepared(radius)
        if (radius, rival) not in self._worst:
            missing = [r for r in self.rivals if (radius, r) not in self._worst] if decide else [rival]
            steps = lowest_points(
                self.network, self.point, here.perturbations, self.label, missing, deadline=self.deadline
            )
            for number, found in zip(missing, steps[1], strict=True):
                self._worst[radius, number] = found
        worst = self._worst[radius, rival]
        relaxation = here.relaxation(self.label, rival, self.lead, worst)
        return here.bound(relaxation, worst, decide=decide, solve=solve, deadline=self.deadline)

    # -- one radius ----------------------------------------------------------------------------

    def prove(
        self, radius: float, known: dict[int, Outcome] | None = None, *, solve: bool = True
    ) -> tuple[ProvedRadius, int | None]:
        """Prove all rivals at a radius; else return the rival at which it failed. Without `solve` by guesses only."""
        proofs: dict[int, Proof] = {}
        here = self.prepared(radius)
        for rival in self.by_nearness(radius):
            found = (known or {}).get(rival) or self.attempt(rival, radius, decide=True, solve=solve)
            if found.leaf is None:
                return ProvedRadius(), rival
            proofs[rival] = here.proof(found.leaf)
        return ProvedRadius(radius, proofs), None

    def by_nearness(self, radius: float) -> list[int]:
        """Return the rivals, those first whose lead is least at the worst points found within a radius."""
        near = self.region.at(self.point, radius)
        values, _ = lowest_points(self.network, self.point, near, self.label, self.rivals, deadline=self.deadline)
        return [self.rivals[k] for k in np.argsort(values)]

    # -- the largest radius --------------------------------------------------------------------

    def largest(
        self, limit: float, hardest: int | None, tolerance: float = TOLERANCE, known: ProvedRadius | None = None
    ) -> ProvedRadius:
        """Return the largest radius up to the limit that is proved for all rivals, or the one that is known already."""
        nearest = self.by_nearness(limit if math.isfinite(limit) else NEAR)[0] if hardest is None else hardest
        search = _RootSearch(self, limit, nearest, tolerance)
        if known is not None:
            search.best, search.low = known, known.radius
        with suppress(TimeUpError):  # what was proved before is the answer
            search.run()
        return search.best

    def reach(self, rival: int) -> float:
        """A radius at which the rival is likely to tie, from the slopes at the point."""
        tiny = 1e-6 * max(1.0, float(np.abs(self.point).max()))
        near = self.region.at(self.point, tiny)
        logits = self.network(self.point)
        lead = float(logits[self.label] - logits[rival]) - self.lead
        low = float(lowest_points(self.network, self.point, near, self.label, [rival])[0][0]) - self.lead
        return tiny * lead / max(lead - low, 1e-12 * abs(lead) + 1e-300)

    def root(self, found: Outcome, rival: int, radius: float) -> float:
        """Return where the tangent of γ at this radius is zero; infinite where it does not fall."""
        optimum = found.optimum
        if optimum is None or not math.isfinite(found.gap):
            return math.inf if found.leaf is not None else -math.inf
        ahead = self._ahead(rival, radius)
        before = found.relaxation.program
        X, y = optimum.X, optimum.y
        after = ahead.lagrangian(y, X) if len(y) == ahead.unknowns and len(X) == ahead.side else math.nan
        slope = (after - before.lagrangian(y, X)) / (STEP * radius * float(X[0, 0]))
        value = found.value + found.gap / 2
        return radius - value / slope if slope < 0 else math.inf

    def _ahead(self, rival: int, radius: float) -> SemidefiniteProgram:
        farther = radius * (1 + STEP)
        return self._made(farther).relaxation(self.label, rival, self.lead, self._worst[radius, rival]).program


@dataclass(eq=False)
class _RootSearch:
    """Tangents of γ for one rival; all rivals at the first radius that is proved, and at the last."""

    search: RegionSearch
    limit: float
    rival: int
    tolerance: float
    best: ProvedRadius = field(default_factory=ProvedRadius)
    low: float = 0.0
    high: float = math.inf

    def run(self) -> None:
        """Narrow [low, high] until it is small, or the time is up."""
        search = self.search
        self.high = self.limit
        trial = FIRST * self.limit if math.isfinite(self.limit) else search.reach(self.rival)
        proved: dict[float, Outcome] = {}
        if math.isfinite(self.limit) and not self.low and search.prepared(trial).space.size > COSTLY:
            self._by_guesses()
        proved_all = self.low > 0
        for _ in range(ATTEMPTS):
            found = search.attempt(self.rival, trial, decide=False)
            root = search.root(found, self.rival, trial)
            if found.leaf is None:
                self.high = trial
            else:
                self.low = trial
                proved[trial] = found
                self.high = max(self.low, min(self.high, root))
                if not proved_all and not self._all_at(trial, found):
                    root = -math.inf
                proved_all = True
            if self.high - self.low <= self.tolerance * self.high:
                if self.low <= self.best.radius or self._all_at(self.low, proved.get(self.low)):
                    return
                root = -math.inf
            trial = self._next(trial, root)

    def _by_guesses(self) -> None:
        """Find a radius at which guesses prove all rivals: a bound for the case that there is no time for more."""
        for share in SHARES:
            made, failed = self.search.prove(share * self.limit, solve=False)
            if failed is None:
                self.best, self.low = made, made.radius
                return

    def _all_at(self, radius: float, found: Outcome | None) -> bool:
        """Prove all rivals at a radius; else go on with the one that failed, below it."""
        made, failed = self.search.prove(radius, {} if found is None else {self.rival: found})
        if failed is None:
            self.best = made
            return True
        self.rival, self.low, self.high = failed, self.best.radius, radius
        return False

    def _next(self, trial: float, root: float) -> float:
        low, high = self.low, self.high
        aim = root - CAUTION * self.tolerance * root - 0.05 * abs(root - trial)
        if low < aim < high:
            return aim
        if math.isinf(high):
            return 2 * low
        return (low + high) / 2 if low else high * (0.9 if math.isfinite(root) else BELOW)
