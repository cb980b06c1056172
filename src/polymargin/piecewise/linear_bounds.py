"""Linear bounds of a ReLU network on a cap, the part of a ball that lies beyond a hyperplane.

Where the sign of z is known, ρ(z) = max(z, 0) is linear. Where only l ≤ z ≤ u is known, with l < 0 < u,

    s z ≤ ρ(z) ≤ u (z − l) / (u − l)        for any slope 0 ≤ s ≤ 1,

so a linear function of the activations of a layer has a linear lower bound in the values before it, and, layer by layer, in
the input (Wong and Kolter 2018; Zhang et al., CROWN, 2018). The bound is exact at a point y if s = 1 where z > 0 and s = 0
elsewhere, as far as the lower lines are concerned; what the upper lines lose there is known neuron by neuron.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cap:
    """{y : ‖y‖ ≤ radius, normal·y ≥ depth} with a unit normal, or a zero normal and depth 0 for the whole ball."""

    normal: Array
    depth: float
    radius: float

    def largest(self, rows: Array) -> Array:
        """Return max rows @ y over the cap, for each row."""
        sizes = np.linalg.norm(rows, axis=1)
        along = rows @ self.normal
        rim = np.sqrt(max((self.radius - self.depth) * (self.radius + self.depth), 0.0))
        across = np.sqrt(np.maximum((sizes - along) * (sizes + along), 0.0))
        in_cap = self.radius * along >= self.depth * sizes
        return np.asarray(np.where(in_cap, self.radius * sizes, along * self.depth + across * rim))


@dataclass(frozen=True, eq=False)
class PreactivationRanges:
    """Known ranges l ≤ z ≤ u of the values before the activations of one layer."""

    low: Array
    high: Array

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Return which neurons may have either sign."""
        return np.asarray((self.low < 0) & (self.high > 0))

    def upper_lines(self) -> tuple[Array, Array]:
        """Return the slopes and shifts of the upper lines; exact where the sign is known."""
        undecided = self.undecided
        width = np.where(undecided, self.high - self.low, 1.0)
        slopes = np.where(undecided, self.high / width, (self.low >= 0).astype(np.float64))
        return slopes, np.where(undecided, -self.low * slopes, 0.0)

    def lower_slopes(self, values: Array | None = None) -> Array:
        """Return the slopes of the lower lines: exact at `values` if given, else the line that loses less area."""
        active = self.high > -self.low if values is None else values > 0
        return np.where(self.undecided, active, self.low >= 0).astype(np.float64)


@dataclass(frozen=True, eq=False)
class LinearBounds:
    """rows @ y + constants ≤ the given functions, and per layer the factors with which each ρ(z) entered."""

    rows: Array
    constants: Array
    factors: tuple[Array, ...]


def lower_bounds(
    layers: list[tuple[Array, Array]],
    ranges: list[PreactivationRanges],
    slopes: list[Array],
    coefficients: Array,
    constants: Array,
) -> LinearBounds:
    """Return linear lower bounds in y of coefficients @ ρ(z) + constants, z the values of the last of `ranges`.

    layers[i] = (W, b) leads to ranges[i]; slopes[i] are the slopes of the lower lines there.
    """
    factors = []
    for (weights, bias), known, lower_slopes in zip(
        reversed(layers[: len(ranges)]), reversed(ranges), reversed(slopes), strict=True
    ):
        factors.append(coefficients)
        upper_slopes, shifts = known.upper_lines()
        negative = np.minimum(coefficients, 0.0)
        constants = constants + negative @ shifts
        through = (coefficients - negative) * lower_slopes + negative * upper_slopes
        constants = constants + through @ bias
        coefficients = through @ weights
    return LinearBounds(coefficients, constants, tuple(reversed(factors)))


def losses(factors: Array, known: PreactivationRanges, lower_slopes: Array, values: Array) -> Array:
    """Return the error of each neuron's line at `values` times its factor: the most that deciding the neuron can gain."""
    upper_slopes, shifts = known.upper_lines()
    active = np.maximum(values, 0.0)
    below = np.maximum(factors, 0.0) * (active - lower_slopes * values)
    above = -np.minimum(factors, 0.0) * (upper_slopes * values + shifts - active)
    return np.asarray(np.where(known.undecided, below + above, 0.0))
