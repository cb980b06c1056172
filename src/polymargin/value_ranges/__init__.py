"""What encrypted inference asks of a network: the ranges of all values over a set of inputs, proved.

inputs ─▶ extremes by search, one program a side (search, programs, box_quadratic) ─▶ certificate ─▶ checker ─▶ Ranges
"""

from polymargin.value_ranges.agreement import Agreement, agree
from polymargin.value_ranges.bounded import ranges
from polymargin.value_ranges.minimax import Approximation, approximation
from polymargin.value_ranges.results import Containment, LayerRanges, Ranges

__all__ = ["Agreement", "Approximation", "Containment", "LayerRanges", "Ranges", "agree", "approximation", "ranges"]
