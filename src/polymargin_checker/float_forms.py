"""Large quadratic forms in doubles: a symmetric matrix, and one number per row for all that may be wrong with it.

A radius for every entry costs as much as the matrix itself. What a test of definiteness needs is less: how far the value of the
form at a vector may be off. For a sum of squares Σ_k d_k (a_k·x)², computed by products of matrices, every rounding error is
some multiple of Σ_k |d_k| (|a_k|·|x|)², and by Minkowski's inequality

    Σ_k |d_k| (Σ_i |a_ki| |x_i|)²  ≤  (Σ_i √g_i |x_i|)²,      g_i = Σ_k |d_k| a_ki².

So errors are kept as such a vector g, at the cost of a product of a matrix with a vector; sums of forms add their vectors, by the
same inequality (docs/theorems.md, section 9, which has all constants used here).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from polymargin_checker.float_cholesky import definite_within
from polymargin_checker.float_numbers import nearest
from polymargin_checker.work import SHORTEST, spend

Array = np.ndarray[Any, np.dtype[np.float64]]

UNIT = 2.0**-53
SAFE = 1 + 2.0**-20
LARGEST = 2.0**400
"""Of the entries that a form is made from: beyond, underflow in one factor could be large in a product."""
UNDERFLOW = 2.0**-600
"""More than underflow adds to an entry, for factors up to LARGEST."""
_FLOOR = 2.0**-1000
"""Squares that vanish are below it."""
LARGEST_KEY = 256
"""Rows of a form that is compared with others; large ones are not parts of a convolution."""
_PASS, _AT_ONCE = 4, 128
"""Entries that count as one product of 128 bits when they are looked at, and products in a product of matrices."""


def _spend(products: int) -> None:
    spend(products, SHORTEST, "the quadratic forms of a lifted proof")


@dataclass(frozen=True, eq=False)
class FloatForm:
    """The symmetric matrix A with the lower triangle of `middle`, up to an error E that is symmetric too.

    |x|ᵀ|A||x| ≤ (Σ √size_i |x_i|)² and |x|ᵀ|E||x| ≤ (Σ √spread_i |x_i|)² for every x. Of a sum of weighted squares
    (`Floats.form`) even |E_ij| ≤ √spread_i √spread_j.
    """

    middle: Array
    size: Array
    spread: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.middle.shape[0], self.middle.shape[1]

    def __add__(self, other: FloatForm) -> FloatForm:
        _spend(self.middle.size // _PASS)
        size = SAFE * (self.size + other.size)
        return FloatForm(self.middle + other.middle, size, SAFE * (self.spread + other.spread + UNIT * size))

    def times(self, factor: fmpq) -> FloatForm:
        _spend(self.middle.size // _PASS)
        value, error = nearest(factor)
        size = SAFE * abs(value) * self.size
        spread = abs(value) * self.spread + error * (self.size + self.spread) + UNIT * size
        return FloatForm(self.middle * value, size + UNDERFLOW, SAFE * spread + UNDERFLOW)

    def shifted(self, shift: fmpq, metric: FloatForm | None, sign: int) -> FloatForm:
        """shift·metric + sign·self, where no metric is the identity."""
        _spend(self.middle.size // _PASS)
        signed = FloatForm(self.middle if sign > 0 else -self.middle, self.size, self.spread)
        if metric is not None:
            return metric.times(shift) + signed
        value, error = nearest(shift)
        middle = self.middle.copy() if sign > 0 else signed.middle
        middle[np.arange(len(middle)), np.arange(len(middle))] += value
        size = SAFE * (self.size + abs(value))
        return FloatForm(middle, size, SAFE * (self.spread + error + UNIT * size))

    def with_diagonal(self, column: Any) -> FloatForm:
        """With a column of `Floats` added along the diagonal."""
        _spend(self.middle.size // _PASS)
        middle, values = self.middle.copy(), column.middle[:, 0]
        middle[np.arange(len(middle)), np.arange(len(middle))] += values
        size = SAFE * (self.size + np.abs(values))
        return FloatForm(middle, size, SAFE * (self.spread + column.radius[:, 0] + UNIT * size))

    def bordered(self, corner: Any, border: Any) -> FloatForm:
        """With a first row and column more; `corner` (1 × 1) and `border` (n × 1) are `Floats`.

        2|x_0| Σ e_j|x_j| ≤ (√τ|x_0| + Σ e_j/√τ |x_j|)² for every τ > 0.
        """
        side = len(self.middle) + 1
        _spend(side * side // _PASS)
        middle = np.empty((side, side))
        middle[0, 0], middle[1:, 0], middle[1:, 1:] = corner.middle[0, 0], border.middle[:, 0], self.middle
        middle[0, 1:] = 0.0  # the upper triangle is not read
        size, spread = np.empty(side), np.empty(side)
        scale = np.sqrt(np.abs(np.diagonal(middle)) + UNDERFLOW)
        for vector, inner, beside, own in (
            (size, self.size, np.abs(border.middle[:, 0]), abs(corner.middle[0, 0])),
            (spread, self.spread, border.radius[:, 0], corner.radius[0, 0]),
        ):
            tau = float(np.linalg.norm(beside / scale[1:])) * scale[0] + UNDERFLOW
            vector[0], vector[1:] = SAFE * (tau + own), SAFE * (inner + beside * (beside / tau)) + UNDERFLOW
        return FloatForm(middle, size, spread)

    def positive_definite(self) -> bool:
        """True only if A + E is, for every E."""
        side = len(self.middle)
        _spend(side**3 // (4 * _AT_ONCE) + 2 * side * side // _PASS)
        return definite_within(self.middle, self.spread)

    def key(self) -> bytes | None:
        if len(self.middle) > LARGEST_KEY:
            return None
        _spend(self.middle.size // _PASS)
        return self.middle.tobytes() + self.spread.tobytes()


@dataclass(frozen=True, eq=False)
class Squares:
    """Upper bounds of the squares of the entries of a matrix and of their radii (None: all radii are zero)."""

    entries: Array
    radii: Array | None
    usable: bool

    @classmethod
    def of(cls, middle: Array, radius: Array) -> Squares:
        usable = bool(np.abs(middle).max(initial=0.0) < LARGEST and radius.max(initial=0.0) < LARGEST)
        entries = middle * middle * (1 + 4 * UNIT) + np.where(middle != 0, _FLOOR, 0.0)
        if not radius.any():
            return cls(entries, None, usable)
        return cls(entries, radius * radius * (1 + 4 * UNIT) + np.where(radius != 0, _FLOOR, 0.0), usable)

    def form(self, middle: Array, rounding: float, weights: Array, errors: Array) -> FloatForm:
        """SᵀHS, computed as `middle` with at most `rounding` |S|ᵀ|H||S| of error.

        yᵀ|H|y ≤ Σ weights_k y_k² and yᵀ|R|y ≤ Σ errors_k y_k² for all y, where R are the radii of H.
        """
        _spend(4 * self.entries.size // _AT_ONCE + len(middle))
        if not (self.usable and weights.max(initial=0.0) < LARGEST and errors.max(initial=0.0) < LARGEST):
            none = np.full(len(middle), np.inf)
            return FloatForm(middle, none, none)
        size = weights @ self.entries
        spread = rounding * size + errors @ self.entries
        if self.radii is not None:
            # (s + ρ)(s + ρ)ᵀ − ssᵀ is s ρᵀ + ρ sᵀ + ρρᵀ, and 2ab ≤ θa² + b²/θ.
            whole = weights + errors
            plain, wrong = whole @ self.entries, whole @ self.radii
            theta = float(np.sqrt(wrong.sum() / max(plain.sum(), UNDERFLOW))) + 2.0**-300
            spread = spread + theta * plain + (1 + 1 / theta) * wrong
        return FloatForm(middle, SAFE * size + UNDERFLOW, SAFE * spread + UNDERFLOW)
