"""Fewer variables, well scaled.

A boundary often depends on few combinations of the inputs: B(x) = b(Qᵀx) with an orthonormal basis Q of
the *active subspace*, the span of all gradients. The part of u orthogonal to it never changes, so the
search for critical points happens in m = rank dimensions. There the coordinates are

    x = u + scale · Q (y − û),      û = Qᵀ(u − centre) / scale,

with the scale chosen so that the homogeneous parts of b have comparable size. Distances are multiplied by
`scale`, nothing else: the change of coordinates is a similarity. The subspace is found exactly (`active_space`), unless the
maker of the polynomial knows it and can say what the polynomial is on it without rounding away its structure.

In a metric M (see `metric`) the columns are orthonormal in it and span M⁻¹ times the active subspace, and û = QᵀM(u − centre) /
scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.boundary.active_space import ActiveSpace
from polymargin.boundary.degree import axis_coefficients
from polymargin.boundary.metric import Metric
from polymargin.boundary.orthonormal import orthonormal_rationals
from polymargin.boundary.sources import AffineSource, Source

Array = NDArray[np.float64]

# Directions weaker than this share of the strongest one are combined in rational arithmetic.
WELL_CONDITIONED = 1e-4
# Axes on which zeros are farther out than this are treated as such.
FAR_AXIS = 16.0
# Lower parts that balance the leading one at a smaller scale than 2^this, in the unit of the forms, come from a rounded centre.
SMALLEST_EXPONENT = -30
# Homogeneous parts smaller than this share of the largest one are rounding noise of the transform.
PART_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Reduction:
    """The affine change of variables and the boundary polynomial after it, divided by `factor`."""

    basis: Array
    centre: Array
    scale: float
    factor: float
    source: Source
    axis_sizes: Array  # of the coefficients of y_j^degree, after division by `factor`
    weakest: float  # strength of the weakest direction of the forms, relative to the strongest
    dual: Array  # (n, m) with dualᵀ basis = 1: the basis itself, or metric times basis

    @property
    def dimension(self) -> int:
        """Return the dimension of the active subspace."""
        return int(self.basis.shape[1])

    @property
    def is_exact(self) -> bool:
        """Return whether the coordinates are the inputs themselves but for a power of two and a shift: nothing was rounded."""
        return self.basis.shape[0] == self.basis.shape[1] and bool((self.basis == np.eye(len(self.basis))).all())

    def coordinates(self, points: Array) -> Array:
        """Return û for points u (…, n)."""
        # A sum of its own for every point: matrix products round differently for one point and for many.
        return np.asarray(np.einsum("...i,ij->...j", points - self.centre, self.dual) / self.scale)

    def lift(self, reduced: NDArray[Any], point: Array) -> NDArray[Any]:
        """Return critical points y (…, m) of one point u (n,), or of one point each (…, n), in the original space."""
        steps = self.scale * (reduced - self.coordinates(point))
        return np.asarray(point + np.einsum("...j,ij->...i", steps, self.basis))


def reduce(source: Source, degree: int, space: ActiveSpace, metric: Metric | None = None) -> Reduction:
    """Return coordinates on the active subspace and their scaling for a polynomial of the given exact degree ≥ 1."""
    known = source.active_subspace() if metric is None else None
    if metric is not None:
        centre = source.centre()
        basis, seen, weakest = _orthonormal_in(metric, space)
        inner = source.on_subspace(seen, centre)
    elif known is not None and known[0].shape[1] == space.dimension:
        basis, inner = known
        centre, weakest = np.zeros(source.dimension), 1.0
    else:
        centre = source.centre()
        basis, inner, weakest = _on_active_space(source, space, centre)
    size = inner.dimension
    unit = _unit(inner)
    scale, factor = _balance(inner.on_subspace(unit * np.eye(size), np.zeros(size)), degree)
    scale *= unit
    scaled = inner.on_subspace(scale * np.eye(size), np.zeros(size))
    pure = np.array(axis_coefficients(scaled, degree))
    factor = _power_of_two(factor / _overreach(pure / factor, degree))
    dual = basis if metric is None else metric.floats @ basis
    return Reduction(basis, centre, scale, factor, scaled, pure / factor, weakest, dual)


def _orthonormal_in(metric: Metric, space: ActiveSpace) -> tuple[Array, Array, float]:
    """Return P (n, m) with PᵀMP = 1 whose columns span M⁻¹ times the active subspace, and how weak its weakest direction is.

    Between them another matrix for which W times it is W P for the rows W of the active space, up to rounding. With W in
    echelon form it has zeros that are exact: what the polynomial does not see on an axis stays unseen.
    """
    size = len(metric.matrix)
    rows = np.eye(size) if space.directions is None else np.array(space.directions, dtype=np.float64)
    pivots = [int(np.argmax(row != 0)) for row in rows]
    in_echelon = len(rows) == space.dimension and bool((rows[:, pivots] == np.eye(len(rows))).all())
    if not in_echelon:
        rows = np.linalg.svd(rows, full_matrices=False)[2][: space.dimension]
    raised = np.linalg.solve(metric.floats, rows.T)
    lower = np.linalg.cholesky(rows @ raised)
    strengths = np.linalg.svd(lower, compute_uv=False)
    basis = np.linalg.solve(lower, raised.T).T
    seen = basis
    if in_echelon:
        seen = np.zeros_like(basis)
        seen[pivots] = lower
    return basis, seen, float(strengths[-1] / strengths[0])


def _on_active_space(source: Source, space: ActiveSpace, centre: Array) -> tuple[Array, Source, float]:
    """Return an orthonormal basis (n, m), the polynomial on it, and how weak the weakest direction is.

    Where the directions are far from orthogonal to each other or of very different strength, the weak ones come from
    differences that floats do not hold: then the basis is made of rational numbers and nothing is rounded.
    """
    rows = np.eye(source.dimension) if (forms := source.forms()) is None else forms[0]
    if space.directions is not None:
        rows = np.array(space.directions, dtype=np.float64)
    _, strengths, axes = np.linalg.svd(rows, full_matrices=False)
    weakest = float(strengths[space.dimension - 1] / strengths[0])
    if weakest > WELL_CONDITIONED:
        basis = np.eye(source.dimension) if space.directions is None else axes[: space.dimension].T
        return basis, source.on_subspace(basis, centre), weakest
    exact = space.directions or [[Fraction(entry) for entry in row] for row in rows.tolist()]
    columns = orthonormal_rationals(exact, space.dimension)
    matrix = tuple(zip(*columns, strict=True))
    offset = tuple(Fraction(entry) for entry in centre.tolist())
    return np.array(matrix, dtype=np.float64), AffineSource(source, matrix, offset), weakest


def _overreach(pure: Array, degree: int) -> float:
    """Return how far out the zeros on an axis are, |a_j y^degree| = 1, where that is far.

    Multipliers of solutions out there are of the size of its square. With B larger by that much they are no larger than the
    solutions themselves, and do not drown the other unknowns in the tracker's norm.
    """
    with np.errstate(divide="ignore"):
        reach = float(np.max(np.where(pure > 0, pure, 1.0) ** (-1 / degree)))
    return reach if reach > FAR_AXIS else 1.0


def _unit(source: Source) -> float:
    """Return a power of two near the length at which the strongest form changes by one; 1 where nothing is known of forms."""
    forms = source.forms()
    largest = 0.0 if forms is None else float(np.abs(forms[0]).max())
    return _power_of_two(1 / largest) if largest > 0 else 1.0


def _balance(source: Source, degree: int) -> tuple[float, float]:
    """Return a scale s for the variables and a factor for B such that the homogeneous parts of B(s·y) are near 1.

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
        largest = max(float(parts.max()), np.finfo(float).tiny)  # taken out: squares may leave the range of doubles
        return np.asarray(largest * np.sqrt(((parts / largest) ** 2).mean(axis=1)))

    def leading_part_leads(exponent: int) -> bool:
        sizes = part_sizes(2.0**exponent)
        return bool(sizes[-1] > sizes[:-1].max())

    high = 480 // degree  # the values must not overflow
    low = max(-high, SMALLEST_EXPONENT)
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
    """Return the nearest power of two: scaling by it is free of rounding."""
    return float(2.0 ** np.round(np.log2(value)))
