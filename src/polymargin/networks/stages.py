"""The stages of a network: each computes new values from affine forms of the inputs and the values of all earlier stages.

A `Product` multiplies two forms entry by entry. A `Polynomial` applies one polynomial to every form, written in powers of z or in
another basis with a three-term recurrence (`recurrences.py`); a series stays in the basis it came in. A Chebyshev polynomial T_k
is of size one on [−1, 1] where its coefficients of powers are as large as 2^(k−1): expanded, a degree of 60 has no digit left.
A `Piecewise` applies a continuous, piecewise polynomial function to every form: ReLU, hard versions of smooth functions, splines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.errors import InputError
from polymargin.networks.forms import Forms
from polymargin.networks.recurrences import POWERS, Recurrence, basis_named
from polymargin.polynomials import Expression, exact

Array = NDArray[np.float64]
Degrees = NDArray[np.int64]

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
        if len(self.left) != len(self.right) or self.left.widths != self.right.widths:
            raise InputError(
                f"a product of {len(self.left)} forms of {self.left.widths} values and {len(self.right)} forms of "
                f"{self.right.widths} values; expected as many of each"
            )

    def __len__(self) -> int:
        return len(self.left)

    @property
    def forms(self) -> tuple[Forms, ...]:
        """Return the forms of the stage."""
        return self.left, self.right

    def __call__(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the values of the stage from the inputs and all earlier values."""
        return np.asarray(self.left(values) * self.right(values))

    def degrees(self, known: Sequence[Degrees]) -> Degrees:
        """Return the degrees of the new values in the input, if nothing cancels."""
        return degrees_of(self.left, known) + degrees_of(self.right, known)


