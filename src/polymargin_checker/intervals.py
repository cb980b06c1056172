"""Matrices of intervals in doubles, and quadratic forms made of them (docs/theorems.md, section 9).

A matrix is a midpoint and a radius for every entry. Of NumPy, single operations and plain products of matrices are used: an inner
product of length k errs by at most (k + 4) 2⁻⁵³ times the sum of the absolute values of its terms, in any order of summation.
Radii are computed in doubles too; SAFE covers their own rounding, TINY the underflow of a term, LEAST that of a factor. A
form keeps one number per row instead of a radius per entry. What overflows has an infinite radius and proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from polymargin_checker.work import spend_doubles

Floats = NDArray[np.float64]

UNIT = 2.0**-53
SAFE = 1 + 2.0**-20
TINY, LEAST = 2.0**-1000, 2.0**-1020
LARGEST = 2.0**400
"""Of entries in a form; beyond it nothing is said."""
VANISHING = 2.0**-600
"""Covers what underflow does to any entry of a form whose factors are below LARGEST."""
_CONVERTED = 128
"""Products that an entry counts for when it comes from a ball or becomes one."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Every entry of the matrix lies within `radius` of `middle`."""

    middle: Floats
    radius: Floats

    @classmethod
    def exact(cls, values: Floats) -> Intervals:
        """Return doubles as they are."""
        return cls(values, np.zeros(values.shape))

    @classmethod
    def around(cls, values: Sequence[arb], columns: int) -> Intervals:
        """Return enclosures of balls, row by row."""
        spend_doubles(_CONVERTED * len(values), "numbers of a relaxation proof")
        middle = np.array([float(value.mid()) for value in values], dtype=np.float64).reshape(-1, columns)
        pairs = zip(values, middle.ravel().tolist(), strict=True)
        radius = np.array([_above(value - arb(m)) for value, m in pairs], dtype=np.float64)
        return cls(middle, radius.reshape(-1, columns))

    def balls(self) -> list[arb]:
        """Return the entries as balls, row by row."""
        spend_doubles(_CONVERTED * self.middle.size, "numbers of a relaxation proof")
        return [arb(m, r) for m, r in zip(self.middle.ravel().tolist(), self.radius.ravel().tolist(), strict=True)]

    @property
    def shape(self) -> tuple[int, int]:
        return self.middle.shape[0], self.middle.shape[1]

    @property
    def T(self) -> Intervals:
        return Intervals(self.middle.T, self.radius.T)

    def __getitem__(self, place: Any) -> Intervals:
        """Return a part; an index that keeps both axes."""
        return Intervals(self.middle[place], self.radius[place])

    def __neg__(self) -> Intervals:
        return Intervals(-self.middle, self.radius)

    def __add__(self, other: Intervals) -> Intervals:
        middle = self.middle + other.middle
        return Intervals(middle, SAFE * (self.radius + other.radius + UNIT * np.abs(middle)))

    def __sub__(self, other: Intervals) -> Intervals:
        return self + -other

    def __mul__(self, other: Intervals) -> Intervals:
        """Return products entry by entry; axes of length one are repeated. What is exactly zero stays so."""
        middle = self.middle * other.middle
        radius = np.abs(self.middle) * other.radius + self.radius * (np.abs(other.middle) + other.radius)
        return Intervals(middle, np.where(self.used & other.used, SAFE * (radius + UNIT * np.abs(middle)) + TINY, 0.0))

    def __matmul__(self, other: Intervals) -> Intervals:
        (rows, inner), columns = self.shape, other.shape[1]
        spend_doubles(3 * rows * inner * columns, "products of matrices in a relaxation proof")
        left, right = np.abs(self.middle), np.abs(other.middle)
        radius = left @ ((inner + 4) * UNIT * right + np.where(right > 0, LEAST, 0.0) + other.radius)
        if self.radius.any():
            radius += self.radius @ (right + other.radius)
        middle = self.middle @ other.middle
        # What has no term is exactly zero. A sum that overflowed says nothing, not even its sign.
        tiny = TINY * inner * np.outer(self.used.any(axis=1), other.used.any(axis=0))
        return Intervals(middle, np.where(np.isfinite(middle), SAFE * radius + tiny, np.inf))

    @property
    def used(self) -> NDArray[np.bool_]:
        """Return which entries are not exactly zero."""
        return np.array((self.middle != 0) | (self.radius != 0))

    @classmethod
    def stacked(cls, parts: Sequence[Intervals]) -> Intervals:
        """Return matrices of one width below each other."""
        return cls(np.vstack([part.middle for part in parts]), np.vstack([part.radius for part in parts]))

    @classmethod
    def beside(cls, parts: Sequence[Intervals]) -> Intervals:
        """Return matrices of one height beside each other."""
        return cls(np.hstack([part.middle for part in parts]), np.hstack([part.radius for part in parts]))

    def __abs__(self) -> Intervals:
        return Intervals(np.abs(self.middle), self.radius)

    def lower(self) -> Floats:
        """Return numbers that are at most the entries; −∞ where nothing is known."""
        return -(-self).upper()

    def upper(self) -> Floats:
        """Return numbers that are at least the entries; ∞ where nothing is known."""
        ends = np.where(self.radius == 0, self.middle, np.nextafter(self.middle + self.radius, np.inf))
        return np.where(np.isfinite(self.middle) & np.isfinite(ends), ends, np.inf)

    def magnitude(self) -> Floats:
        """Return numbers that are at least the absolute values."""
        return abs(self).upper()

    def norms(self) -> Floats:
        """Return numbers (rows, 1) that are at least the lengths of the rows."""
        largest = self.magnitude()
        squares = (largest * largest).sum(axis=1, keepdims=True)
        lengths: Floats = np.sqrt(squares) * (1 + (self.shape[1] + 8) * UNIT)
        return lengths + np.where(largest.any(axis=1, keepdims=True), 2.0**-500, 0.0)


