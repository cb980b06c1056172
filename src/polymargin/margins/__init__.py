"""Margins: from a model and a point to the nearest tie, with its standing."""

from polymargin.margins.compute import margin
from polymargin.margins.enumeration import CriticalPoints, critical_points
from polymargin.margins.result import Margin, PairMargin
from polymargin.margins.standing import Standing
from polymargin.margins.verdict import Answer, Verdict, judge, verify

__all__ = [
    "Answer",
    "CriticalPoints",
    "Margin",
    "PairMargin",
    "Standing",
    "Verdict",
    "critical_points",
    "judge",
    "margin",
    "verify",
]