@dataclass(frozen=True, eq=False)
class Polynomial:
    """σ(form(v)), entry by entry, with σ = Σ c_k P_k(z) in one of the bases: powers, chebyshev, legendre, hermite, hermite_e.

    >>> Polynomial(Forms.of([[1.0, 2.0]]), (1.0, 0.0, 1.0))([np.array([1.0, 1.0])])
    array([10.])
    """

    form: Forms
    coefficients: tuple[float, ...]
    basis: str = POWERS.name

    def __post_init__(self) -> None:
        basis_named(self.basis)
        object.__setattr__(self, "coefficients", tuple(float(c) for c in self.coefficients))
        if not 1 <= len(self.coefficients) <= LARGEST_DEGREE + 1 or (self.degree and self.coefficients[-1] == 0.0):
            raise InputError(
                f"a polynomial with {len(self.coefficients)} coefficients; expected 1 to {LARGEST_DEGREE + 1}, the last not 0"
            )
        if not np.isfinite(self.coefficients).all():
            raise InputError("a coefficient of a polynomial is not finite; every one must be a finite number")

    def __len__(self) -> int:
        return len(self.form)

    @property
    def recurrence(self) -> Recurrence:
        """Return the recurrence of the basis."""
        return basis_named(self.basis)

    @property
    def degree(self) -> int:
        """Return the degree of the activation."""
        return len(self.coefficients) - 1

    @property
    def forms(self) -> tuple[Forms, ...]:
        """Return the forms of the stage."""
        return (self.form,)

    def __call__(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the values of the stage from the inputs and all earlier values."""
        return self.activate(self.form(values))

    def activate(self, z: NDArray[Any]) -> NDArray[Any]:
        """Return σ of any number of floats, or of an object array of symbolic scalars or Fractions."""
        numbers = self.coefficients if z.dtype != object else tuple(exact(c) for c in self.coefficients)
        return self.recurrence.sum(numbers, z)

    def degrees(self, known: Sequence[Degrees]) -> Degrees:
        """Return the degrees of the new values in the input, if nothing cancels."""
        return self.degree * degrees_of(self.form, known)


@dataclass(frozen=True, eq=False)
class Piecewise:
    """σ(form(v)), entry by entry, where σ is pieces[i] from breakpoint i − 1 up to breakpoint i and continuous.

    form         affine forms of the inputs and all earlier values
    breakpoints  t_1 < … < t_m, at least one
    pieces       m + 1 rows of coefficients (c_0, c_1, …) of powers, from the left; at a breakpoint the piece to its right counts

    >>> relu = Piecewise(Forms.of([[1.0, -1.0]]), *RELU)
    >>> relu([np.array([[3.0, 1.0], [1.0, 3.0]])]).tolist()
    [[2.0], [0.0]]
    """

    form: Forms
    breakpoints: tuple[float, ...]
    pieces: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        points, pieces = np.array(self.breakpoints, dtype=np.float64), [np.array(piece) for piece in self.pieces]
        if not 1 <= points.size <= MOST_BREAKPOINTS or not np.isfinite(points).all() or (np.diff(points) <= 0).any():
            raise InputError(
                f"breakpoints {list(self.breakpoints)[:8]}: expected 1 to {MOST_BREAKPOINTS} increasing numbers"
            )
        if len(pieces) != points.size + 1:
            raise InputError(
                f"{len(pieces)} pieces for {points.size} breakpoints; expected one more piece than breakpoints"
            )
        for number, piece in enumerate(pieces, start=1):
            if not 1 <= piece.size <= LARGEST_DEGREE + 1 or not np.isfinite(piece).all():
                raise InputError(
                    f"the coefficients of piece {number} {piece.tolist()[:8]}: expected 1 to {LARGEST_DEGREE + 1} finite numbers"
                )
        object.__setattr__(self, "breakpoints", tuple(points.tolist()))
        object.__setattr__(self, "pieces", tuple(tuple(_trimmed(piece).tolist()) for piece in pieces))
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
        """Return the largest degree of a piece."""
        return max(len(piece) for piece in self.pieces) - 1

    @property
    def forms(self) -> tuple[Forms, ...]:
        """Return the forms of the stage."""
        return (self.form,)

    @cached_property
    def _meetings(self) -> list[tuple[float, Fraction, Fraction, float]]:
        """Return every breakpoint with the exact values of the pieces left and right of it, and how large their terms are."""
        found = []
        for point, *sides in zip(self.breakpoints, self.pieces[:-1], self.pieces[1:], strict=True):
            left, right = (sum(Fraction(c) * Fraction(point) ** k for k, c in enumerate(side)) for side in sides)
            size = max(float(_horner(np.abs(side), np.array(abs(point)))) for side in sides)
            found.append((point, Fraction(left), Fraction(right), size))
        return found

    @property
    def largest_jump(self) -> float:
        """Return the largest difference of two pieces at their breakpoint: rounding of coefficients, or nothing."""
        return max(float(abs(left - right)) for _, left, right, _ in self._meetings)

    @property
    def is_relu(self) -> bool:
        """Return whether the activation is ReLU."""
        return (self.breakpoints, self.pieces) == RELU

    def __call__(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the values of the stage from the inputs and all earlier values."""
        return self.activate(self.form(values))

    def activate(self, z: NDArray[Any]) -> NDArray[Any]:
        """Return σ of any number of floats, or of an object array of Fractions."""
        if z.dtype == object:
            return self._of_objects(z)
        if self.is_relu:
            return np.asarray(np.maximum(z, 0.0))
        return self.on_pieces(self.numbers(z), z)

    def numbers(self, z: Array) -> NDArray[np.int64]:
        """Return the number of the piece for each value."""
        return np.asarray(np.searchsorted(self.breakpoints, z, side="right"))

    def on_pieces(self, numbers: NDArray[np.int64], z: Array) -> Array:
        """Return the values of the pieces with the given numbers."""
        return _horner(self.table[numbers], z)

    def slopes(self, z: Array) -> Array:
        """Return σ' of any number of values; at a breakpoint the slope to its right."""
        derivatives = np.append(
            self.table[:, 1:] * np.arange(1, self.table.shape[1]), np.zeros((len(self.table), 1)), 1
        )
        return _horner(derivatives[self.numbers(z)], z)

    def degrees(self, known: Sequence[Degrees]) -> Degrees:
        """Return the largest degrees of the new values on a region, if nothing cancels."""
        return self.degree * degrees_of(self.form, known)

    def _of_objects(self, z: NDArray[Any]) -> NDArray[Any]:
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
    def table(self) -> Array:
        """Return the coefficients of all pieces (m + 1, degree + 1), padded with zeros."""
        table = np.zeros((len(self.pieces), self.degree + 1))
        for row, piece in zip(table, self.pieces, strict=True):
            row[: len(piece)] = piece
        return table


Stage: TypeAlias = Product | Polynomial | Piecewise

RELU = ((0.0,), ((0.0,), (0.0, 1.0)))
"""Breakpoints and pieces of max(z, 0)."""


def with_forms(stage: Stage, forms: Sequence[Forms]) -> Stage:
    """Return the stage with other forms; the stage itself if they are its own."""
    if tuple(forms) == stage.forms:
        return stage
    return Product(*forms) if isinstance(stage, Product) else replace(stage, form=forms[0])


def degrees_of(forms: Forms, known: Sequence[Degrees]) -> Degrees:
    """Return the degree of each form: the largest one of its values; `known` has the degrees of each source."""
    result = np.zeros(len(forms), dtype=np.int64)
    for source, block in forms.blocks:
        rows, columns = sparse.csr_array(block).nonzero()
        np.maximum.at(result, rows, known[source][columns])
    return result


def _trimmed(coefficients: Array) -> Array:
    """Return the coefficients without zeros at the end; at least one remains."""
    used = np.flatnonzero(coefficients)
    return coefficients[: used[-1] + 1 if used.size else 1].astype(np.float64)


def _horner(coefficients: Array, z: Array) -> Array:
    """Return Σ c_k z^k with the coefficients of each value in a row of its own, or one row for all."""
    total = coefficients[..., -1] + np.zeros_like(z)
    for power in range(coefficients.shape[-1] - 2, -1, -1):
        total = total * z + coefficients[..., power]
    return np.asarray(total)
