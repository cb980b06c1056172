"""Complex numbers in doubles: arrays of discs, a midpoint and a radius for every entry (docs/theorems.md, section 5).

Of NumPy, single operations on real numbers and plain products of real matrices are used, so the bounds of `intervals` hold: an
inner product of length k errs by at most (k + 4) 2⁻⁵³ times the sum of the absolute values of its terms. A complex product of
length k is four real ones and two additions, and errs by at most (4k + 16) 2⁻⁵³ times the sum of the absolute values of its
terms. SAFE covers the rounding of the radii, SMALL what underflows in an absolute value, TINY what underflows in a product.
Radii become infinite, or no numbers, where something overflows; nothing passes a test then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

UNIT = 2.0**-53
SAFE = 1 + 2.0**-20
SMALL, TINY = 2.0**-500, 2.0**-960


def sizes(values: Complexes) -> Floats:
    """Return numbers that are at least the absolute values, and never too small to be multiplied by UNIT."""
    found: Floats = SAFE * np.sqrt(values.real * values.real + values.imag * values.imag) + SMALL
    return found


@dataclass(frozen=True, eq=False)
class Discs:
    """Every entry lies within `radius` of `middle`."""

    middle: Complexes
    radius: Floats

    @classmethod
    def exact(cls, values: Any) -> Discs:
        """Return numbers as they are."""
        middle = np.asarray(values, dtype=np.complex128)
        return cls(middle, np.zeros(middle.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.middle.shape

    def __getitem__(self, place: Any) -> Discs:
        return Discs(self.middle[place], self.radius[place])

    def __neg__(self) -> Discs:
        return Discs(-self.middle, self.radius)

    def __add__(self, other: Discs) -> Discs:
        middle = self.middle + other.middle
        return Discs(middle, SAFE * (self.radius + other.radius + 2 * UNIT * sizes(middle)))

    def __sub__(self, other: Discs) -> Discs:
        return self + -other

    def __mul__(self, other: Discs) -> Discs:
        """Return products entry by entry; axes of length one are repeated."""
        a, b = self.middle, other.middle
        middle = np.empty(np.broadcast_shapes(a.shape, b.shape), dtype=np.complex128)
        middle.real = a.real * b.real - a.imag * b.imag
        middle.imag = a.real * b.imag + a.imag * b.real
        left, right = sizes(a), sizes(b)
        return Discs(
            middle, SAFE * (left * (other.radius + 8 * UNIT * right) + self.radius * (right + other.radius)) + TINY
        )

    def image(self, matrix: Floats) -> Discs:
        """Return matrix · v for the vectors v along the last axis, with a matrix of exact real numbers."""
        middle = np.empty((*self.shape[:-1], len(matrix)), dtype=np.complex128)
        middle.real, middle.imag = self.middle.real @ matrix.T, self.middle.imag @ matrix.T
        length = matrix.shape[1]
        error = (self.radius + (length + 8) * UNIT * sizes(self.middle)) @ np.abs(matrix).T
        return Discs(middle, SAFE * error + length * TINY)

    def polynomial(self, coefficients: Discs) -> Discs:
        """Return Σ c_k zᵏ by Horner's rule."""
        last, *others = (coefficients[k] for k in range(len(coefficients.middle) - 1, -1, -1))
        shape = self.shape
        total = Discs(np.broadcast_to(last.middle, shape), np.broadcast_to(last.radius, shape))
        for c in others:
            total = total * self + c
        return total

    def transposed_product(self, other: Discs) -> Discs:
        """Return AᵀB for stacks of matrices A (…, k, m) and B (…, k, n)."""
        length, m, n = self.shape[-2], self.shape[-1], other.shape[-1]
        left = np.concatenate([self.middle.real, self.middle.imag], axis=-1)
        right = np.concatenate([other.middle.real, other.middle.imag], axis=-1)
        parts = np.swapaxes(left, -1, -2) @ right
        middle = np.empty((*parts.shape[:-2], m, n), dtype=np.complex128)
        middle.real = parts[..., :m, :n] - parts[..., m:, n:]
        middle.imag = parts[..., :m, n:] + parts[..., m:, :n]
        sides, rounding = np.swapaxes(sizes(self.middle), -1, -2), (4 * length + 16) * UNIT
        largest = sizes(other.middle)
        error = sides @ (other.radius + rounding * largest)
        error += np.swapaxes(self.radius, -1, -2) @ (largest + other.radius)
        return Discs(middle, SAFE * error + length * TINY)

    @classmethod
    def stacked(cls, parts: Sequence[Discs], axis: int) -> Discs:
        """Return arrays beside each other along an axis."""
        return cls(
            np.concatenate([part.middle for part in parts], axis=axis),
            np.concatenate([part.radius for part in parts], axis=axis),
        )
