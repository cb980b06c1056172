"""Matrices of relaxation proofs: the names that `intervals` and `balls` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from polymargin_checker.balls import BallForms, BallMatrix
from polymargin_checker.intervals import IntervalForms, Intervals
from polymargin_checker.refusal import Refused

Floats = NDArray[np.float64]


class EnclosedMatrix(Protocol):
    """A matrix of which every entry is enclosed."""

    @classmethod
    def exact(cls, values: Floats) -> Self: ...
    @classmethod
    def around(cls, values: Sequence[arb], columns: int) -> Self: ...
    @classmethod
    def stacked(cls, parts: Sequence[Self]) -> Self: ...
    @classmethod
    def beside(cls, parts: Sequence[Self]) -> Self: ...
    def balls(self) -> list[arb]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def T(self) -> Self: ...
    @property
    def used(self) -> NDArray[np.bool_]: ...
    def __getitem__(self, place: Any) -> Self: ...
    def __neg__(self) -> Self: ...
    def __abs__(self) -> Self: ...
    def __add__(self, other: Self) -> Self: ...
    def __sub__(self, other: Self) -> Self: ...
    def __mul__(self, other: Self) -> Self: ...
    def __matmul__(self, other: Self) -> Self: ...
    def lower(self) -> Floats: ...
    def upper(self) -> Floats: ...
    def magnitude(self) -> Floats: ...
    def norms(self) -> Floats: ...


class QuadraticForms(Protocol):
    """Quadratic forms over ξ = (1, …), one for each functional."""

    def taken(self, places: NDArray[np.intp]) -> Self: ...
    def row(self, values: EnclosedMatrix, start: int = 0) -> None: ...
    def linear(self, weights: EnclosedMatrix, rows: EnclosedMatrix) -> None: ...
    def diagonal(self, values: EnclosedMatrix, start: int) -> None: ...
    def squares(self, weights: EnclosedMatrix, rows: EnclosedMatrix) -> None: ...
    def products(self, weights: EnclosedMatrix, left: EnclosedMatrix, right: EnclosedMatrix) -> None: ...
    def block(self, weights: EnclosedMatrix, matrix: EnclosedMatrix, start: int) -> None: ...
    def definite(self) -> bool: ...
    def positive(self) -> NDArray[np.bool_]: ...


@dataclass(frozen=True)
class Arithmetic:
    """Doubles with radii, or balls."""

    is_exact: bool

    def exact(self, values: Any) -> EnclosedMatrix:
        """Return a matrix of doubles."""
        matrix = np.asarray(values, dtype=np.float64)
        return BallMatrix.exact(matrix) if self.is_exact else Intervals.exact(matrix)

    def around(self, values: Sequence[arb], columns: int) -> EnclosedMatrix:
        """Return a matrix of balls."""
        return BallMatrix.around(values, columns) if self.is_exact else Intervals.around(values, columns)

    def column(self, values: Sequence[fmpq]) -> EnclosedMatrix:
        """Return a column of rationals."""
        doubles = np.array([nearest(value) for value in values], dtype=np.float64)
        if all(rational(double) == value for double, value in zip(doubles.tolist(), values, strict=True)):
            return self.exact(doubles[:, None])
        return self.around([arb(value) for value in values], 1)

    def zeros(self, rows: int, columns: int) -> EnclosedMatrix:
        return self.exact(np.zeros((rows, columns)))

    def forms(self, count: int, size: int) -> QuadraticForms:
        """Return quadratic forms that are zero."""
        return BallForms(count, size) if self.is_exact else IntervalForms(count, size)  # type: ignore[return-value]

    def padded(self, matrix: EnclosedMatrix, columns: int) -> EnclosedMatrix:
        """Return the matrix with zeros on its right."""
        rows, width = matrix.shape
        return matrix if width == columns else matrix.beside([matrix, self.zeros(rows, columns - width)])


def rational(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def nearest(value: fmpq) -> float:
    """Return the double next to a rational."""
    try:
        return int(value.p) / int(value.q)
    except OverflowError:
        raise Refused("a number leaves the doubles that a relaxation proof is judged in") from None


def down(value: fmpq) -> float:
    """Return the largest double that is at most the value."""
    double = nearest(value)
    return double if rational(double) <= value else float(np.nextafter(double, -np.inf))


def up(value: fmpq) -> float:
    """Return the smallest double that is at least the value."""
    return -down(-value)
