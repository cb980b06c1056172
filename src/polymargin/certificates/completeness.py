"""The completeness certificate: as many certified critical points as there can be, so these are all.

Everything happens in the original variables with the exact weights. The bound is structural: B has degree at most
D = Π deg σ and depends on at most m = min(n, h₁) linear forms, so it has at most N = D Σ_{i<m} (D−1)^i isolated critical points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary, generic_critical_count
from polymargin.continuation.krawczyk import PRECISION, Box, certify_solutions
from polymargin.enumeration import CriticalPoints
from polymargin.margins.certificate import hexadecimal
from polymargin.networks.protocols import AnyNetwork as Network
from polymargin.polynomials import Graph, Program, flatten, gradient, hessian
from polymargin.polynomials.balls import distance_bounds, precision


@dataclass(frozen=True)
class CompletenessProof:
    """All critical points of one boundary in certified boxes, and the distances that follow."""

    boxes: tuple[Box, ...]
    lower: float  # no real critical point is nearer
    upper: float  # the nearest certified real one is at most this far; infinite if there is none
    nearest: int | None  # its index

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "completeness",
            "precision": PRECISION,
            "solutions": [
                {
                    "x": [[_number(re), _number(im)] for re, im in box.midpoint[:-1]],
                    "multiplier": [_number(part) for part in box.midpoint[-1]],
                    "radius": hexadecimal(box.radius),
                }
                for box in self.boxes
            ],
        }


def structural_bound(network: Network) -> int:
    """The number of critical points no boundary of this architecture exceeds."""
    forms = len(network.forms.bias) if network.hidden_layers else network.dimension
    return generic_critical_count(min(network.dimension, forms), network.degree)


def prove_completeness(
    network: Network,
    boundary: Boundary,
    u: NDArray[np.float64],
    found: CriticalPoints,
    processes: int = 1,
) -> CompletenessProof | None:
    """A proof from numerically found critical points; None where the count or a test falls short."""
    if len(found) != structural_bound(network) or (found.multiplicities > 1).any():
        return None
    solutions = np.column_stack([found.points, found.multipliers]).tolist()
    boxes = certify_solutions(_original_program(boundary), u.tolist(), solutions, found.real.tolist(), processes)
    certified = [box for box in boxes if box is not None]
    if len(certified) != len(boxes) or not _disjoint(certified):
        return None
    with precision(PRECISION):
        distances = [_distance(box, u) for box in certified]
    candidates = [i for i, real in enumerate(found.real) if real or not _clearly_nonreal(certified[i])]
    lower = min((distances[i][0] for i in candidates), default=math.inf)
    reals = [i for i, real in enumerate(found.real) if real]
    nearest = min(reals, key=lambda i: distances[i][1], default=None)
    upper = math.inf if nearest is None else distances[nearest][1]
    return CompletenessProof(tuple(certified), lower, upper, nearest)


def _original_program(boundary: Boundary) -> Program:
    """x − u + λ∇B(x), B(x) and its Jacobian in the original variables, u as parameters."""
    graph = Graph()
    x = graph.inputs(boundary.dimension)
    (multiplier,) = graph.inputs(1)
    u = graph.parameters(boundary.dimension)
    value = boundary.source.polynomial(x)
    slope = gradient(value, x)
    equations = [xi - ui + multiplier * gi for xi, ui, gi in zip(x, u, slope, strict=True)]
    jacobian = []
    for i, row in enumerate(hessian(value, x)):
        jacobian += [multiplier * entry + int(i == j) for j, entry in enumerate(row)] + [slope[i]]
    return flatten(graph, [*equations, value], [*jacobian, *slope, graph.constant(0)])


def _disjoint(boxes: list[Box]) -> bool:
    """Pairwise disjoint boxes, from sorted real parts of a coordinate: only neighbours in reach need a closer look."""
    centres = np.array([[(sum(re), sum(im)) for re, im in box.midpoint] for box in boxes]).reshape(len(boxes), -1)
    radii = np.array([box.radius for box in boxes])
    # Midpoints rounded to doubles move by far less than this.
    guard = 1e-15 * (1 + np.abs(centres).max(axis=1))
    order = np.argsort(centres[:, 0])
    reach = (radii + guard).max()
    for position, i in enumerate(order):
        for j in order[position + 1 :]:
            if centres[j, 0] - centres[i, 0] > radii[i] + guard[i] + reach:
                break
            gap = np.abs(centres[i] - centres[j]).max()
            if gap <= radii[i] + radii[j] + guard[i] + guard[j]:
                return False
    return True


def _clearly_nonreal(box: Box) -> bool:
    return any(abs(sum(im)) > 2 * box.radius for _, im in box.midpoint)


def _distance(box: Box, u: NDArray[np.float64]) -> tuple[float, float]:
    """Distance from u to the real parts of the box, rounded outward."""
    return distance_bounds([entry.real for entry in box.coordinates()[:-1]], u)


def _number(parts: tuple[float, ...]) -> str | list[str]:
    return hexadecimal(parts[0]) if len(parts) == 1 else [hexadecimal(part) for part in parts]
