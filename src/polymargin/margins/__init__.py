"""Margins: from a model and a point to the nearest tie, with its standing."""

from polymargin.margins.margin import margin
from polymargin.margins.prediction import predicted_class
from polymargin.margins.result import Margin, Margins, PairMargin

__all__ = ["Margin", "Margins", "PairMargin", "margin", "predicted_class"]
