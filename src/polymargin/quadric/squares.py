"""A network of degree two as a sum of squares of its hidden values.

    B(x) = Σ_j α_j y_j² + Σ_j ℓ_j y_j + k,     y = W x + s.

Affine stages before the squares melt into (W, s), affine stages after them into (α, ℓ, k); a product is a difference of two
squares, p q = ((a p + q/a)² − (a p − q/a)²) / 4 with a power of two a that makes both alike. The sum is never expanded
where that can be avoided: evaluated from the weights, B and ∇B at a point keep the accuracy that the expanded
coefficients of a network lose to cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.boundary.sources import NetworkSource, Source
from polymargin.errors import InputError
from polymargin.networks import Network
from polymargin.networks.forms import Forms
from polymargin.networks.recurrences import rounded
from polymargin.networks.stages import Polynomial, Product

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HiddenSquares:
    """All logits of a network of degree at most two: values = squares · y² + slopes · y + constants, y = weights x + bias.

    weights (h, n), bias (h,); squares (k, h), slopes (k, h), constants (k,)
    """

    weights: Array
    bias: Array
    squares: Array
    slopes: Array
    constants: Array

    @classmethod
    def from_network(cls, network: Network) -> HiddenSquares:
        """Melt affine stages together; networks of a higher degree, and piecewise ones, are refused."""
        if not network.is_polynomial or network.degree > 2:
            raise InputError(f"{network!r}: a quadric needs polynomial logits of degree at most 2")
        hidden = _Hidden(network.dimension)
        values: list[_Sums] = []
        for stage in network.stages:
            forms = [hidden.of(form, values) for form in stage.forms]
            if isinstance(stage, Product):
                values.append(hidden.product(*forms))
            elif isinstance(stage, Polynomial):
                values.append(hidden.polynomial(stage, forms[0]))
        logits = hidden.wide(hidden.of(network.readout, values))
        return cls(hidden.weights, hidden.bias, logits.squares, logits.slopes, logits.constants)

    def pair(self, label: int, rival: int) -> SquareSum:
        """Return B = f_label − f_rival."""
        return SquareSum(
            self.weights,
            self.bias,
            self.squares[label] - self.squares[rival],
            self.slopes[label] - self.slopes[rival],
            float(self.constants[label] - self.constants[rival]),
        )


@dataclass(frozen=True, eq=False)
class _Sums:
    """squares · y² + slopes · y + constants, for the hidden values y that there were when it was made."""

    squares: Array
    slopes: Array
    constants: Array

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Return which of the values are not constant."""
        return np.asarray(self.squares.any(axis=1) | self.slopes.any(axis=1))

    def scaled(self, factors: Array) -> _Sums:
        return _Sums(factors[:, None] * self.squares, factors[:, None] * self.slopes, factors * self.constants)

    def plus(self, other: _Sums) -> _Sums:
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Sums(*(mine + theirs for mine, theirs in parts))


