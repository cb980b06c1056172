"""Matrices of balls, and quadratic forms made of them: the names of `intervals`, in python-flint's ball arithmetic.

For `--exact`: no sum or product is made in floating point. The working precision is the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from polymargin_checker.definite import positive_definite
from polymargin_checker.work import spend

Floats = NDArray[np.float64]

_ENTRY = 16
"""Products that an entry counts for, for it is an object of Python."""
_WORK = "balls of a relaxation proof"


@dataclass(frozen=True, eq=False)
class BallMatrix:
    """The entries as objects (rows, columns)."""

    entries: NDArray[Any]

    @classmethod
    def exact(cls, values: Floats) -> BallMatrix:
        """Return doubles as they are."""
        return cls._of([arb(value) for value in values.ravel().tolist()], *values.shape)

    @classmethod
    def around(cls, values: Sequence[arb], columns: int) -> BallMatrix:
        """Return balls, row by row."""
        return cls._of(list(values), len(values) // columns, columns)

    @classmethod
    def _of(cls, values: list[arb], rows: int, columns: int) -> BallMatrix:
        spend(_ENTRY * len(values), ctx.prec, _WORK)
        entries = np.empty((rows, columns), dtype=object)
        entries.ravel()[:] = values
        return cls(entries)

    def balls(self) -> list[arb]:
        """Return the entries, row by row."""
        return list(self.entries.ravel().tolist())

    @property
    def shape(self) -> tuple[int, int]:
        return self.entries.shape[0], self.entries.shape[1]

    @property
    def T(self) -> BallMatrix:
        return BallMatrix(self.entries.T)

    def __getitem__(self, place: Any) -> BallMatrix:
        """Return a part; an index that keeps both axes."""
        return BallMatrix(self.entries[place])

    def __neg__(self) -> BallMatrix:
        return BallMatrix(-self.entries)

    def __add__(self, other: BallMatrix) -> BallMatrix:
        return self._counted(self.entries + other.entries)

    def __sub__(self, other: BallMatrix) -> BallMatrix:
        return self._counted(self.entries - other.entries)

    def __mul__(self, other: BallMatrix) -> BallMatrix:
        """Return products entry by entry; axes of length one are repeated."""
        return self._counted(self.entries * other.entries)

    def __abs__(self) -> BallMatrix:
        return self._counted(np.abs(self.entries))

    def _counted(self, entries: NDArray[Any]) -> BallMatrix:
        spend(_ENTRY * entries.size, ctx.prec, _WORK)
        return BallMatrix(entries)

    def __matmul__(self, other: BallMatrix) -> BallMatrix:
        (rows, inner), columns = self.shape, other.shape[1]
        spend(rows * inner * columns, ctx.prec, _WORK)
        if not inner:
            return self._of([arb(0)] * (rows * columns), rows, columns)
        return self._of((self._matrix * other._matrix).entries(), rows, columns)

    @cached_property
    def _matrix(self) -> arb_mat:
        return arb_mat(*self.shape, self.balls())

    @classmethod
    def stacked(cls, parts: Sequence[BallMatrix]) -> BallMatrix:
        """Return the matrices of one width below each other."""
        return cls(np.vstack([part.entries for part in parts]))

    @classmethod
    def beside(cls, parts: Sequence[BallMatrix]) -> BallMatrix:
        """Return the matrices of one height beside each other."""
        return cls(np.hstack([part.entries for part in parts]))

    @property
    def used(self) -> NDArray[np.bool_]:
        """Return which entries are not exactly zero."""
        return self._ends(lambda entry: float(entry != 0)).astype(bool)

    def lower(self) -> Floats:
        """Return numbers that are at most the entries; −∞ where nothing is known."""
        return self._ends(lambda entry: -_above(-entry))

    def upper(self) -> Floats:
        """Return numbers that are at least the entries; ∞ where nothing is known."""
        return self._ends(_above)

    def magnitude(self) -> Floats:
        """Return numbers that are at least the absolute values."""
        return abs(self).upper()

    def norms(self) -> Floats:
        """Return numbers (rows, 1) that are at least the lengths of the rows."""
        squares = self * self
        sums = [sum(row, arb(0)) for row in squares.entries.tolist()]
        return self._of([arb(max(value.upper(), arb(0))).sqrt() for value in sums], len(sums), 1).upper()

    def _ends(self, end: Callable[[Any], float]) -> Floats:
        return np.array([end(entry) for entry in self.balls()], dtype=np.float64).reshape(self.shape)


class BallForms:
    """Quadratic forms over ξ = (1, …), one for each functional: Σ weight · row · row and the like is added to them."""

    def __init__(self, count: int, size: int) -> None:
        spend(_ENTRY * count * size * size, ctx.prec, _WORK)
        self.size = size
        self.matrices = [arb_mat(size, size) for _ in range(count)]
        self.seen = np.zeros(size, dtype=bool)

    @property
    def count(self) -> int:
        return len(self.matrices)

    def taken(self, places: NDArray[np.intp]) -> BallForms:
        """Return some of the forms, some of them more than once."""
        chosen = BallForms(0, self.size)
        chosen.matrices = [arb_mat(self.matrices[place]) for place in places.tolist()]
        chosen.seen = self.seen.copy()
        return chosen

    def row(self, values: BallMatrix, start: int = 0) -> None:
        """Add Σ_j values_j ξ_(start + j), a row for each form."""
        self.seen[start : start + values.shape[1]] |= values.used.any(axis=0)
        for matrix, row in zip(self.matrices, values.entries.tolist(), strict=True):
            for place, value in enumerate(row, start=start):
                matrix[0, place] += value / 2
                matrix[place, 0] += value / 2

    def linear(self, weights: BallMatrix, rows: BallMatrix) -> None:
        """Add Σ_k weights_k rows_k·ξ."""
        self.row(weights @ rows)

    def diagonal(self, values: BallMatrix, start: int) -> None:
        """Add Σ_j values_j ξ²_(start + j)."""
        self.seen[start : start + values.shape[1]] = True
        for matrix, row in zip(self.matrices, values.entries.tolist(), strict=True):
            for place, value in enumerate(row, start=start):
                matrix[place, place] += value

    def squares(self, weights: BallMatrix, rows: BallMatrix) -> None:
        """Add Σ_k weights_k (rows_k·ξ)²."""
        self.products(weights, rows, rows)

    def products(self, weights: BallMatrix, left: BallMatrix, right: BallMatrix) -> None:
        """Add Σ_k weights_k (left_k·ξ)(right_k·ξ)."""
        used = weights.used.any(axis=0)
        weights, left, right = weights[:, used], left[used], right[used]
        for index in range(self.count if used.any() else 0):
            part = left.T @ (weights[index : index + 1].T * right)
            self._add(index, part + part.T, arb(0.5), 0)

    def block(self, weights: BallMatrix, matrix: BallMatrix, start: int) -> None:
        """Add weight · matrix, which is symmetric, in the variables from `start` on; weights (count, 1)."""
        for index, weight in enumerate(weights.balls()):
            self._add(index, matrix, weight, start)

    def _add(self, index: int, part: BallMatrix, factor: arb, start: int) -> None:
        matrix, side = self.matrices[index], part.shape[0]
        self.seen[start : start + side] |= part.used.any(axis=0)
        for i, row in enumerate(part.entries.tolist(), start=start):
            for j, value in enumerate(row, start=start):
                matrix[i, j] += factor * value

    def definite(self) -> bool:
        """Return True only if every form is positive definite in the variables that it has."""
        return bool(self.positive().all())

    def positive(self) -> NDArray[np.bool_]:
        """Return which forms are surely positive definite in the variables that any of them has."""
        chosen = [0, *(np.flatnonzero(self.seen[1:]) + 1).tolist()]
        spend(self.count * len(chosen) ** 3, ctx.prec, _WORK)
        parts = ([[matrix[i, j] for j in chosen] for i in chosen] for matrix in self.matrices)
        return np.array([positive_definite(arb_mat(part)) for part in parts], dtype=bool)


def _above(value: arb) -> float:
    """Return a double that is not below the ball."""
    if not value.is_finite():
        return math.inf
    end = float(value.upper())
    return end if value == arb(end) else float(np.nextafter(end, np.inf))
