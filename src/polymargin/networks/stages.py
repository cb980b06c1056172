"""The stages of a network: each computes a block of new values from affine forms of the inputs and all earlier values.

A `Product` multiplies two forms entry by entry. A `Polynomial` puts one polynomial on every form, written in powers of z or in
another basis with a three-term recurrence (`recurrences.py`); a series stays in the basis it came in. A Chebyshev polynomial T_k
is of size one on [−1, 1] where its coefficients of powers are as large as 2^(k−1): expanded, a degree of 60 has no digit left.
A `Piecewise` puts a continuous, piecewise polynomial function on every form: ReLU, hard versions of smooth functions, splines.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.forms import Forms
from polymargin.networks.recurrences import POWERS, Recurrence, basis_named
from polymargin.polynomials import Expression, exact

Array = NDArray[np.float64]

LARGEST_DEGREE = 127
MOST_BREAKPOINTS = 1_000
# Two pieces agree at a breakpoint if they differ by rounding only: coefficients such as 1/6 are no doubles.
LARGEST_JUMP = 1e-12


@dataclass(frozen=True, eq=False)
class Product:
    """left(v) · right(v), entry by entry."""

    left: Forms
    right: Forms

    def __post_init__(self) -> None:
        if len(self.left) != len(self.right) or self.left.width != self.right.width:
            raise InputError(
                f"a product of {len(self.left)} forms of {self.left.width} values and {len(self.right)} forms of "
                f"{self.right.width} values; expected as many of each"
            )

    def __len__(self) -> int:
        return len(self.left)

    @property
    def forms(self) -> tuple[Forms, ...]:
        return self.left, self.right

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.left(values) * self.right(values))

    def degrees(self, before: NDArray[np.int64]) -> NDArray[np.int64]:
        """Degrees of the new values in the input, if nothing cancels."""
        return degrees_of(self.left, before) + degrees_of(self.right, before)


@dataclass(frozen=True, eq=False)
class Polynomial:
    """σ(form(v)), entry by entry, with σ = Σ c_k P_k(z) in one of the bases: powers, chebyshev, legendre, hermite, hermite_e."""

    form: Forms
    coefficients: tuple[float, ...]
    basis: str = POWERS.name

    def __post_init__(self) -> None:
        basis_named(self.basis)
        if not 2 <= len(self.coefficients) <= LARGEST_DEGREE + 1 or self.coefficients[-1] == 0.0:
            raise InputError(
                f"a polynomial with {len(self.coefficients)} coefficients; expected 2 to {LARGEST_DEGREE + 1}, the last not 0"
            )
        if not np.isfinite(self.coefficients).all():
            raise InputError("a coefficient of a polynomial is not finite; every one must be a finite number")

    def __len__(self) -> int:
        return len(self.form)

    @property
    def recurrence(self) -> Recurrence:
        return basis_named(self.basis)

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1

    @property
    def forms(self) -> tuple[Forms, ...]:
        return (self.form,)

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        z = self.form(values)
        numbers = self.coefficients if z.dtype != object else tuple(exact(c) for c in self.coefficients)
        return self.recurrence.sum(numbers, z)

    def degrees(self, before: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.degree * degrees_of(self.form, before)


@dataclass(frozen=True, eq=False)
class Piecewise:
    """σ(form(v)), entry by entry, where σ is pieces[i] from breakpoint i − 1 up to breakpoint i and continuous.

    form         affine forms of the inputs and all earlier values
    breakpoints  t_1 < … < t_m, at least one
    pieces       m + 1 rows of coefficients (c_0, c_1, …) of powers, from the left; at a breakpoint the piece to its right counts

    >>> relu = Piecewise(Forms.of([[1.0, -1.0]]), (0.0,), ((0.0,), (0.0, 1.0)))
    >>> relu(np.array([[3.0, 1.0], [1.0, 3.0]])).tolist()
    [[2.0], [0.0]]
    """

    form: Forms
    breakpoints: tuple[float, ...]
    pieces: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        ends = np.array(self.breakpoints, dtype=np.float64)
        if not 1 <= len(ends) <= MOST_BREAKPOINTS or not np.isfinite(ends).all() or (np.diff(ends) <= 0).any():
            raise InputError(
                f"breakpoints {list(self.breakpoints)[:8]}: expected 1 to {MOST_BREAKPOINTS} increasing numbers"
            )
        if len(self.pieces) != len(ends) + 1:
            raise InputError(
                f"{len(self.pieces)} pieces for {len(ends)} breakpoints; expected one more piece than breakpoints"
            )
        for number, piece in enumerate(self.pieces, start=1):
            if not 1 <= len(piece) <= LARGEST_DEGREE + 1 or not np.isfinite(piece).all():
                raise InputError(
                    f"the coefficients of piece {number} {list(piece)[:8]}: expected 1 to {LARGEST_DEGREE + 1} finite numbers"
                )
            if len(piece) > 1 and piece[-1] == 0.0:
                raise InputError(f"the coefficients of piece {number} end in zero; zeros at the end are left out")
        for point, left, right, size in self._meetings:
            if abs(left - right) > LARGEST_JUMP * (1 + size):
                raise InputError(
                    f"the activation jumps from {float(left):.6g} to {float(right):.6g} at the breakpoint {point:g}; pieces must "
                    "agree at their common breakpoint"
                )

    def __len__(self) -> int:
        return len(self.form)

    @property
    def degree(self) -> int:
        """Largest degree of a piece."""
        return max(len(piece) for piece in self.pieces) - 1

    @property
    def forms(self) -> tuple[Forms, ...]:
        return (self.form,)

    @cached_property
    def _meetings(self) -> list[tuple[float, Fraction, Fraction, float]]:
        """Every breakpoint with the exact values of the pieces left and right of it, and how large their terms are."""
        found = []
        for point, *sides in zip(self.breakpoints, self.pieces[:-1], self.pieces[1:], strict=True):
            left, right = (sum(Fraction(c) * Fraction(point) ** k for k, c in enumerate(side)) for side in sides)
            size = max(float(_horner(np.abs(side), np.array(abs(point)))) for side in sides)
            found.append((point, Fraction(left), Fraction(right), size))
        return found

    @property
    def largest_jump(self) -> float:
        """By how much two pieces differ where they meet: rounding of their coefficients, or nothing."""
        return max(float(abs(left - right)) for _, left, right, _ in self._meetings)

    @property
    def is_relu(self) -> bool:
        return self.breakpoints == (0.0,) and self.pieces == ((0.0,), (0.0, 1.0))

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.activate(self.form(values))

    def activate(self, z: NDArray[Any]) -> NDArray[Any]:
        """σ for any number of floats, or of Fractions as an object array."""
        if z.dtype == object:
            return self._exactly(z)
        if self.is_relu:
            return np.asarray(np.maximum(z, 0.0))
        return self.on_pieces(self.numbers(z), z)

    def numbers(self, z: Array) -> NDArray[np.int64]:
        """Which piece each value lies on."""
        return np.asarray(np.searchsorted(self.breakpoints, z, side="right"))

    def on_pieces(self, numbers: NDArray[np.int64], z: Array) -> Array:
        """The piece with the given number, at each value."""
        return _horner(self._table[numbers], z)

    def slopes(self, z: Array) -> Array:
        """σ' for any number of values; from the right at a breakpoint."""
        derivatives = self._table[:, 1:] * np.arange(1, self._table.shape[1])
        return _horner(derivatives[self.numbers(z)], z)

    def degrees(self, before: NDArray[np.int64]) -> NDArray[np.int64]:
        """Largest degrees of the new values on a region, if nothing cancels."""
        return self.degree * degrees_of(self.form, before)

    def _exactly(self, z: NDArray[Any]) -> NDArray[Any]:
        result = np.empty(z.shape, dtype=object)
        for place, value in enumerate(z.flat):
            if isinstance(value, Expression):
                raise InputError("a piecewise polynomial is not one polynomial; expected a network of polynomials")
            total = exact(0.0)
            for c in reversed(self.pieces[sum(value >= exact(point) for point in self.breakpoints)]):
                total = total * value + exact(c)
            result.flat[place] = total
        return result

    @cached_property
    def _table(self) -> Array:
        """The coefficients of all pieces as rows of equal length, at least two."""
        table = np.zeros((len(self.pieces), max(2, self.degree + 1)))
        for row, piece in zip(table, self.pieces, strict=True):
            row[: len(piece)] = piece
        return table


Stage = Product | Polynomial | Piecewise

RELU = ((0.0,), ((0.0,), (0.0, 1.0)))
"""Breakpoints and pieces of max(z, 0)."""


def degrees_of(forms: Forms, before: NDArray[np.int64]) -> NDArray[np.int64]:
    """The degree of each form: that of its highest value."""
    result = np.zeros(len(forms), dtype=np.int64)
    rows = np.repeat(np.arange(len(forms)), np.diff(forms.starts))
    np.maximum.at(result, rows, before[forms.columns])
    return result


def _horner(coefficients: Array, z: Array) -> Array:
    """Σ c_k z^k with the coefficients of each value in a row of its own, or one row for all."""
    total = coefficients[..., -1] + np.zeros_like(z)
    for power in range(coefficients.shape[-1] - 2, -1, -1):
        total = total * z + coefficients[..., power]
    return np.asarray(total)
