"""The completeness certificate: as many boxes with a critical point each as there can be critical points, so these are all.

Everything happens in the original variables with the exact weights. The bound is structural: B has degree at most
D = Π deg σ and depends on at most m = min(n, h₁) linear forms, so it has at most N = D Σ_{i<m} (D−1)^i isolated critical points.

`CriticalPointProofs` does many points at once: one step of Newton's method in doubles, and boxes of a size that usually
passes the checker's test. What the checker refuses is done again by `prove_completeness`, which tests its boxes in balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin import _core
from polymargin.boundary import Boundary, generic_critical_count
from polymargin.continuation.krawczyk import PRECISION, Box, certify_solutions
from polymargin.continuation.same_points import REAL
from polymargin.enumeration import CriticalPoints
from polymargin.margins.certificate import in_base64
from polymargin.networks.network import Network
from polymargin.polynomials import Graph, Program, flatten, gradient, hessian
from polymargin.polynomials.balls import distance_bounds, precision

Array: TypeAlias = NDArray[np.float64]
ComplexArray: TypeAlias = NDArray[np.complex128]

# Entries of Jacobians that are held at a time: they stay in the cache.
AT_ONCE = 1 << 16
# Radii of boxes are about this share of the distance from u, and at least that share of the coordinates.
SHARE, LEAST = 2.0**-30, 2.0**-42
# Bounds of distances leave room for this share of them, and for that share of the coordinates.
ROOM, ROUNDING = 2.0**-40, 2.0**-48
# Radii are powers of two with exponents up to this.
LARGEST_EXPONENT = 1000


@dataclass(frozen=True, eq=False)
class CompletenessProof:
    """All critical points of one boundary, and the distances that follow.

    reals        (k, n) the real ones, the nearest first
    pairs        (p, n) one of each pair of conjugate ones
    exponents    (k + p, 2) radii of the boxes as powers of two: of x, and of the multiplier
    corrections  (k + p, n) what is to be added to the midpoints; None where doubles are enough
    lower        no real critical point is nearer
    upper        the nearest real one is at most this far; infinite if there is none
    """

    reals: Array
    pairs: ComplexArray
    exponents: NDArray[np.int64]
    corrections: ComplexArray | None
    lower: float
    upper: float

    @property
    def nearest(self) -> int | None:
        """Return the index of the nearest real one."""
        return 0 if len(self.reals) else None

    def to_json(self) -> dict[str, Any]:
        """Return the proof as certificates have it."""
        count = len(self.reals)
        entry: dict[str, Any] = {
            "kind": "completeness",
            "reals": count,
            "points": _listed(self.reals, self.pairs),
            "radii": in_base64(self.exponents, "<i2"),
        }
        if self.corrections is not None:
            entry["corrections"] = _listed(self.corrections[:count].real, self.corrections[count:])
        return entry


def structural_bound(network: Network) -> int:
    """Return the number of critical points no boundary of this architecture exceeds."""
    forms = len(network.input_forms.bias) if network.stages else network.dimension
    return generic_critical_count(min(network.dimension, forms), network.degree)


class CriticalPointProofs:
    """Completeness proofs of one boundary for many points; made once for a boundary."""

    def __init__(self, network: Network, boundary: Boundary) -> None:
        self._bound, self._boundary = structural_bound(network), boundary

    @cached_property
    def _program(self) -> Program:
        return _original_program(self._boundary)

    def prove(self, u: Array, points: ComplexArray, multipliers: ComplexArray) -> list[CompletenessProof | None]:
        """Return a proof for each point u (q, n) from its critical points (q, N, n) and their multipliers (q, N), or None."""
        count, found, n = points.shape
        proofs: list[CompletenessProof | None] = [None] * count
        if found != self._bound:
            return proofs
        with np.errstate(all="ignore"):
            real, chosen = _halves(u, points)
            rows, places = np.nonzero(chosen)
            solutions = np.concatenate([points[rows, places], multipliers[rows, places, None]], axis=1)
            solutions[real[rows, places]] = solutions[real[rows, places]].real
            steps = np.empty(len(solutions))
            size = max(1, AT_ONCE // (n + 1) ** 2)
            for start in range(0, len(solutions), size):
                part = slice(start, start + size)
                solutions[part], steps[part] = self._sharpened(u[rows[part]], solutions[part])
            end = 0
            for row, length in enumerate(chosen.sum(axis=1).tolist()):
                part, end = slice(end, end + length), end + length
                if length and np.isfinite(solutions[part]).all():
                    proofs[row] = _proof(u[row], solutions[part], steps[part], real[row][chosen[row]])
        return proofs

    def _sharpened(self, u: Array, solutions: ComplexArray) -> tuple[ComplexArray, Array]:
        """Return one step of Newton's method from solutions (p, n + 1) for points u (p, n), and its length (p,)."""
        origin = np.zeros(solutions.shape[1] - 1, dtype=np.complex128)
        values, jacobians = _core.evaluate(self._program.compiled, np.ascontiguousarray(solutions), origin)
        values[:, :-1] -= u
        try:
            steps = np.linalg.solve(jacobians, values[..., None])[..., 0]
        except np.linalg.LinAlgError:
            steps = np.full_like(solutions, np.nan)
        return solutions - steps, np.abs(steps[:, :-1]).max(axis=1, initial=0.0)


