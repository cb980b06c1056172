"""Best-first branch and bound: one loop, whatever a cell is.

A cell is a set of inputs, a union of regions, together with one rival. `examine` gives a lower bound of the distance from u to
the ties in the cell that is never below that of the cell it came from, and offers the ties it meets to the incumbent.
`branch` splits a cell. The cell with the least bound is taken first, so the search moves outward from u, and at any time
the least bound of an open cell and the incumbent bracket the answer.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter
from typing import Protocol, TypeVar

from polymargin.piecewise.incumbents import Incumbent

# A cell whose bound is this close to the incumbent, relatively, cannot improve it.
GAP = 1e-10


class Cell(Protocol):
    """A set of inputs in which ties with `rival` are sought; none is nearer than `lower`."""

    @property
    def rival(self) -> int:
        """Return the rival of the cell."""
        ...

    @property
    def lower(self) -> float:
        """Return a lower bound for ties in the cell."""
        ...

    @property
    def single(self) -> bool:
        """Return whether it is one region, on which the network is one polynomial."""
        ...


C = TypeVar("C", bound=Cell)


class Problem(Protocol[C]):
    """The interface of a problem for the loop."""

    @property
    def far(self) -> float:
        """Return a distance beyond which nothing is looked for."""
        ...

    @property
    def programs(self) -> int:
        """Return the number of quadratic programs solved so far."""
        ...

    def roots(self) -> Iterable[C]:
        """Return cells that cover everything, one for each rival or more."""
        ...

    def examine(self, cell: C, incumbent: Incumbent, reach: float) -> C:
        """Return the cell with a better bound; ties at a distance of `reach` or more are of no interest."""
        ...

    def branch(self, cell: C) -> Iterable[C]:
        """Return parts that cover the cell; none if the cell cannot be divided."""
        ...


@dataclass
class SearchOutcome:
    """The outcome of a search: ties with a rival are no nearer than lower[rival]."""

    lower: dict[int, float]
    cells: int = 0
    regions: int = 0
    open_cells: int = 0
    timed_out: bool = False
    unresolved: list[float] = field(default_factory=list)

    @property
    def least(self) -> float:
        """Return the least lower bound over all rivals."""
        return min(self.lower.values(), default=math.inf)


def best_first(
    problem: Problem[C], incumbent: Incumbent, *, reach: float = math.inf, deadline: float = math.inf
) -> SearchOutcome:
    """Search until the incumbent is proved best, nothing is left within reach, or the deadline (perf_counter) passes.

    With a finite reach the first tie within it ends the search: there is nothing more to decide.
    """
    outcome = SearchOutcome({})
    decided = reach if math.isfinite(reach) else -1.0
    reach = min(reach, problem.far)
    queue: list[tuple[float, int, C]] = []
    ticket = count()

    def settle(rival: int, lower: float) -> None:
        outcome.lower[rival] = min(outcome.lower.get(rival, math.inf), lower)

    def look(cell: C) -> None:
        used = limit()
        found = problem.examine(cell, incumbent, used)
        outcome.cells += 1
        outcome.regions += found.single
        if found.lower >= limit():
            # Beyond what was looked at, nothing is known.
            settle(found.rival, min(found.lower, used))
        else:
            heapq.heappush(queue, (found.lower, next(ticket), found))

    def limit() -> float:
        return min(reach, incumbent.distance * (1 - GAP))

    for root in problem.roots():
        if incumbent.distance > decided:
            look(root)
        else:
            settle(root.rival, root.lower)
    while queue and queue[0][0] < limit() and incumbent.distance > decided:
        if perf_counter() > deadline:
            outcome.timed_out = True
            break
        _, _, cell = heapq.heappop(queue)
        parts = list(problem.branch(cell))
        if not parts:
            # A single region whose nearest tie exact arithmetic has not confirmed.
            outcome.unresolved.append(cell.lower)
            settle(cell.rival, cell.lower)
        for part in parts:
            look(part)
    outcome.open_cells = len(queue) if outcome.timed_out else 0
    for lower, _, cell in queue:
        settle(cell.rival, lower)
    return outcome
