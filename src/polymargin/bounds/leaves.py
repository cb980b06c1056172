"""Bounding a batch of leaves: ranges of the deeper layers, the relaxation, and the rigorous bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymargin.bounds.bound import rigorous
from polymargin.bounds.interior_point import BatchOptimum, maximise
from polymargin.bounds.ranges import layer_ranges
from polymargin.bounds.relaxation import GramRelaxation
from polymargin.bounds.tree import Leaf
from polymargin.bounds.view import View
from polymargin.deadlines import NEVER, Deadline

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LeafBounds:
    """values (B,): the functional is larger on its leaf; `leaves` hold the proofs where a value is positive."""

    values: Array
    leaves: list[Leaf]
    program: GramRelaxation
    optimum: BatchOptimum


def bound_leaves(
    view: View,
    first: Array,
    gamma: Array,
    constant: Array,
    radius: Array,
    *,
    decide: bool = False,
    tolerance: float = 1e-8,
    deadline: Deadline = NEVER,
) -> LeafBounds:
    """Lower bounds of γ₀ + γ·a^L on leaves given by the ranges of y (B, h₁, 2) and the radius (B,) of their balls."""
    deeper = layer_ranges(view, first, radius, deadline)
    ranges = [first, *(np.stack([d[k].limits for d in deeper]) for k in range(view.depth - 1))]
    program = GramRelaxation.build(view, ranges, gamma, constant, radius)
    optimum = maximise(program, decide=decide, tolerance=tolerance, deadline=deadline)
    values, bounds = rigorous(view, ranges, gamma, constant, radius, program, optimum.x)
    leaves = [Leaf(tuple(d), bound) for d, bound in zip(deeper, bounds, strict=True)]
    return LeafBounds(values, leaves, program, optimum)
