"""Networks with one hidden layer whose activation is a polynomial spline.

    f(x) = W₂ σ(W₁ x + b₁) + b₂,     σ = p_i on [t_i, t_{i+1}],     t_0 = −∞ < t_1 < … < t_m < t_{m+1} = ∞.

The regions of the input space are polyhedra cut out by the hyperplanes w_j·x + b_j = t_i, and on each of them the logits are
polynomials: piecewise linear, quadratic or cubic activations, hard versions of smooth ones, squared ReLU. In deeper networks
the regions are cut out by curved surfaces; those are not covered here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymargin.arguments import real_array
from polymargin.errors import InputError
from polymargin.networks.layers import LayerStack, checked_layers
from polymargin.piecewise.relu.network import exact_layers, rational_matrix

Array = NDArray[np.float64]

# Two pieces agree at a breakpoint if they differ by rounding only: coefficients such as 1/6 are no doubles.
LARGEST_JUMP = 1e-12


class SplineNetwork(LayerStack):
    """A classifier with piecewise polynomial logits.

    Parameters
    ----------
    layers       two pairs (W, b) or bare matrices W; W has shape (out, in)
    breakpoints  t_1 < … < t_m, at least one
    pieces       m + 1 sequences of coefficients (c_0, c_1, …), from the left; neighbours must agree at their breakpoint

    >>> squared = SplineNetwork([[[1.0], [-1.0]], [[1.0, 0.0], [0.0, 1.0]]], breakpoints=[0.0], pieces=[[0.0], [0.0, 0.0, 1.0]])
    >>> squared([3.0]).tolist()
    [9.0, 0.0]
    """

    def __init__(self, layers: Sequence[Any], breakpoints: Sequence[float], pieces: Sequence[Sequence[float]]) -> None:
        self.layers = checked_layers(layers)
        if len(self.layers) != 2:
            raise InputError(
                f"{len(self.layers)} layers: a spline network has one hidden layer, so two pairs (W, b); "
                "in deeper ones the regions are not polyhedra (unless the spline is ReLU: use ReLUNetwork)"
            )
        self.breakpoints = _breakpoints(breakpoints)
        if len(pieces) != len(self.breakpoints) + 1:
            raise InputError(
                f"{len(pieces)} pieces for {len(self.breakpoints)} breakpoints; expected one more piece than breakpoints"
            )
        self.pieces = tuple(_piece(coefficients, number) for number, coefficients in enumerate(pieces, start=1))
        _check_continuity(self.breakpoints, self.pieces)

    @property
    def degree(self) -> int:
        """Largest degree of a piece."""
        return max(len(piece) for piece in self.pieces) - 1

    def __repr__(self) -> str:
        widths = "-".join(map(str, self.widths))
        return f"SplineNetwork({widths}, {len(self.pieces)} pieces of degree up to {self.degree})"

    def activate(self, values: Array) -> Array:
        """σ for any number of values."""
        return self.on_pieces(np.searchsorted(self.breakpoints, values, side="right"), values)

    def slopes(self, values: Array) -> Array:
        """σ' for any number of values; from the right at a breakpoint."""
        index = np.searchsorted(self.breakpoints, values, side="right")
        derivatives = self._table[:, 1:] * np.arange(1, self._table.shape[1])
        return _horner(derivatives[index], values)

    def on_pieces(self, index: NDArray[np.int64], values: Array) -> Array:
        """The piece with the given index, at each value."""
        return _horner(self._table[index], values)

    def largest_terms(self, sizes: Array) -> Array:
        """Σ_k |c_k| size^k for the largest coefficients of all pieces: no piece has larger terms up to that size."""
        return _horner(np.abs(self._table).max(axis=0), sizes)

    @cached_property
    def _table(self) -> Array:
        """The coefficients of all pieces as rows of equal length, at least two."""
        table = np.zeros((len(self.pieces), max(2, self.degree + 1)))
        for row, piece in zip(table, self.pieces, strict=True):
            row[: len(piece)] = piece
        return table

    def __call__(self, points: ArrayLike) -> Array:
        """The logits at one point (n,) or a batch (m, n)."""
        return np.asarray(self.layers[1](self.activate(self.layers[0](real_array(points, "the points")))))

    def predict(self, points: ArrayLike) -> NDArray[np.int64]:
        """The class of the largest logit."""
        return np.asarray(np.argmax(self(points), axis=-1))

    def exact_logits(self, point: ArrayLike) -> list[Fraction]:
        """The logits at one point in exact arithmetic; at a breakpoint the piece to its right counts."""
        x = real_array(point, "the point")[:, None]
        (first, first_bias), (last, last_bias) = self._exact_layers
        hidden = [self._exact_activation(value) for value in (first * rational_matrix(x) + first_bias).entries()]
        logits = last * flint.fmpq_mat(len(hidden), 1, hidden) + last_bias
        return [Fraction(int(value.p), int(value.q)) for value in logits.entries()]

    def _exact_activation(self, value: Any) -> Any:
        index = sum(value >= flint.fmpq(*point.as_integer_ratio()) for point in self.breakpoints.tolist())
        total = flint.fmpq(0)
        for coefficient in reversed(self.pieces[index]):
            total = total * value + flint.fmpq(*coefficient.as_integer_ratio())
        return total

    @cached_property
    def _exact_layers(self) -> tuple[tuple[Any, Any], ...]:
        return exact_layers(self)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the exact weights, breakpoints and pieces."""
        digest = self.layers_digest(b"polymargin spline network 1")
        exact = [[value.hex() for value in row] for row in (self.breakpoints.tolist(), *self.pieces)]
        digest.update(repr(exact).encode())
        return str(digest.hexdigest())


def _horner(coefficients: Array, values: Array) -> Array:
    """Σ_k coefficients[…, k] values^k."""
    total = coefficients[..., -1]
    for power in range(coefficients.shape[-1] - 2, -1, -1):
        total = total * values + coefficients[..., power]
    return np.asarray(total)


def _breakpoints(values: Sequence[float]) -> Array:
    array = _numbers(values, "the breakpoints")
    if (np.diff(array) <= 0).any():
        raise InputError(f"breakpoints {array.tolist()}: expected increasing numbers")
    array.setflags(write=False)
    return array


def _piece(values: Sequence[float], number: int) -> tuple[float, ...]:
    trimmed = np.trim_zeros(_numbers(values, f"the coefficients of piece {number}"), "b")
    return tuple((trimmed if trimmed.size else np.zeros(1)).tolist())


def _numbers(values: Sequence[float], name: str) -> Array:
    array = real_array(values, name).copy()
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise InputError(f"{name} {values!r}: expected a list of finite numbers, at least one")
    return array


def _check_continuity(breakpoints: Array, pieces: tuple[tuple[float, ...], ...]) -> None:
    for position, point in enumerate(breakpoints.tolist()):
        sides = [np.polynomial.polynomial.polyval(point, pieces[position + side]) for side in (0, 1)]
        terms = [np.polynomial.polynomial.polyval(abs(point), np.abs(pieces[position + side])) for side in (0, 1)]
        if abs(sides[0] - sides[1]) > LARGEST_JUMP * (1 + max(terms)):
            raise InputError(
                f"the activation jumps from {sides[0]:.6g} to {sides[1]:.6g} at the breakpoint {point:g}; "
                "pieces must agree at their common breakpoint"
            )
