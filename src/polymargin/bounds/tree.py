"""The proof tree: cuts of first-layer ranges, and at every leaf a bound with the ranges it relies on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polymargin.bounds.bound import Bound, hexadecimal
from polymargin.bounds.ranges import NeuronRanges


@dataclass(frozen=True, eq=False)
class Leaf:
    """A part of the ball on which `bound` proves B > 0, given the ranges of the deeper layers."""

    ranges: tuple[NeuronRanges, ...]
    bound: Bound


@dataclass(frozen=True, eq=False)
class LeafSplit:
    """y_neuron ≤ value in `low`, y_neuron ≥ value in `high`."""

    neuron: int
    value: float
    low: LeafSplit | Leaf
    high: LeafSplit | Leaf


def tree_proof(tree: LeafSplit | Leaf) -> dict[str, Any]:
    """JSON-ready, numbers as hexadecimal floats (docs/certificates.md)."""
    if isinstance(tree, LeafSplit):
        split = [tree.neuron, float(tree.value).hex()]
        return {"split": split, "low": tree_proof(tree.low), "high": tree_proof(tree.high)}
    return {
        "ranges": [
            [
                [
                    *hexadecimal(limits),
                    None if low is None else low.to_proof(),
                    None if high is None else high.to_proof(),
                ]
                for limits, (low, high) in zip(layer.limits, layer.proofs, strict=True)
            ]
            for layer in tree.ranges
        ],
        "bound": tree.bound.to_proof(),
    }
