"""Bounds: certified radii from semidefinite relaxations, branch and bound."""

from polymargin.bounds.bound import Bound
from polymargin.bounds.bracket import Bracket, bracket
from polymargin.bounds.exclusion import Exclusion, exclude
from polymargin.bounds.lower_bound import LowerBound, lower_bound, pair_lower_bound, quick_lower_bound
from polymargin.bounds.ranges import LayerRanges
from polymargin.bounds.tree import Leaf, Split

__all__ = [
    "Bound",
    "Bracket",
    "Exclusion",
    "LayerRanges",
    "Leaf",
    "LowerBound",
    "Split",
    "bracket",
    "exclude",
    "lower_bound",
    "pair_lower_bound",
    "quick_lower_bound",
]
