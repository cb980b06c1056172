"""The quadric in the eigenbasis of A, seen from a point u.

With x = u + V δ, A = V diag(σ) Vᵀ, β = B(u) and g = Vᵀ ∇B(u),

    B(x) = β + Σ_i g_i δ_i + Σ_i σ_i δ_i²          and          ‖x − u‖ = ‖δ‖.

Everything later needs only (σ, g, β). For a sum of squares of h < n hidden values, Wᵀ = Q R with Q orthonormal and
A = Q (R diag(α) Rᵀ) Qᵀ: one h×h eigenproblem, and β and g come from the weights at O(n h) per point.

Rounding. Eigenvalues are known to about ε‖A‖; those below EIGENVALUE_TOLERANCE·m·(size of A) are taken as zero. β and the g_i
are known up to the rounding of the terms they are summed from; what is smaller than NOISE times that is taken as zero.
Both change the coefficients of B by no more than computing them did.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from polymargin import _core
from polymargin.continuation.tracker import instruction_set
from polymargin.quadric.form import QuadricForm
from polymargin.quadric.squares import Array, SquareSum
from polymargin.quadric.structure import QuadricStructure

EPSILON = float(np.finfo(np.float64).eps)
# Times the number of reduced variables m and the size of A: an eigenvalue below it is zero. LAPACK's error is below m·ε.
EIGENVALUE_TOLERANCE = 4 * EPSILON
# Relative to the largest eigenvalue: closer ones are equal when distinct eigenvalues are counted.
CLUSTER_TOLERANCE = 1e-11
# Times the sizes of the summed terms: a gradient component or a value below it is zero.
NOISE = 4 * EPSILON
# Times the sizes of the summed terms: a critical value of B below it is zero.
TOUCH_TOLERANCE = 64 * EPSILON


# Doubles in the widest registers; cpp/interface.hpp has the same number.
PADDING = 8
# A number this many times larger than its rounding error has the sign that it seems to have.
CLEAR = 1e3


@dataclass(frozen=True, eq=False)
class Views:
    """B as seen from points u: `values` β (p,), `gradients` g (p, m); `value_sizes` (p,) is what β was summed from."""

    values: Array
    gradients: Array
    value_sizes: Array


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues (m,) rising, with tiny ones set to zero; `rotation` (m, m) and `basis` (n, m) or None for the identity.

    In the directions outside the basis B is constant: A and ∇B vanish there.
    """

    source: QuadricForm | SquareSum
    eigenvalues: Array
    tolerance: float
    rotation: Array
    basis: Array | None
    slope_map: Array
    factors: Factors | None = None  # of the weights of a sum of squares
    distinct: int | None = None  # nonzero eigenvalues, where their number is known exactly

    @classmethod
    def of_form(cls, form: QuadricForm) -> Spectrum:
        """Compute the spectrum from coefficients: one n×n eigenproblem."""
        eigenvalues, rotation = np.linalg.eigh(form.matrix)
        tolerance = EIGENVALUE_TOLERANCE * form.dimension * float(np.abs(eigenvalues).max())
        return cls(form, _cleaned(eigenvalues, tolerance), tolerance, rotation, None, rotation.T @ form.linear)

    @classmethod
    def of_squares(cls, squares: SquareSum, factors: Factors | None = None) -> Spectrum:
        """Compute the spectrum from Σ α_j y_j² + …; `factors` of the weights are shared by the pairs of a network."""
        factors = factors or Factors.of(squares.weights)
        columns = factors.columns
        core = (columns * squares.squares) @ columns.T
        eigenvalues, rotation = np.linalg.eigh((core + core.T) / 2)
        size = float(np.abs(squares.squares) @ (columns**2).sum(axis=0))
        tolerance = EIGENVALUE_TOLERANCE * len(core) * size
        slope_map = rotation.T @ columns
        return cls(squares, _cleaned(eigenvalues, tolerance), tolerance, rotation, factors.basis, slope_map, factors)

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return self.source.dimension

    @property
    def kernel_dimension(self) -> int:
        """Return the dimension of the kernel of A."""
        return self.dimension - int(np.count_nonzero(self.eigenvalues))

    @property
    def cluster_tolerance(self) -> float:
        """Return the gap below which eigenvalues count as equal."""
        return max(2 * self.tolerance, CLUSTER_TOLERANCE * float(np.abs(self.eigenvalues).max()))

    def with_structure(self, structure: QuadricStructure) -> Spectrum:
        """Return the spectrum with the exact numbers of zero and of distinct nonzero eigenvalues."""
        smallest_first = np.argsort(np.abs(self.eigenvalues), kind="stable")
        eigenvalues = self.eigenvalues.copy()
        eigenvalues[smallest_first[: len(eigenvalues) - structure.rank]] = 0.0
        return replace(self, eigenvalues=eigenvalues, distinct=structure.distinct)

    def clusters(self) -> list[NDArray[np.intp]]:
        """Return the indices of each distinct nonzero eigenvalue; chains of close ones count as one."""
        nonzero = np.flatnonzero(self.eigenvalues)
        if not len(nonzero):
            return []
        gaps = np.diff(self.eigenvalues[nonzero])
        if self.distinct is None:
            jumps = np.flatnonzero(gaps > self.cluster_tolerance)
        else:
            jumps = np.sort(np.argsort(-gaps, kind="stable")[: self.distinct - 1])
        return list(np.split(nonzero, jumps + 1))

    @cached_property
    def kernel_slopes(self) -> Array:
        """Return the components of g on the kernel of A; they do not depend on the point.

        The computed kernel vectors err by about (tolerance/σ_k) in the direction of σ_k: what that can account for is zero.
        """
        flat = self.eigenvalues == 0
        _, gradients, _, sizes = self._raw(np.zeros((1, self.dimension)))
        slopes: Array = gradients[0][flat]
        centre = gradients[0][~flat] / self.eigenvalues[~flat]
        noise = NOISE * float(sizes[0]) + self.tolerance * float(np.linalg.norm(centre))
        return slopes if np.linalg.norm(slopes) > noise else np.zeros_like(slopes)

    @cached_property
    def least(self) -> float:
        """Return S, the value of B at its critical points, if the kernel slopes vanish.

        B is evaluated at such a point itself, where its terms are smallest; what their rounding can account for is zero.
        """
        curved = self.eigenvalues != 0
        point = np.zeros((1, self.dimension))
        for _ in range(2):
            _, gradients, _, _ = self._raw(point)
            steps = np.zeros_like(gradients)
            steps[:, curved] = -gradients[:, curved] / (2 * self.eigenvalues[curved])
            point = point + self.lift(steps)
        values, _, sizes, _ = self._raw(point)
        return float(values[0]) if abs(values[0]) > TOUCH_TOLERANCE * sizes[0] else 0.0

    @cached_property
    def is_clear(self) -> bool:
        """Return whether all signs that matter are beyond rounding: those of the eigenvalues, and that of S where it decides."""
        sizes = np.abs(self.eigenvalues)
        if not (sizes > CLEAR * self.tolerance).all():
            return False
        if self.eigenvalues[0] < 0 < self.eigenvalues[-1]:
            return True
        centre = -self.slope_at_origin / (2 * self.eigenvalues)
        value_sizes = self._raw(self.lift(centre[None]))[2]
        return bool(abs(self.least) > CLEAR * NOISE * value_sizes[0])

    @property
    def slope_at_origin(self) -> Array:
        """Return g at the origin."""
        return np.asarray(self._raw(np.zeros((1, self.dimension)))[1][0])

    def views(self, points: Array) -> Views:
        """Return (β, g) at points (p, n)."""
        values, gradients, value_sizes, gradient_sizes = self._raw(points)
        values = np.where(np.abs(values) <= NOISE * value_sizes, 0.0, values)
        gradients[np.abs(gradients) <= NOISE * gradient_sizes[:, None]] = 0.0
        if (flat := self.eigenvalues == 0).any():
            gradients[:, flat] = self.kernel_slopes
        return Views(values, gradients, value_sizes)

    def _raw(self, points: Array) -> tuple[Array, Array, Array, Array]:
        """Return β, g, and the sizes of the terms they are summed from."""
        norms = lengths(points)
        square, linear, constant = self.sizes
        values, gradients = _core.view(np.ascontiguousarray(points), **self.laid_out, instruction_set=instruction_set())
        return values, gradients, (square * norms + linear) * norms + constant, 2 * square * norms + linear

    @cached_property
    def sizes(self) -> tuple[float, float, float]:
        """Return the sizes of the terms of B as coefficients of a polynomial in ‖x‖: |y_j| ≤ ‖w_j‖ ‖x‖ + |s_j|."""
        source = self.source
        if isinstance(source, QuadricForm):
            largest = float(np.abs(self.eigenvalues).max())
            return largest, float(np.linalg.norm(source.linear)), abs(source.constant)
        rows = np.linalg.norm(self.slope_map, axis=0)  # those of the weights: a rotation of them
        bias, squares, slopes = np.abs(source.bias), np.abs(source.squares), np.abs(source.slopes)
        return (
            float(rows @ (squares * rows)),
            float(rows @ (2 * squares * bias + slopes)),
            float(bias @ (squares * bias + slopes)) + abs(source.constant),
        )

    @cached_property
    def laid_out(self) -> dict[str, Any]:
        """Return B in the core's layout (cpp/interface.hpp: Quadric)."""
        common = {"eigenvalues": self.eigenvalues, "sizes": np.array(self.sizes), "constant": self.source.constant}
        if isinstance(self.source, QuadricForm):
            form = {"weights": padded(self.source.matrix), "slopes": padded(self.source.linear), "bends": None}
            return {**form, "bias": padded(self.slope_map), "map": padded(self.rotation), **common}
        squares, factors = self.source, self.factors
        assert factors is not None
        bends, slopes = padded(squares.squares), padded(squares.slopes)
        mapped = {"bias": padded(squares.bias), "map": padded(self.slope_map.T)}
        return {"weights": factors.padded_weights, "bends": bends, "slopes": slopes, **mapped, **common}

    def lift(self, steps: Array) -> Array:
        """Return V δ for steps δ (p, m), each row independently."""
        wanted = instruction_set()
        inner = _core.product(np.ascontiguousarray(steps), self.padded_rotation, wanted)[:, : len(self.eigenvalues)]
        basis = None if self.factors is None else self.factors.padded_basis
        return (
            inner if basis is None else _core.product(np.ascontiguousarray(inner), basis, wanted)[:, : self.dimension]
        )

    @cached_property
    def padded_rotation(self) -> Array:
        """Return the rotation from the eigenbasis in the core's layout."""
        return padded(self.rotation.T)


