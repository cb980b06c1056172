"""All critical points of the distance to a boundary: two stages, an audit, and what is kept of the first."""

from polymargin.enumeration.base_solutions import BaseSolutions, base_solutions
from polymargin.enumeration.completion import Completion, complete
from polymargin.enumeration.critical_points import CriticalPoints, critical_points, critical_points_at
from polymargin.enumeration.limit import check_limit
from polymargin.enumeration.trace import TraceTest, trace_test

__all__ = [
    "BaseSolutions",
    "Completion",
    "CriticalPoints",
    "TraceTest",
    "base_solutions",
    "check_limit",
    "complete",
    "critical_points",
    "critical_points_at",
    "trace_test",
]
