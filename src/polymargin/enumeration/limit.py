"""Refusing what would take too long, with the count and an estimate of the time."""

from __future__ import annotations

from polymargin.boundary import Boundary
from polymargin.continuation import Tracker, available_threads
from polymargin.errors import TooManyPathsError

# Rough measured cost of base solutions on one core: microseconds per path and cubed number of unknowns.
MICROSECONDS_PER_PATH = 0.1


def check_limit(boundary: Boundary, limit: int, tracker: Tracker) -> None:
    """Raise if the boundary may have more critical points than the limit."""
    count = boundary.critical_bound
    if count <= limit:
        return
    unknowns = boundary.reduction.dimension + 1
    seconds = estimated_seconds(boundary, tracker)
    raise TooManyPathsError(
        f"the boundary ({boundary.name}) has up to {written(count)} critical points (degree {boundary.degree} in "
        f"{unknowns - 1} active variables), more than the limit of {written(limit)}; finding them would take about "
        f"{_duration(seconds)}; raise limit= (--limit) to try"
    )


def estimated_seconds(boundary: Boundary, tracker: Tracker) -> float:
    """Estimate the time of the start solutions."""
    unknowns = boundary.reduction.dimension + 1
    work = boundary.critical_bound * MICROSECONDS_PER_PATH * 1e-6 * unknowns**3
    return work / (tracker.threads or available_threads())


def written(value: int) -> str:
    """Format a number of any size."""
    return f"{value:,}" if value < 10**12 else f"10^{len(str(value)) - 1}"


def _duration(seconds: float) -> str:
    for name, length in (("years", 31_557_600), ("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            amount = seconds / length
            return f"{amount:.0f} {name}" if amount < 1e6 else f"{amount:.0e} {name}"
    return f"{seconds:.0f} seconds"
