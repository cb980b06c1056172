"""Matrices of doubles with a radius for every entry.

Of NumPy only sums and products of matrices are used, and what is needed of them is that an inner product of length k is
computed from its terms by k multiplications and additions in some order: then its error is at most (k + 4) 2⁻⁵³ times the sum
of the absolute values of the terms (docs/theorems.md, section 9). Radii are computed in doubles too; SAFE covers their own
rounding, TINY the underflow of a term, LEAST that of a factor, which the other factor may magnify. Work is counted in products
of 128 bits, each of which takes as long as `_AT_ONCE` of doubles and their radii in a product of matrices. This module is
loaded for large matrices only, and not at all by `--exact`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, fmpq

from polymargin_checker.float_cholesky import surely_positive_definite
from polymargin_checker.float_forms import FloatForm, Squares
from polymargin_checker.float_numbers import above, nearest
from polymargin_checker.float_patches import Patches, patches_of
from polymargin_checker.work import SHORTEST, spend

UNIT = 2.0**-53
SAFE = 1 + 2.0**-20
TINY = 2.0**-1000
LEAST = 2.0**-1020
MANY = 0.5
"""Of all entries: so many zeros are looked at."""
NARROW, FEWER = 256, 8
"""Columns at least, and how many times as many products have to be saved, before rows are taken patch by patch."""

_AT_ONCE = 64
_ENTRY, _READ, _RATIONAL, _BALL = 1, 16, 256, 128
"""Products that an entry counts for: in a sum or product entry by entry, read from a list, from a rational, made a ball."""


def _spend(products: int) -> None:
    spend(products, SHORTEST, "the matrices of doubles of a lifted proof")


@dataclass(frozen=True, eq=False)
class Floats:
    """Every entry lies within `radius` of `middle`."""

    middle: np.ndarray[Any, np.dtype[np.float64]]
    radius: np.ndarray[Any, np.dtype[np.float64]]

    @classmethod
    def of(cls, rows: int, columns: int, values: Sequence[Any]) -> Floats:
        _spend(_READ * len(values))
        if isinstance(values, array) or all(isinstance(value, float) for value in values):
            middle = np.array(values, dtype=np.float64).reshape(rows, columns)
            return cls(middle, np.zeros_like(middle))
        _spend(_RATIONAL * len(values))
        pairs = [nearest(value) for value in values]
        middle = np.array([pair[0] for pair in pairs], dtype=np.float64).reshape(rows, columns)
        return cls(middle, np.array([pair[1] for pair in pairs], dtype=np.float64).reshape(rows, columns))

    @classmethod
    def identity(cls, side: int) -> Floats:
        _spend(_ENTRY * side * side)
        return cls(np.eye(side), np.zeros((side, side)))

    @property
    def shape(self) -> tuple[int, int]:
        return self.middle.shape[0], self.middle.shape[1]

    @property
    def transpose(self) -> Floats:
        return Floats(self.middle.T, self.radius.T)

    def __add__(self, other: Floats) -> Floats:
        _spend(_ENTRY * self.middle.size)
        middle = self.middle + other.middle
        return Floats(middle, SAFE * (self.radius + other.radius + UNIT * np.abs(middle)) + TINY)

    def __matmul__(self, other: Floats) -> Floats:
        rows, columns = self.shape[0], other.shape[1]
        _spend(rows * self.shape[1] * columns // _AT_ONCE + _ENTRY * rows * columns)
        left, right = np.abs(self.middle), np.abs(other.middle)
        rounding = (self.shape[1] + 4) * UNIT
        radius = left @ (rounding * right + np.where(right > 0, LEAST, 0.0) + other.radius)
        if self._wide:
            radius = radius + self.radius @ (right + other.radius)
        tiny: Any = TINY * self.shape[1]
        if self._zeros > MANY * self.middle.size and other._zeros > MANY * other.middle.size:
            _spend(self.middle.size * other.shape[1] // _AT_ONCE)
            # Inner products without a term are zero; that is worth knowing for convolutions.
            tiny = tiny * ((self._pattern @ other._pattern) > 0)
        middle = self.middle @ other.middle
        # A sum that overflowed says nothing, not even its sign.
        return Floats(middle, np.where(np.isfinite(middle), SAFE * radius + tiny, np.inf))

    @cached_property
    def _pattern(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """One where an entry may differ from zero, zero elsewhere."""
        return np.asarray((self.middle != 0) | (self.radius != 0), dtype=np.float32)

    @cached_property
    def _zeros(self) -> int:
        return self.middle.size - int(np.count_nonzero(self._pattern))

    def entrywise(self, other: Floats) -> Floats:
        _spend(_ENTRY * self.middle.size)
        middle = self.middle * other.middle
        radius = np.abs(self.middle) * other.radius + self.radius * (np.abs(other.middle) + other.radius)
        return Floats(middle, SAFE * (radius + UNIT * np.abs(middle)) + np.where(self._pattern > 0, TINY, 0.0))

    def inverse(self) -> Floats | None:
        _spend(_ENTRY * self.middle.size)
        least = self.middle - self.radius * SAFE
        if not ((least > 2.0**-500) & (self.middle < 2.0**500)).all():  # products neither vanish nor overflow
            return None
        middle = 1 / self.middle
        return Floats(middle, SAFE * (self.radius / (self.middle * least) + UNIT * middle) + TINY)

    def weighted_squares(self, weights: Floats) -> Floats:
        side = self.shape[1]
        middle, radius = np.zeros((side, side)), np.zeros((side, side))
        for rows, columns in self._groups:
            _spend(2 * _ENTRY * (len(rows) + len(columns)) * len(columns))
            block = Floats(self.middle[np.ix_(rows, columns)], self.radius[np.ix_(rows, columns)])
            term = block.transpose @ block.entrywise(Floats(weights.middle[rows], weights.radius[rows]))
            place = np.ix_(columns, columns)
            middle[place] += term.middle
            radius[place] += term.radius + UNIT * np.abs(middle[place])
        return Floats(middle, SAFE * radius + TINY)

    @cached_property
    def _groups(self) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Rows with the same zeros, and where they are not zero; all rows and columns where there are few zeros."""
        everything = [(np.arange(self.shape[0]), np.arange(self.shape[1]))]
        if self._zeros <= MANY * self.middle.size:
            return everything
        _spend(_ENTRY * self.middle.size)
        found: dict[bytes, list[int]] = {}
        for number, line in enumerate(np.packbits(self._pattern != 0, axis=1)):
            found.setdefault(line.tobytes(), []).append(number)
        groups = [(np.array(rows), np.flatnonzero(self._pattern[rows[0]])) for rows in found.values()]
        return groups if 4 * len(groups) <= self.shape[0] else everything

    def form(self, weights: Floats) -> FloatForm:
        """Σ_j d_j a_j a_jᵀ over the rows a_j, for a column d, as a quadratic form."""
        rows, side = self.shape
        stack = self._patches
        if stack is None:
            _spend(rows * side * side // (2 * _AT_ONCE) + rows * side)
            middle = self.middle.T @ (self.middle * weights.middle)
        else:
            _spend(side * side // 4 + sum(patches.work for patches in stack) // 32)
            flat = np.zeros(side * side)
            for patches in stack:
                flat += patches.weighted(weights.middle[:, 0], side)
            middle = flat.reshape(side, side)
        factors, errors = np.abs(weights.middle[:, 0]), weights.radius[:, 0]
        return self._squares.form(middle, (rows + 4) * UNIT, factors, errors)

    def congruence(self, core: Floats) -> FloatForm:
        """SᵀHS for a symmetric H, as a quadratic form."""
        rows, side = self.shape
        _spend(rows * side * (rows + side) // (2 * _AT_ONCE) + 2 * _ENTRY * rows * rows)
        middle = self.middle.T @ (core.middle @ self.middle)
        # yᵀ|H|y ≤ Σ_kl |H_kl| (y_k² + y_l²)/2
        weights, errors = (
            SAFE * np.maximum(table.sum(axis=0), table.sum(axis=1)) for table in (np.abs(core.middle), core.radius)
        )
        return self._squares.form(middle, 2 * (rows + 4) * UNIT, weights, errors)

    def paired_form(self, other: Floats, own: Floats, mixed: Floats, others: Floats) -> FloatForm:
        """Σ_j own_j a_j a_jᵀ + mixed_j (a_j b_jᵀ + b_j a_jᵀ)/2 + others_j b_j b_jᵀ over the rows of one and of the other."""
        rows, side = self.shape
        _spend(2 * rows * side * side // (2 * _AT_ONCE) + 4 * _ENTRY * rows * side)
        half = Floats(mixed.middle / 2, mixed.radius / 2 + TINY)
        a, b = self.middle, other.middle
        middle = a.T @ (own.middle * a + half.middle * b) + b.T @ (half.middle * a + others.middle * b)
        # SᵀHS for S = [a; b] and H = [[own, mixed/2], [mixed/2, others]]
        stack = Floats.stacked([self, other])
        weights, errors = (
            SAFE * np.concatenate([np.abs(first) + np.abs(second), np.abs(third) + np.abs(second)])[:, 0]
            for first, second, third in (
                (own.middle, half.middle, others.middle),
                (own.radius, half.radius, others.radius),
            )
        )
        return stack._squares.form(middle, (2 * rows + 8) * UNIT, weights, errors)

    @cached_property
    def _squares(self) -> Squares:
        _spend(self.middle.size // 2)
        return Squares.of(self.middle, self.radius)

    @cached_property
    def _patches(self) -> list[Patches] | None:
        """Rows with the same zeros together, where that saves most of the work."""
        if self.shape[1] < NARROW or self._zeros <= MANY * self.middle.size:
            return None
        _spend(_ENTRY * self.middle.size)
        return patches_of(self.middle, self.middle.size * self.shape[1] // FEWER)

    def row(self, index: int) -> Floats:
        return Floats(self.middle[index][:, None], self.radius[index][:, None])

    def support(self, rows: Sequence[int]) -> list[int]:
        chosen = np.array(rows, dtype=int)
        _spend(len(chosen) * self.shape[1] // _AT_ONCE + self.shape[1])
        return [int(column) for column in np.flatnonzero(self._pattern[chosen].any(axis=0))]

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> Floats:
        _spend(len(rows) * len(columns) // 2)
        place = np.ix_(np.array(rows, dtype=int), np.array(columns, dtype=int))
        middle = self.middle[place]
        return Floats(middle, self.radius[place] if self._wide else np.zeros_like(middle))

    @cached_property
    def _wide(self) -> bool:
        """Whether some radius is not zero."""
        return bool(self.radius.any())

    def times(self, factor: fmpq) -> Floats:
        return self.entrywise(Floats.of(1, 1, [factor]))

    def row_norms(self) -> list[arb]:
        _spend(_ENTRY * self.middle.size + _BALL * len(self.middle))
        largest = (np.abs(self.middle) + self.radius) * (1 + 4 * UNIT)
        lengths = np.sqrt((largest * largest).sum(axis=1)) * (1 + (self.shape[1] + 8) * UNIT) + 2.0**-500
        return [arb(value) for value in lengths.tolist()]

    def row_largest(self) -> list[arb]:
        _spend(_ENTRY * self.middle.size)
        largest = (np.abs(self.middle) + self.radius).max(axis=1, initial=0.0) * (1 + 4 * UNIT)
        return [arb(value) for value in largest.tolist()]

    @property
    def absolute(self) -> Floats:
        _spend(_ENTRY * self.middle.size)
        return Floats(np.abs(self.middle), self.radius)

    @classmethod
    def column(cls, values: Sequence[arb]) -> Floats:
        """Doubles near the balls, and how far their contents are at most."""
        _spend(_BALL * len(values))
        middle = [float(value) for value in values]
        radius = [above(abs(value - arb(m))) for value, m in zip(values, middle, strict=True)]
        return cls(np.array(middle, dtype=np.float64)[:, None], np.array(radius, dtype=np.float64)[:, None])

    def entries(self) -> list[arb]:
        _spend(_BALL * self.middle.size)
        return [arb(m, r) for m, r in zip(self.middle.ravel().tolist(), self.radius.ravel().tolist(), strict=True)]

    @classmethod
    def stacked(cls, parts: Sequence[Floats]) -> Floats:
        _spend(_ENTRY * sum(part.middle.size for part in parts))
        return cls(np.vstack([part.middle for part in parts]), np.vstack([part.radius for part in parts]))

    @classmethod
    def symmetric(cls, blocks: Sequence[Sequence[Floats]]) -> Floats:
        sizes = [line[0].shape[0] for line in blocks]
        ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
        _spend(2 * _ENTRY * ends[-1] ** 2)
        middle, radius = np.zeros((ends[-1], ends[-1])), np.zeros((ends[-1], ends[-1]))
        for i, line in enumerate(blocks):
            rows = slice(ends[i] - sizes[i], ends[i])
            for j, block in enumerate(line):
                columns = slice(ends[j] - sizes[j], ends[j])
                middle[rows, columns], radius[rows, columns] = block.middle, block.radius
        lower, lower_radius = np.tril(middle), np.tril(radius)
        return cls(lower + np.tril(middle, -1).T, lower_radius + np.tril(radius, -1).T)

    def positive_definite(self) -> bool:
        side = len(self.middle)
        _spend(side**3 // (4 * _AT_ONCE) + 2 * _ENTRY * side * side)
        return surely_positive_definite(self.middle, self.radius)