class IntervalForms:
    """Quadratic forms over ξ = (1, …), one for each functional: Σ weight · row · row and the like is added to them.

    matrix   (count, size, size), of which the lower triangles count
    sizes    (count, size): |M_ij| ≤ √(s_i s_j) for what was added but for row 0
    errors   (count, size): all that is added is off by at most √(e_i e_j)
    border   (count, size): the same of row 0, entry by entry, and how large it became
    """

    def __init__(self, count: int, size: int) -> None:
        spend_doubles(2 * count * size * size, "the forms of a relaxation proof")
        self.matrix = np.zeros((count, size, size))
        self.sizes, self.errors, self.border, self.border_sizes = (np.zeros((count, size)) for _ in range(4))
        self.steps = 0
        self.sound = True

    @property
    def count(self) -> int:
        return len(self.matrix)

    def taken(self, places: NDArray[np.intp]) -> IntervalForms:
        """Return some of the forms, some of them more than once."""
        spend_doubles(len(places) * self.matrix.shape[1] ** 2, "the forms of a relaxation proof")
        chosen = IntervalForms.__new__(IntervalForms)
        chosen.matrix, chosen.steps, chosen.sound = self.matrix[places], self.steps, self.sound
        chosen.sizes, chosen.errors = self.sizes[places], self.errors[places]
        chosen.border, chosen.border_sizes = self.border[places], self.border_sizes[places]
        return chosen

    def row(self, values: Intervals, start: int = 0) -> None:
        """Add Σ_j values_j ξ_(start + j), a row for each form."""
        place = slice(start, start + values.shape[1])
        half = values.middle / 2
        self.matrix[:, 0, place] += half
        self.matrix[:, place, 0] += half
        self.border[:, place] += SAFE * (values.radius / 2) + np.where(half != 0, TINY, 0.0)
        self.border_sizes[:, place] += np.abs(half)
        self.steps += 2

    def linear(self, weights: Intervals, rows: Intervals) -> None:
        """Add Σ_k weights_k rows_k·ξ."""
        used = weights.used.any(axis=0)
        if used.any():
            self.row(weights[:, used] @ rows[used])

    def diagonal(self, values: Intervals, start: int) -> None:
        """Add Σ_j values_j ξ²_(start + j)."""
        used = values.used.any(axis=0)
        place = start + np.flatnonzero(used)
        self.matrix[:, place, place] += values.middle[:, used]
        self._grown(place, np.abs(values.middle[:, used]), values.radius[:, used])

    def squares(self, weights: Intervals, rows: Intervals) -> None:
        """Add Σ_k weights_k (rows_k·ξ)²."""
        self._products(weights, rows, rows)

    def products(self, weights: Intervals, left: Intervals, right: Intervals) -> None:
        """Add Σ_k weights_k (left_k·ξ)(right_k·ξ)."""
        self._products(weights, left, right)

    def block(self, weights: Intervals, matrix: Intervals, start: int) -> None:
        """Add weight · matrix, which is symmetric, in the variables from `start` on; weights (count, 1)."""
        side = matrix.shape[0]
        spend_doubles(2 * self.count * side * side, "the forms of a relaxation proof")
        place = slice(start, start + side)
        self.matrix[:, place, place] += weights.middle[:, :, None] * matrix.middle
        factors = weights.magnitude()
        largest, radius = (
            np.maximum(part.max(axis=0), part.max(axis=1)) for part in (matrix.magnitude(), matrix.radius)
        )
        self._bounded(factors, largest)
        size, used = factors * largest, matrix.used.any(axis=0) | matrix.used.any(axis=1)
        error = factors * radius + weights.radius * largest + 2 * UNIT * size
        self._grown(start + np.flatnonzero(used), size[:, used], error[:, used])

    def _products(self, weights: Intervals, left: Intervals, right: Intervals) -> None:
        same, (height, width) = left is right, left.shape
        used = weights.used.any(axis=0)
        if not used.all():
            weights, left = weights[:, used], left[used]
            right, height = left if same else right[used], int(used.sum())
        if not height:
            return
        spend_doubles((1 if same else 2) * self.count * height * width * width, "the forms of a relaxation proof")
        place = slice(0, width)
        for index, factors in enumerate(weights.middle):
            part = left.middle.T @ (factors[:, None] * right.middle)
            if not same:
                part = (part + part.T) / 2
            self.matrix[index, place, place] += part
        self._bounded(left.magnitude(), right.magnitude(), weights.magnitude())
        sides = [left] if same else [left, right]
        squares = np.mean([side.magnitude() ** 2 for side in sides], axis=0)
        radii = np.mean([side.radius**2 for side in sides], axis=0)
        factors = weights.magnitude()
        size, error = factors @ squares, factors @ radii
        rounding = (height + 8) * UNIT * size + weights.radius @ squares
        if error.any():
            scale = np.sqrt(np.max(error / np.maximum(size, TINY), axis=1, keepdims=True)) + UNIT
            rounding = rounding + scale * size + (1 + 1 / scale) * error
        seen = np.any([side.used.any(axis=0) for side in sides], axis=0)  # not of squares, which may vanish
        self._grown(np.flatnonzero(seen), size[:, seen], rounding[:, seen])

    def _bounded(self, *parts: Floats) -> None:
        if not all(part.max(initial=0.0) <= LARGEST for part in parts):
            self.sound = False

    def _grown(self, place: NDArray[np.int64], size: Floats, error: Floats) -> None:
        self.sizes[:, place] += np.maximum(SAFE * size, TINY)
        self.errors[:, place] += SAFE * error + VANISHING
        self.steps += 1

    def definite(self) -> bool:
        """Return True only if every form is positive definite in the variables that it has."""
        return bool(self.positive().all())

    def positive(self) -> NDArray[np.bool_]:
        """Return which forms are surely positive definite in the variables that any of them has."""
        count, size = self.sizes.shape
        spend_doubles(count * (size**3 // 3 + 8 * size * size), "Cholesky factors in a relaxation proof")
        rounding = self.steps * UNIT
        errors = SAFE * (self.errors + rounding * self.sizes)
        # Row 0 holds what rows put there and what squares do; both are in its size.
        border = SAFE * (self.border + rounding * self.border_sizes)
        diagonal = np.einsum("kii->ki", self.matrix)
        free = (self.sizes == 0).all(axis=0) & (self.border_sizes == 0).all(axis=0) & (border == 0).all(axis=0)
        free[0] = False
        usable: NDArray[np.bool_] = (diagonal[:, ~free] > 0).all(axis=1) & np.isfinite(self.matrix).all(axis=(1, 2))
        usable &= self.sound
        exponents = np.frexp(diagonal[:, ~free])[1] // 2
        usable &= np.abs(exponents).max(axis=1, initial=0) <= 400
        if not usable.any():
            return usable
        scale = np.zeros((count, size))
        scale[:, ~free] = np.ldexp(1.0, -np.where(usable[:, None], exponents, 0))
        spread = (errors * scale**2).sum(axis=1) + 2 * scale[:, 0] * np.sqrt(((border * scale) ** 2).sum(axis=1))
        scaled = self.matrix * scale[:, :, None]
        scaled *= scale[:, None, :]
        trace = np.einsum("kii->k", scaled)
        shift = SAFE * (spread + 4 * (size + 8) * UNIT * trace) + 2.0**-200
        usable &= np.isfinite(shift) & (shift < 1)
        place = np.arange(size)
        scaled[:, place, place] += np.where(free, 1.0, -np.where(usable, shift, 0.0)[:, None])
        usable[usable] = _have_factors(scaled[usable])
        return usable


def _have_factors(matrices: Floats) -> NDArray[np.bool_]:
    """Return for which matrices Cholesky's algorithm runs to its end."""
    try:
        factors = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.zeros(1, dtype=bool)
        middle = len(matrices) // 2
        return np.concatenate([_have_factors(matrices[:middle]), _have_factors(matrices[middle:])])
    good = np.isfinite(factors).all(axis=(1, 2)) & (np.einsum("kii->ki", factors) > 0).all(axis=1)
    return np.asarray(good)


def _above(value: arb) -> float:
    """Return a double that is not below the absolute value."""
    return 0.0 if value == 0 else float(np.nextafter(float(value.abs_upper()), np.inf))
