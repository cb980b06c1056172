"""Margins: from a model and a point to the nearest tie, with its standing."""

from polymargin.margins.margin import margin
from polymargin.margins.prediction import predicted_class
from polymargin.margins.result import Margin, PairMargin

__all__ = ["Margin", "PairMargin", "margin", "predicted_class"]
