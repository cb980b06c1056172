"""Margins: from a model and a point to the nearest tie, with its standing."""

from polymargin.margins.base_solutions import BaseSolutions, base_solutions
from polymargin.margins.completion import Completion, complete
from polymargin.margins.compute import margin
from polymargin.margins.enumeration import CriticalPoints, critical_points
from polymargin.margins.limit import check_limit
from polymargin.margins.prediction import predicted_class
from polymargin.margins.result import Margin, PairMargin
from polymargin.margins.standing import Standing
from polymargin.margins.trace import TraceTest, trace_test

__all__ = [
    "BaseSolutions",
    "Completion",
    "CriticalPoints",
    "Margin",
    "PairMargin",
    "Standing",
    "TraceTest",
    "base_solutions",
    "check_limit",
    "complete",
    "critical_points",
    "margin",
    "predicted_class",
    "trace_test",
]
