"""The largest radius that is proved, for all rivals together.

γ(r), the best bound at a radius, falls from the lead γ(0). For the rival that seems nearest its root is looked for: log(γ(0) − γ)
is nearly a line over log r, of the degree with which the worst lead falls, so two values say where the next radius is. The other
rivals are tried at radii that were proved, where most of them fall to a guess; one that does not becomes the one whose root is
looked for. The best proof of all rivals so far is kept, and the time that is given is used.
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
from polymargin.relaxation.prover import Outcome, PreparedRegion, Proof

Array = NDArray[np.float64]

TOLERANCE = 2e-3
FIRST = 0.96
"""Where the search starts, relative to the nearest counterexample."""
FIRST_CAUTION, CAUTION = 0.03, 0.3
"""How far below the root that values suggest a radius is tried: of the root before anything is proved, of the tolerance later."""
ATTEMPTS, MUCH = 40, 1.1
"""Radii that are tried, and how much larger than the best one is that all rivals are tried at before the root is known."""
NEAR = 1e-3
"""Radius at which rivals are compared where nothing limits it."""
DEGREE, LEAST_DEGREE = 2.0, 0.5
"""Of γ(0) − γ as a power of the radius: the first guess, and the least."""
NARROWER, FARTHER, FAR = 0.5, 4.0, 1e4
"""The next part of a radius at which programs break down, the next multiple where all was proved, and the last of the first."""
ASIDE, UNSURE, SMALL = 0.012, 0.05, 400
"""How much smaller a radius is tried where a program of at most this size did not converge to such a part of the lead."""
SHARES = (0.85, 0.6, 0.3, 0.1, 0.02)
"""Parts of the limit that guesses are tried at before anything is solved."""


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

    def largest(self, limit: float, *, tolerance: float = TOLERANCE, known: ProvedRadius | None = None) -> ProvedRadius:
        """Return the largest radius up to the limit that is proved for all rivals, or the one that is known already."""
        nearest = self.by_nearness(limit if math.isfinite(limit) else NEAR)[0]
        search = _RootSearch(self, limit, nearest, tolerance, known or ProvedRadius())
        with suppress(TimeUpError):  # what was proved before is the answer
            search.run()
        return search.best

    def lead_over(self, rival: int) -> float:
        """Return γ(0): by how much the label leads at the point, beyond the lead that is asked for."""
        logits = self.network(self.point)
        return float(logits[self.label] - logits[rival]) - self.lead

    def reach(self, rival: int) -> float:
        """Return a radius at which the rival is likely to tie, from the slopes at the point."""
        tiny = 1e-6 * max(1.0, float(np.abs(self.point).max()))
        near, lead = self.region.at(self.point, tiny), self.lead_over(rival)
        low = float(lowest_points(self.network, self.point, near, self.label, [rival])[0][0]) - self.lead
        return tiny * lead / max(lead - low, 1e-12 * abs(lead) + 1e-300)


@dataclass(eq=False)
class _RootSearch:
    """The root of γ for one rival; all rivals at the first radius that is proved, and at the last."""

    search: RegionSearch
    limit: float
    rival: int
    tolerance: float
    best: ProvedRadius
    values: dict[int, dict[float, float]] = field(default_factory=dict)

    def run(self) -> None:
        """Narrow [low, high] until it is small, or the time is up."""
        search, low, high = self.search, self.best.radius, self.limit
        trial = FIRST * self.limit if math.isfinite(self.limit) else search.reach(self.rival)
        if math.isfinite(self.limit) and not low:
            low = self._by_guesses()
        trial = max(trial, low)
        end = FAR * trial
        was_unsure = False
        for _ in range(ATTEMPTS):
            rival, found = self.rival, search.attempt(self.rival, trial, decide=False)
            if not was_unsure and self._is_unsure(found):
                was_unsure, trial = True, max((1 - ASIDE) * trial, low)
                continue
            was_unsure = False
            known = self.values.setdefault(rival, {})
            known[trial] = found.value + found.gap / 2 if math.isfinite(found.gap) else found.value
            if found.leaf is None:
                high = trial
            elif trial >= end and self._all_at(trial, found):
                return
            elif trial > MUCH * self.best.radius and not self._all_at(trial, found):
                high = trial
            else:
                low = trial
            aim = self._root(low, high) * (1 - (CAUTION * self.tolerance if low else FIRST_CAUTION))
            met = high <= low / (1 - self.tolerance) or abs(aim - low) <= self.tolerance * low
            if met and low > 0:
                if low <= self.best.radius or self._all_at(
                    low, found if trial == low and rival == self.rival else None
                ):
                    return
                low, high = self.best.radius, low
                aim = self._root(low, high)
            if not low < aim < high:
                aim = (low + high) / 2 if math.isfinite(high) else FARTHER * low
            trial = aim

    def _is_unsure(self, found: Outcome) -> bool:
        """Return whether a small program did not converge: a neuron just beyond its breakpoint hampers it at some radii."""
        lead = self.search.lead_over(self.rival)
        return found.leaf is None and found.gap > UNSURE * lead and found.relaxation.space.size <= SMALL

    def _by_guesses(self) -> float:
        """Find a radius at which guesses prove all rivals: a bound for the case that there is no time for more."""
        for share in SHARES:
            made, failed = self.search.prove(share * self.limit, solve=False)
            if failed is None:
                self.best = made
                return made.radius
        return 0.0

    def _all_at(self, radius: float, found: Outcome | None) -> bool:
        """Prove all rivals at a radius; else go on with the one that failed."""
        made, failed = self.search.prove(radius, {} if found is None else {self.rival: found})
        if failed is None:
            self.best = made
            return True
        self.rival = failed
        return False

    def _root(self, low: float, high: float) -> float:
        """Return where γ of the rival is likely to vanish, from its values next to the ends."""
        lead = self.search.lead_over(self.rival)
        places = {r: math.log(max(lead - v, 1e-300) / lead) for r, v in self.values.get(self.rival, {}).items()}
        near = sorted(places, key=lambda r: (abs(places[r]), -r))[:2]
        if not near or lead <= 0:
            return NARROWER * high if not low else (low + high) / 2
        best, degree = near[0], DEGREE
        if len(near) == 2:
            degree = (places[near[1]] - places[best]) / math.log(near[1] / best)
        power = -places[best] / max(degree, LEAST_DEGREE)
        farthest = math.log(FARTHER) if low else 0.0
        least = math.log(NARROWER) if not low else -math.inf
        return best * math.exp(min(max(power, least), farthest))
