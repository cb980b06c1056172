"""Fewer variables, well scaled.

A boundary often depends on few combinations of the inputs: B(x) = b(Qᵀx) with an orthonormal basis Q of
the *active subspace*, the span of all gradients. The part of u orthogonal to it never changes, so the
search for critical points happens in m = rank dimensions. There the coordinates are

    x = u + scale · Q (y − û),      û = Qᵀ(u − center) / scale,

with the scale chosen so that the homogeneous parts of b have comparable size. Distances are multiplied by
`scale`, nothing else: the change of coordinates is a similarity. The subspace is found from sampled gradients, unless the
maker of the polynomial knows it and can say what the polynomial is on it without rounding away its structure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary.sources import Source
from polymargin.polynomials import Graph, evaluate, flatten, gradient

Array = NDArray[np.float64]

# Directions whose singular value is below this fraction of the largest one (times the size of the matrix)
# are rounding errors of the factorisation, not directions.
RANK_TOLERANCE = 8 * np.finfo(np.float64).eps
# Homogeneous parts smaller than this share of the largest one are rounding noise of the transform.
PART_TOLERANCE = 1e-8
# Scales from 2^−60 to 2^60 are considered.
LARGEST_EXPONENT = 60


@dataclass(frozen=True, eq=False)
class Reduction:
    """The affine change of variables and the boundary polynomial after it, divided by `factor`."""

    basis: Array
    center: Array
    scale: float
    factor: float
    source: Source

    @property
    def dimension(self) -> int:
        """Dimension of the active subspace."""
        return int(self.basis.shape[1])

    def coordinates(self, points: Array) -> Array:
        """û for points u (…, n)."""
        return np.asarray((points - self.center) @ self.basis / self.scale)

    def lift(self, reduced: NDArray[Any], point: Array) -> NDArray[Any]:
        """Critical points y (…, m) belonging to the point u (n,), in the original space (…, n)."""
        return np.asarray(point + self.scale * (reduced - self.coordinates(point)) @ self.basis.T)


def reduce(source: Source, degree: int) -> Reduction:
    """The active subspace and scaling of a polynomial of the given exact degree ≥ 1."""
    known = source.active_subspace()
    if known is None:
        center = source.center()
        basis = _sampled_basis(source, center)
        inner = source.on_subspace(basis, center)
    else:
        basis, inner = known
        center = np.zeros(source.dimension)
    scale, factor = _balance(inner, degree)
    size = inner.dimension
    return Reduction(basis, center, scale, factor, inner.on_subspace(scale * np.eye(size), np.zeros(size)))


def _sampled_basis(source: Source, center: Array) -> Array:
    """The span of gradients at random points, within the directions that the source names."""
    basis = np.eye(source.dimension)
    rows = source.directions()
    if rows is not None:
        basis = _row_space(rows)
    return basis @ _row_space(_sampled_gradients(source.on_subspace(basis, center)), np.eye(basis.shape[1]))


def _row_space(rows: Array, whole: Array | None = None) -> Array:
    """An orthonormal basis of the span of the rows; `whole`, if given, where that is everything.

    Without `whole` the basis consists of singular directions, so that a network that hardly depends on some direction
    shows it in one coordinate alone.
    """
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    rank = int((sizes > RANK_TOLERANCE * max(rows.shape) * sizes[:1]).sum())
    return whole if whole is not None and rank == rows.shape[1] else directions[:rank].T


def _sampled_gradients(source: Source) -> Array:
    """Gradients at a few more random points than there are variables; their span is the active subspace."""
    graph = Graph()
    variables = graph.inputs(source.dimension)
    program = flatten(graph, gradient(source.polynomial(variables), variables))
    generator = np.random.default_rng(20261)
    points = generator.normal(size=(source.dimension, source.dimension + 4))
    columns = [np.broadcast_to(entry, points.shape[1]) for entry in evaluate(program, list(points))]
    rows = np.array(columns).T
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(sizes > 0, sizes, 1.0))


def _balance(source: Source, degree: int) -> tuple[float, float]:
    """A scale s for the variables and a factor for B such that the homogeneous parts of B(s·y) are near 1.

    Whether the leading part exceeds all others can be told at any scale, however lopsided, and the answer changes once.
    Near that scale all parts can be measured, and a fit through their sizes does the rest.
    """
    generator = np.random.default_rng(20262)
    shape = (16, source.dimension)
    directions = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    turns = np.exp(2j * np.pi * np.arange(degree + 1) / (degree + 1))

    def part_sizes(scale: float) -> Array:
        values = source.values(scale * turns[:, None, None] * directions)
        parts = np.abs(np.fft.fft(values, axis=0)) / (degree + 1)
        return np.asarray(np.sqrt((parts**2).mean(axis=1)))

    def leading_part_leads(exponent: int) -> bool:
        sizes = part_sizes(2.0**exponent)
        return bool(sizes[-1] > sizes[:-1].max())

    high = min(LARGEST_EXPONENT, 480 // degree)  # squares of the parts must not overflow
    low = -high
    if leading_part_leads(low) or not leading_part_leads(high):
        return 1.0, _power_of_two(part_sizes(1.0).max())  # homogeneous, or beyond what doubles can balance
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if leading_part_leads(middle) else (middle, high)
    scale = 2.0**high
    sizes = part_sizes(scale)
    present = sizes > PART_TOLERANCE * sizes.max()
    # log size_k ≈ constant − k · (change of log scale), fitted over the parts that are there.
    scale = _power_of_two(scale * np.exp(-np.polyfit(np.flatnonzero(present), np.log(sizes[present]), 1)[0]))
    return scale, _power_of_two(part_sizes(scale).max())


def _power_of_two(value: float) -> float:
    """The nearest power of two: scaling by it is free of rounding."""
    return float(2.0 ** np.round(np.log2(value)))