def spectrum_of(source: QuadricForm | SquareSum) -> Spectrum:
    """Return the spectrum by the cheaper way for the source."""
    return Spectrum.of_form(source) if isinstance(source, QuadricForm) else Spectrum.of_squares(source)


@dataclass(frozen=True, eq=False)
class Factors:
    """Wᵀ = Q R with `basis` Q (n, h) orthonormal where h < n; no basis and R = Wᵀ otherwise. Padded: as the core takes them."""

    basis: Array | None
    columns: Array
    padded_weights: Array
    padded_basis: Array | None

    @classmethod
    def of(cls, weights: Array) -> Factors:
        """Factorise the weights of the first layer."""
        transposed = np.ascontiguousarray(weights.T)
        if len(weights) >= weights.shape[1]:
            return cls(None, transposed, padded(transposed), None)
        basis, columns = scipy.linalg.qr(transposed, mode="economic", check_finite=False)
        return cls(basis, columns, padded(transposed), padded(basis.T))


def padded(array: Array) -> Array:
    """Pad every row with zeros to a multiple of the core's widest registers."""
    result = np.zeros((*array.shape[:-1], -(-array.shape[-1] // PADDING) * PADDING))
    result[..., : array.shape[-1]] = array
    return result


def lengths(rows: Array) -> Array:
    """Return ‖·‖ of every row."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def _cleaned(eigenvalues: Array, tolerance: float) -> Array:
    return np.where(np.abs(eigenvalues) <= tolerance, 0.0, eigenvalues)
