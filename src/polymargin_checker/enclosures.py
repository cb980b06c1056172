"""Real matrices known up to an error, in two arithmetics with the same operations.

`Balls` are python-flint's matrices of balls: as precise as one likes, and slow. `Floats` are a midpoint and a radius for
every entry, in doubles. Of NumPy only sums and products of matrices are used, and what is needed of them is that an inner
product of length k is computed from its terms by k multiplications and additions in some order: then its error is at most
(k + 4) 2⁻⁵³ times the sum of the absolute values of the terms. Radii are computed in doubles too; SAFE covers their own
rounding, TINY underflow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from flint import arb, arb_mat, fmpq

from polymargin_checker.definite import positive_definite
from polymargin_checker.dyadics import ball
from polymargin_checker.float_cholesky import surely_positive_definite

UNIT = 2.0**-53
SAFE = 1 + 2.0**-20
TINY = 2.0**-1000


class Enclosure(Protocol):
    """A matrix of which every entry is enclosed."""

    @classmethod
    def of(cls, rows: int, columns: int, values: Sequence[Any]) -> Self: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def transpose(self) -> Self: ...
    def __add__(self, other: Self) -> Self: ...
    def __matmul__(self, other: Self) -> Self: ...
    def entrywise(self, other: Self) -> Self:
        """The product entry by entry; a column stretches over all columns."""
        ...

    def times(self, factor: fmpq) -> Self: ...
    def row_norms(self) -> list[arb]:
        """Upper bounds of the Euclidean lengths of the rows."""
        ...

    def entries(self) -> list[arb]:
        """Row by row, as balls."""
        ...

    @classmethod
    def symmetric(cls, blocks: Sequence[Sequence[Self]]) -> Self:
        """From the lower triangle of blocks: row i has i + 1 of them."""
        ...

    def positive_definite(self) -> bool:
        """True only if every symmetric matrix in the enclosure is."""
        ...


@dataclass(frozen=True, eq=False)
class Balls:
    """An arb_mat."""

    matrix: arb_mat

    @classmethod
    def of(cls, rows: int, columns: int, values: Sequence[Any]) -> Balls:
        return cls(arb_mat(rows, columns, [arb(value) for value in values]))

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.nrows(), self.matrix.ncols()

    @property
    def transpose(self) -> Balls:
        return Balls(self.matrix.transpose())

    def __add__(self, other: Balls) -> Balls:
        return Balls(self.matrix + other.matrix)

    def __matmul__(self, other: Balls) -> Balls:
        return Balls(self.matrix * other.matrix)

    def entrywise(self, other: Balls) -> Balls:
        rows, columns = self.shape
        right = other.matrix.entries()
        stretched = right if other.shape == self.shape else [value for value in right for _ in range(columns)]
        return Balls(arb_mat(rows, columns, [a * b for a, b in zip(self.matrix.entries(), stretched, strict=True)]))

    def times(self, factor: fmpq) -> Balls:
        return Balls(self.matrix * ball(factor))

    def row_norms(self) -> list[arb]:
        return [sum((value * value for value in row), arb(0)).sqrt().upper() for row in self.matrix.tolist()]

    def entries(self) -> list[arb]:
        return list(self.matrix.entries())

    @classmethod
    def symmetric(cls, blocks: Sequence[Sequence[Balls]]) -> Balls:
        rows: list[list[arb]] = []
        for line in blocks:
            rows += [
                [value for part in parts for value in part]
                for parts in zip(*(b.matrix.tolist() for b in line), strict=True)
            ]
        side = len(rows)
        return cls(arb_mat([[rows[max(i, j)][min(i, j)] for j in range(side)] for i in range(side)]))

    def positive_definite(self) -> bool:
        return positive_definite(self.matrix)


@dataclass(frozen=True, eq=False)
class Floats:
    """Every entry lies within `radius` of `middle`."""

    middle: np.ndarray[Any, np.dtype[np.float64]]
    radius: np.ndarray[Any, np.dtype[np.float64]]

    @classmethod
    def of(cls, rows: int, columns: int, values: Sequence[Any]) -> Floats:
        if all(isinstance(value, float) for value in values):
            middle = np.array(values, dtype=np.float64).reshape(rows, columns)
            return cls(middle, np.zeros_like(middle))
        pairs = [_nearest(value) for value in values]
        middle = np.array([pair[0] for pair in pairs], dtype=np.float64).reshape(rows, columns)
        return cls(middle, np.array([pair[1] for pair in pairs], dtype=np.float64).reshape(rows, columns))

    @property
    def shape(self) -> tuple[int, int]:
        return self.middle.shape[0], self.middle.shape[1]

    @property
    def transpose(self) -> Floats:
        return Floats(self.middle.T, self.radius.T)

    def __add__(self, other: Floats) -> Floats:
        middle = self.middle + other.middle
        return Floats(middle, SAFE * (self.radius + other.radius + UNIT * np.abs(middle)) + TINY)

    def __matmul__(self, other: Floats) -> Floats:
        left, right = np.abs(self.middle), np.abs(other.middle)
        rounding = (self.shape[1] + 4) * UNIT
        radius = left @ (rounding * right + other.radius)
        if self.radius.any():
            radius = radius + self.radius @ (right + other.radius)
        return Floats(self.middle @ other.middle, SAFE * radius + TINY * self.shape[1])

    def entrywise(self, other: Floats) -> Floats:
        middle = self.middle * other.middle
        radius = np.abs(self.middle) * other.radius + self.radius * (np.abs(other.middle) + other.radius)
        return Floats(middle, SAFE * (radius + UNIT * np.abs(middle)) + TINY)

    def times(self, factor: fmpq) -> Floats:
        return self.entrywise(Floats.of(1, 1, [factor]))

    def row_norms(self) -> list[arb]:
        largest = (np.abs(self.middle) + self.radius) * (1 + 4 * UNIT)
        return [Balls.of(1, len(row), row.tolist()).row_norms()[0] for row in largest]

    def entries(self) -> list[arb]:
        return [arb(m, r) for m, r in zip(self.middle.ravel().tolist(), self.radius.ravel().tolist(), strict=True)]

    @classmethod
    def symmetric(cls, blocks: Sequence[Sequence[Floats]]) -> Floats:
        sizes = [line[0].shape[0] for line in blocks]
        ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
        middle, radius = np.zeros((ends[-1], ends[-1])), np.zeros((ends[-1], ends[-1]))
        for i, line in enumerate(blocks):
            rows = slice(ends[i] - sizes[i], ends[i])
            for j, block in enumerate(line):
                columns = slice(ends[j] - sizes[j], ends[j])
                middle[rows, columns], radius[rows, columns] = block.middle, block.radius
        lower, lower_radius = np.tril(middle), np.tril(radius)
        return cls(lower + np.tril(middle, -1).T, lower_radius + np.tril(radius, -1).T)

    def positive_definite(self) -> bool:
        return surely_positive_definite(self.middle, self.radius)


def _nearest(value: Any) -> tuple[float, float]:
    """A double near a rational, and how far it is at most."""
    if isinstance(value, float):
        return value, 0.0
    rational = fmpq(value)
    middle = int(rational.p) / int(rational.q)
    return middle, 0.0 if fmpq(*middle.as_integer_ratio()) == rational else 2 * UNIT * abs(middle) + math.ldexp(
        1.0, -1070
    )
