"""Margins: from a model and a point to the nearest tie, with its standing."""

from polymargin.margins.compute import margin, predicted_class
from polymargin.margins.enumeration import CriticalPoints, critical_points
from polymargin.margins.result import Margin, PairMargin
from polymargin.margins.standing import Standing

__all__ = ["CriticalPoints", "Margin", "PairMargin", "Standing", "critical_points", "margin", "predicted_class"]