def _halves(u: Array, points: ComplexArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which points (q, N, n) are real, and which are listed: these and one of each pair; none where they are no pairs."""
    sizes, away = np.abs(points).max(axis=2), np.linalg.norm(points - u[:, None], axis=2)
    real = np.abs(points.imag).max(axis=2) <= REAL * (away + sizes * 2.0**-20)
    upper = ~real & (points.imag @ _directions(points.shape[2]) > 0)
    whole = real.sum(axis=1) + 2 * upper.sum(axis=1) == points.shape[1]
    return np.asarray(real), np.asarray((real | upper) & whole[:, None])


def _proof(u: Array, solutions: ComplexArray, steps: Array, real: NDArray[np.bool_]) -> CompletenessProof | None:
    x, multipliers = solutions[:, :-1], solutions[:, -1]
    reals = np.flatnonzero(real)
    distances = np.linalg.norm(x[reals].real - u, axis=1)
    order = np.argsort(distances, kind="stable")
    chosen = np.concatenate([reals[order], np.flatnonzero(~real)])
    sizes, away = np.abs(x[chosen]).max(axis=1), np.abs(x[chosen] - u).max(axis=1)
    radii = np.maximum(SHARE * away + LEAST * sizes, 4 * steps[chosen])
    of_multipliers = np.maximum(radii / np.where(away > 0, away, 1.0) * np.abs(multipliers[chosen]), 2.0**-900)
    exponents = _exponents(np.stack([radii, 4 * of_multipliers], axis=1))
    if exponents is None:
        return None
    lower = above = math.inf
    if len(reals):
        room = ROOM * distances.min() + ROUNDING * float(sizes[0])
        lower, above = max(0.0, float(distances.min() - room)), float(distances.min() + room)
    return CompletenessProof(x[reals[order]].real, x[~real], exponents, None, lower, above)


def _exponents(radii: Array) -> NDArray[np.int64] | None:
    """Return the exponents of powers of two below the radii."""
    if not (np.isfinite(radii) & (radii > 0)).all():
        return None
    found = np.frexp(radii)[1].astype(np.int64) - 1
    return found if (np.abs(found) <= LARGEST_EXPONENT).all() else None


def _directions(n: int) -> Array:
    """Return a direction to which no structure is orthogonal: which of two conjugate points is listed."""
    return np.random.default_rng(n).normal(size=n)


def _listed(reals: Array, pairs: ComplexArray) -> str:
    """Return real coordinates, then real and imaginary parts in turn."""
    parts = np.stack([pairs.real, pairs.imag], axis=-1)
    return in_base64(np.concatenate([reals.ravel(), parts.ravel()]))


# -- one point, in balls ---------------------------------------------------------------------------


def prove_completeness(
    network: Network,
    boundary: Boundary,
    u: Array,
    found: CriticalPoints,
    processes: int = 1,
) -> CompletenessProof | None:
    """Return a proof from numerically found critical points; None where the count or a test falls short."""
    if len(found) != structural_bound(network) or (found.multiplicities > 1).any():
        return None
    half = found.points.imag @ _directions(boundary.dimension)
    places = np.flatnonzero(found.real | (half > 0))
    if int(found.real.sum()) + 2 * (len(places) - int(found.real.sum())) != len(found):
        return None
    solutions = np.column_stack([found.points, found.multipliers])[places].tolist()
    real = found.real[places]
    boxes = certify_solutions(_original_program(boundary), u.tolist(), solutions, real.tolist(), processes)
    certified = [box for box in boxes if box is not None]
    if len(certified) != len(boxes):
        return None
    return _from_boxes(u, certified, real)


def _from_boxes(u: Array, boxes: Sequence[Box], real: NDArray[np.bool_]) -> CompletenessProof | None:
    with precision(PRECISION):
        distances = {
            place: distance_bounds([entry.real for entry in boxes[place].coordinates()[:-1]], u)
            for place in np.flatnonzero(real).tolist()
        }
    reals = sorted(distances, key=lambda place: distances[place][0])
    order = [*reals, *np.flatnonzero(~real).tolist()]
    first, second = (
        np.array([[_part(re, part) + 1j * _part(im, part) for re, im in boxes[place].midpoint[:-1]] for place in order])
        for part in (0, 1)
    )
    exponents = _exponents(np.array([[boxes[place].radius] * 2 for place in order]))
    if exponents is None:
        return None
    lower = min((low for low, _ in distances.values()), default=math.inf)
    upper = distances[reals[0]][1] if reals else math.inf
    count = len(reals)
    corrections = second if second.any() else None
    return CompletenessProof(first[:count].real, first[count:], exponents, corrections, lower, upper)


def _part(parts: tuple[float, ...], place: int) -> float:
    return parts[place] if place < len(parts) else 0.0


def _original_program(boundary: Boundary) -> Program:
    """Return x − u + λ∇B(x), B(x) and its Jacobian in the original variables, u as parameters."""
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