class _Hidden:
    """The hidden values y = weights x + bias, which become more."""

    def __init__(self, inputs: int) -> None:
        self.weights, self.bias = np.zeros((0, inputs)), np.zeros(0)

    def of(self, forms: Forms, values: list[_Sums]) -> _Sums:
        """Forms of the inputs are hidden values of their own; those of other values are sums of theirs."""
        constants = forms.bias
        parts = []
        for source, block in forms.blocks:
            if source == 0:
                parts.append(self._new(forms.block(0), forms.bias))
                constants = 0 * constants
            else:
                value = values[source - 1]
                parts.append(_Sums(block @ value.squares, block @ value.slopes, block @ value.constants))
        total = self.wide(_Sums(np.zeros((len(forms), 0)), np.zeros((len(forms), 0)), constants))
        for part in parts:
            total = total.plus(self.wide(part))
        return total

    def wide(self, sums: _Sums) -> _Sums:
        """Return the same sums over all present hidden values."""
        missing = len(self.bias) - sums.squares.shape[1]
        squares, slopes = (np.pad(part, ((0, 0), (0, missing))) for part in (sums.squares, sums.slopes))
        return _Sums(squares, slopes, sums.constants)

    def polynomial(self, stage: Polynomial, z: _Sums) -> _Sums:
        """Return the sums of the activation's values; those of degree above two, which no logit uses, are left out."""
        moving, count = z.moving, len(stage)
        if stage.degree == 0:
            moving = np.zeros(count, dtype=bool)
        fixed = _Sums(0 * z.squares, 0 * z.slopes, np.where(moving, 0.0, stage.activate(z.constants)))
        if not moving.any():
            return fixed
        c = [rounded(entry) for entry in stage.recurrence.in_powers(stage.coefficients)]
        moved = moving.astype(np.float64)
        if stage.degree == 1:
            return fixed.plus(z.scaled(c[1] * moved)).plus(_Sums(0 * z.squares, 0 * z.slopes, c[0] * moved))
        if stage.degree > 2:
            return fixed
        moved = moved * ~z.squares.any(axis=1)
        y = z if self._is_unit(z) else self._new(z.slopes @ self.weights, z.slopes @ self.bias + z.constants)
        squares = _Sums(c[2] * y.slopes, c[1] * y.slopes, np.full(count, c[0])).scaled(moved)
        return self.wide(fixed).plus(squares)

    def product(self, left: _Sums, right: _Sums) -> _Sums:
        left, right = self.wide(left), self.wide(right)
        both = left.moving & right.moving
        plain = left.scaled(np.where(both, 0.0, right.constants)).plus(
            right.scaled(np.where(both, 0.0, left.constants))
        )
        constants = np.where(both, 0.0, left.constants * right.constants)
        result = _Sums(plain.squares, plain.slopes, constants)
        if not both.any():
            return result
        # A product with a square counts for no logit, or the network had a higher degree.
        rows = np.flatnonzero(both & ~left.squares.any(axis=1) & ~right.squares.any(axis=1))
        (p, s), (q, t) = (
            (side.slopes[rows] @ self.weights, side.slopes[rows] @ self.bias + side.constants[rows])
            for side in (left, right)
        )
        sizes = [np.sqrt((part**2).sum(axis=1) + shift**2) for part, shift in ((p, s), (q, t))]
        scale = np.exp2(np.round(np.log2(sizes[1] / sizes[0]) / 2))
        p, s, q, t = scale[:, None] * p, scale * s, q / scale[:, None], t / scale
        for sign in (1.0, -1.0):
            y = self._new(p + sign * q, s + sign * t)
            spread = np.zeros((len(both), len(rows)))
            spread[rows, np.arange(len(rows))] = 0.25 * sign
            result = self.wide(result).plus(_Sums(spread @ y.slopes, 0 * (spread @ y.slopes), np.zeros(len(both))))
        return result

    def _new(self, weights: Array, bias: Array) -> _Sums:
        """More hidden values, as sums."""
        known, count = len(self.bias), len(bias)
        self.weights, self.bias = np.concatenate([self.weights, weights]), np.concatenate([self.bias, bias])
        slopes = np.eye(count, known + count, k=known)
        return _Sums(np.zeros_like(slopes), slopes, np.zeros(count))

    def _is_unit(self, z: _Sums) -> bool:
        """Return whether the values are hidden values already."""
        slopes = z.slopes
        ones = np.count_nonzero(slopes, axis=1) == 1
        return not z.constants.any() and bool(np.all(ones & (slopes.sum(axis=1) == 1.0)))


@dataclass(frozen=True, eq=False)
class SquareSum:
    """B(x) = Σ_j squares_j y_j² + Σ_j slopes_j y_j + constant with y = weights x + bias."""

    weights: Array
    bias: Array
    squares: Array
    slopes: Array
    constant: float

    @property
    def dimension(self) -> int:
        """Return the number of variables."""
        return int(self.weights.shape[1])

    def hidden(self, points: ArrayLike) -> Array:
        """Return y at points (…, n)."""
        return np.asarray(real_array(points, "the points") @ self.weights.T + self.bias)

    def __call__(self, points: ArrayLike) -> Array:
        """Return B at points (…, n)."""
        y = self.hidden(points)
        return np.asarray((y * (y * self.squares + self.slopes)).sum(axis=-1) + self.constant)


def squares_of(source: Source) -> SquareSum | None:
    """Return the boundary polynomial of a network of degree at most two; None for any other source."""
    if isinstance(source, NetworkSource) and source.network.is_polynomial and source.network.degree <= 2:
        return HiddenSquares.from_network(source.network).pair(source.label, source.rival)
    return None
