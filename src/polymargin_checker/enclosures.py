"""Real matrices known up to an error: what the checks of lifted proofs need of them, and python-flint's balls for it.

Balls are as precise as one likes, and slow. `floats.Floats` has the same operations in doubles. Every operation counts its
work before it is done, so that callers need not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from flint import arb, arb_mat, ctx, fmpq

from polymargin_checker.definite import positive_definite
from polymargin_checker.dyadics import ball
from polymargin_checker.work import spend

_TOUCHED = 64
"""Products that an entry counts for when it becomes an object of Python."""


class Enclosure(Protocol):
    """A matrix of which every entry is enclosed."""

    @classmethod
    def of(cls, rows: int, columns: int, values: Sequence[Any]) -> Self: ...
    @classmethod
    def identity(cls, side: int) -> Self: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def transpose(self) -> Self: ...
    def __add__(self, other: Self) -> Self: ...
    def __matmul__(self, other: Self) -> Self: ...
    def entrywise(self, other: Self) -> Self:
        """Return the product entry by entry; a column stretches over all columns."""
        ...

    def times(self, factor: fmpq) -> Self: ...
    def inverse(self) -> Self | None:
        """Return one over every entry; None unless all are surely positive."""
        ...

    def weighted_squares(self, weights: Self) -> Self:
        """Return Σ_j d_j a_j a_jᵀ over the rows a_j, for a column d."""
        ...

    def form(self, weights: Self) -> Any:
        """Return the same as a `TestedForm`, with less known about single entries."""
        ...

    def congruence(self, core: Self) -> Any:
        """Return SᵀHS as a `TestedForm`, for a symmetric H."""
        ...

    def paired_form(self, other: Self, own: Self, mixed: Self, others: Self) -> Any:
        """Return Σ_j own_j a_j a_jᵀ + mixed_j (a_j b_jᵀ + b_j a_jᵀ)/2 + others_j b_j b_jᵀ over the rows of both."""
        ...

    def row(self, index: int) -> Self:
        """Return a row as a column."""
        ...

    def support(self, rows: Sequence[int]) -> list[int]:
        """Return the columns outside which these rows are zero, or all columns."""
        ...

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> Self: ...
    def row_norms(self) -> list[arb]:
        """Return the upper bounds of the Euclidean lengths of the rows."""
        ...

    def row_largest(self) -> list[arb]:
        """Return the upper bounds of the absolute values in each row."""
        ...

    @property
    def absolute(self) -> Self:
        """Return the absolute value of every entry."""
        ...

    @classmethod
    def column(cls, values: Sequence[arb]) -> Self:
        """Return a column of balls."""
        ...

    def entries(self) -> list[arb]:
        """Return the entries as balls, row by row."""
        ...

    @classmethod
    def stacked(cls, parts: Sequence[Self]) -> Self:
        """Return the matrices one above the other; all have as many columns."""
        ...

    @classmethod
    def symmetric(cls, blocks: Sequence[Sequence[Self]]) -> Self:
        """Return a symmetric matrix from the lower triangle of blocks: row i has i + 1 of them."""
        ...

    def positive_definite(self) -> bool:
        """Return True only if every symmetric matrix in the enclosure is positive definite."""
        ...


class TestedForm(Protocol):
    """A symmetric matrix that will be asked whether it is positive definite."""

    def __add__(self, other: Self) -> Self: ...
    def times(self, factor: fmpq) -> Self: ...
    def shifted(self, shift: fmpq, metric: Self | None, sign: int) -> Self:
        """Return shift·metric + sign·self, where no metric is the identity."""
        ...

    def with_diagonal(self, column: Any) -> Self:
        """Return the matrix with a column added along the diagonal."""
        ...

    def bordered(self, corner: Any, border: Any) -> Self:
        """Return the matrix with a first row and column more: a number and a column."""
        ...

    def key(self) -> bytes | None:
        """Return a key that is equal for equal forms; None where comparing is not worth the time."""
        ...

    def positive_definite(self) -> bool: ...


def _spend(products: int) -> None:
    spend(products, ctx.prec, "the matrices of balls of a lifted proof")


@dataclass(frozen=True, eq=False)
class Balls:
    """An arb_mat."""

    matrix: arb_mat

    @classmethod
    def of(cls, rows: int, columns: int, values: Sequence[Any]) -> Balls:
        _spend(_TOUCHED * rows * columns)
        return cls(arb_mat(rows, columns, [arb(value) for value in values]))

    @classmethod
    def identity(cls, side: int) -> Balls:
        _spend(_TOUCHED * side * side)
        return cls(arb_mat(side, side, [int(i == j) for i in range(side) for j in range(side)]))

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.nrows(), self.matrix.ncols()

    @property
    def transpose(self) -> Balls:
        return Balls(self.matrix.transpose())

    def __add__(self, other: Balls) -> Balls:
        _spend(self.shape[0] * self.shape[1])
        return Balls(self.matrix + other.matrix)

    def __matmul__(self, other: Balls) -> Balls:
        _spend(2 * self.shape[0] * self.shape[1] * other.shape[1])
        return Balls(self.matrix * other.matrix)

    def entrywise(self, other: Balls) -> Balls:
        rows, columns = self.shape
        _spend(_TOUCHED * rows * columns)
        right = other.matrix.entries()
        stretched = right if other.shape == self.shape else [value for value in right for _ in range(columns)]
        return Balls(arb_mat(rows, columns, [a * b for a, b in zip(self.matrix.entries(), stretched, strict=True)]))

    def times(self, factor: fmpq) -> Balls:
        _spend(self.shape[0] * self.shape[1])
        return Balls(self.matrix * ball(factor))

    def inverse(self) -> Balls | None:
        _spend(_TOUCHED * self.shape[0] * self.shape[1])
        values = self.matrix.entries()
        return Balls(arb_mat(*self.shape, [1 / value for value in values])) if all(v > 0 for v in values) else None

    def weighted_squares(self, weights: Balls) -> Balls:
        return self.transpose @ self.entrywise(weights)

    def form(self, weights: Balls) -> Balls:
        return self.weighted_squares(weights)

    def congruence(self, core: Balls) -> Balls:
        return self.transpose @ (core @ self)

    def paired_form(self, other: Balls, own: Balls, mixed: Balls, others: Balls) -> Balls:
        half = mixed.times(fmpq(1, 2))
        return self.transpose @ (self.entrywise(own) + other.entrywise(half)) + other.transpose @ (
            self.entrywise(half) + other.entrywise(others)
        )

    def with_diagonal(self, column: Balls) -> Balls:
        return self + Balls.identity(self.shape[0]).entrywise(column)

    def shifted(self, shift: fmpq, metric: Balls | None, sign: int) -> Balls:
        base = Balls.identity(self.shape[0]) if metric is None else metric
        return base.times(shift) + self.times(fmpq(sign))

    def bordered(self, corner: Balls, border: Balls) -> Balls:
        return Balls.symmetric([[corner], [border, self]])

    def row(self, index: int) -> Balls:
        _spend(_TOUCHED * self.shape[1])
        values = [self.matrix[index, column] for column in range(self.shape[1])]
        return Balls(arb_mat(len(values), 1, values))

    def support(self, rows: Sequence[int]) -> list[int]:
        return list(range(self.shape[1]))

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> Balls:
        _spend(_TOUCHED * len(rows) * len(columns))
        return Balls(arb_mat([[self.matrix[i, j] for j in columns] for i in rows]))

    def key(self) -> bytes | None:
        return None

    def row_norms(self) -> list[arb]:
        _spend(_TOUCHED * self.shape[0] * self.shape[1])
        return [sum((value * value for value in row), arb(0)).sqrt().upper() for row in self.matrix.tolist()]

    def row_largest(self) -> list[arb]:
        _spend(_TOUCHED * self.shape[0] * self.shape[1])
        return [max((abs(value).upper() for value in row), default=arb(0)) for row in self.matrix.tolist()]

    @property
    def absolute(self) -> Balls:
        _spend(_TOUCHED * self.shape[0] * self.shape[1])
        return Balls(arb_mat(*self.shape, [abs(value) for value in self.matrix.entries()]))

    @classmethod
    def column(cls, values: Sequence[arb]) -> Balls:
        return cls.of(len(values), 1, values)

    def entries(self) -> list[arb]:
        _spend(_TOUCHED * self.shape[0] * self.shape[1])
        return list(self.matrix.entries())

    @classmethod
    def stacked(cls, parts: Sequence[Balls]) -> Balls:
        rows, columns = sum(part.shape[0] for part in parts), parts[0].shape[1]
        _spend(_TOUCHED * rows * columns)
        return cls(arb_mat(rows, columns, [value for part in parts for value in part.matrix.entries()]))

    @classmethod
    def symmetric(cls, blocks: Sequence[Sequence[Balls]]) -> Balls:
        _spend(2 * _TOUCHED * sum(line[-1].shape[0] for line in blocks) ** 2)
        rows: list[list[arb]] = []
        for line in blocks:
            rows += [
                [value for part in parts for value in part]
                for parts in zip(*(b.matrix.tolist() for b in line), strict=True)
            ]
        side = len(rows)
        return cls(arb_mat([[rows[max(i, j)][min(i, j)] for j in range(side)] for i in range(side)]))

    def positive_definite(self) -> bool:
        side = self.shape[0]
        _spend(2 * side**3 + 2 * _TOUCHED * side * side)
        return positive_definite(self.matrix)
