"""The distance to a hyperplane, from its exact coefficients.

A boundary of degree one is B(x) = w·x + c with rational w and c, whatever the network that it comes from looks like. The
distance |w·u + c| / ‖w‖ is computed in floats where their rounding cannot matter, and in rational arithmetic elsewhere. A common
power of two is taken out of w and c first, so that no size of weights is too large or too small.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary, Metric
from polymargin.polynomials import to_rational

Array = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)
# Relative error that floats may leave in w·u + c.
ACCURATE = 1e-13


class Hyperplane:
    """{w·x + c = 0}, made once for all points."""

    def __init__(self, boundary: Boundary) -> None:
        origin = [Fraction(0)] * boundary.dimension
        slopes, constant = boundary.exact_gradient(origin), boundary.exact_value(origin)
        # Slopes of size one; what is then below the range of doubles could not be seen beside them.
        largest = max(abs(slope) for slope in slopes)
        unit = Fraction(2) ** (largest.denominator.bit_length() - largest.numerator.bit_length())
        self._unit = unit
        self._slopes = [slope * unit for slope in slopes]
        self._constant = constant * unit
        self._normal = np.array([float(slope) for slope in self._slopes])
        self._length = float(np.linalg.norm(self._normal))

    def distance(self, u: Array) -> float:
        """Return ‖foot − u‖, with a few units of rounding."""
        return abs(self._value(u)) / self._length

    def foot(self, u: Array) -> Array:
        """Return the nearest point of the hyperplane."""
        direction = self._normal / self._length
        return np.asarray(u - self._value(u) / self._length * direction)

    def multiplier(self, u: Array) -> float:
        """Return λ with u − foot = λ∇B."""
        return _as_float(Fraction(self._value(u) / self._length**2) * self._unit)

    def answer(self, u: Array) -> tuple[Array, float, float]:
        """Return foot, distance and multiplier."""
        return self.foot(u), self.distance(u), self.multiplier(u)

    def _value(self, u: Array) -> float:
        """Return w·u + c."""
        constant = _as_float(self._constant)
        value = float(self._normal @ u) + constant
        error = (len(u) + 3) * EPSILON * (float(np.abs(self._normal) @ np.abs(u)) + abs(constant))
        if math.isfinite(value) and error <= ACCURATE * abs(value):
            return value
        exact = sum((w * Fraction(x) for w, x in zip(self._slopes, u.tolist(), strict=True)), self._constant)
        return _as_float(exact)


def foot_in_metric(boundary: Boundary, metric: Metric, u: Array) -> tuple[Array, float, float]:
    """Return foot, distance and multiplier in a metric Q, from exact coefficients: u − foot = λQ⁻¹w."""
    point = [Fraction(entry) for entry in u.tolist()]
    value, slopes = boundary.exact_value(point), boundary.exact_gradient(point)
    rows = [[to_rational(entry) for entry in row] for row in metric.rational]
    raised = flint.fmpq_mat(rows).solve(flint.fmpq_mat([[to_rational(slope)] for slope in slopes]))
    direction = [Fraction(int(row[0].p), int(row[0].q)) for row in raised.tolist()]
    square = sum((w * d for w, d in zip(slopes, direction, strict=True)), Fraction(0))
    multiplier = value / square
    foot = np.array([float(x - multiplier * d) for x, d in zip(point, direction, strict=True)])
    return foot, abs(float(value)) / math.sqrt(float(square)), float(multiplier)


def _as_float(number: Fraction) -> float:
    """Return the nearest double, infinite beyond their range."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
