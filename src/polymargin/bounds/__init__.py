"""Bounds: certified radii from the S-lemma, branch and bound, and attacks."""

from polymargin.bounds.attacks import Attack, attack
from polymargin.bounds.bound import Bound
from polymargin.bounds.exclusion import Exclusion, exclude
from polymargin.bounds.lower_bounds import LowerBound, lower_bound, pair_lower_bound
from polymargin.bounds.ranges import LayerRanges
from polymargin.bounds.tree import Leaf, Split

__all__ = [
    "Attack",
    "Bound",
    "Exclusion",
    "LayerRanges",
    "Leaf",
    "LowerBound",
    "Split",
    "attack",
    "exclude",
    "lower_bound",
    "pair_lower_bound",
]
