"""Exclusion: B > 0 on the closed ball ‖x − u‖ ≤ r, by branch and bound over the first-layer coordinates y = W¹δ.

The tree splits ranges of coordinates y_j; the two parts of a split together are the whole, so it is enough that every
leaf is proved. In a leaf the ranges of deeper neurons are proved from the layer below, one layer after the other, and
then the bound for B itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import arb, fmpq

from polymargin_checker.arithmetic import PRECISION, working_precision
from polymargin_checker.document import fields, integer, items
from polymargin_checker.dyadics import ball, number
from polymargin_checker.leaf import BallProblem, ProvedRanges
from polymargin_checker.refusal import Refused
from polymargin_checker.univariate import Interval
from polymargin_checker.views import Model, output_row
from polymargin_checker.work import spend


def check_exclusion(model: Model, point: Sequence[fmpq], label: int, rival: int, proof: Any) -> fmpq:
    """Prove B > 0 on the ball and return its radius, or refuse."""
    fields(proof, "exclusion proof", ("kind", "radius", "tree"))
    radius = number(proof["radius"], "exclusion radius")
    if radius < 0:
        raise Refused("the radius of the exclusion proof is negative")
    if model.hidden_layers == 0:
        raise Refused("an exclusion proof needs a hidden layer; use a hyperplane proof")
    with working_precision(PRECISION):
        problem = BallProblem(model, point, radius)
        gamma, constant = output_row(model, label, rival)
        waiting: list[tuple[Any, list[Interval]]] = [(proof["tree"], problem.root_ranges())]
        count = 0
        while waiting:
            node, ranges = waiting.pop()
            if isinstance(node, dict) and "split" in node:
                waiting += _parts(node, ranges)
            else:
                _check_leaf(problem, f"leaf {count}", node, ranges, gamma, constant)
                count += 1
    return radius


def _parts(node: Any, ranges: list[Interval]) -> list[tuple[Any, list[Interval]]]:
    """The two halves of a split; the low one is looked at first."""
    fields(node, "a split of the tree", ("split", "low", "high"))
    coordinate_entry, value_entry = items(node["split"], "split", 2)
    coordinate = integer(coordinate_entry, "split coordinate", 0, len(ranges) - 1)
    value = ball(number(value_entry, "split value"))
    low, high = ranges[coordinate]
    if not (low <= value and value <= high):
        raise Refused(f"a split value lies outside the range of coordinate {coordinate}")
    spend(len(ranges), 0, "the splits of an exclusion proof")
    below, above = list(ranges), list(ranges)
    below[coordinate], above[coordinate] = (low, value), (value, high)
    return [(node["high"], above), (node["low"], below)]


def _check_leaf(
    problem: BallProblem, name: str, node: Any, ranges: list[Interval], gamma: list[arb], constant: arb
) -> None:
    fields(node, name, ("ranges", "bound"))
    deepest = len(problem.weights)
    layers = items(node["ranges"], f"{name}, ranges", deepest - 1)
    leaf = ProvedRanges(problem, name, ranges)
    for layer, entries in enumerate(layers, start=2):
        leaf.add_layer(layer, entries)
    leaf.prove(node["bound"], f"{name}, bound", gamma, constant, deepest)
