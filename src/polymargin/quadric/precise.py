"""The nearest point of a quadric, enclosed: for the few cases in which doubles cannot be trusted.

Same idea as in `secular`, in arithmetic that knows its own error. With B(u) > 0 and x(λ) = u − λ(1 + 2λA)⁻¹∇B(u), the function
f(λ) = B(x(λ)) falls strictly on [0, λ₊), where 1 + 2λA is positive definite, and ‖x(λ) − u‖ rises. Where f(λ) > 0 the open ball
of that radius around u holds no zero of B; where f(λ) ≤ 0 the closed ball holds one. So two values of λ with different signs of f
enclose the distance. Bisection brings them together; all numbers are balls or rationals, and a sign that matters is certain, or
nothing is said.

Structure is exact: the eigenvalues of A are roots of its characteristic polynomial over ℚ, with their multiplicities; whether ∇B
leaves the range of A, and the value S of B at its critical points, come from rational linear algebra. If f stays positive up to a
finite λ₊ (the hard case), the rest of the way lies in the eigenspace of the least eigenvalue: then ‖x(λ) − u‖² + 2λf(λ), below
the squared distance for any λ < λ₊ by duality, is the lower bound, and a point with B ≤ 0 the upper one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.polynomials import to_rational
from polymargin.polynomials.balls import above, below, precision
from polymargin.quadric.form import exact_form

Array = NDArray[np.float64]

PRECISION = 1800
# Bisections after the first bracket; the radii then agree to more digits than doubles have.
BISECTIONS = 90
# As near to λ₊ as the search goes, in bits.
CLOSEST = 200
# Powers of two that are tried for λ: up to this one and down to its reciprocal, and as far as this where that is not enough.
LARGEST_EXPONENT, LAST_EXPONENT = 700, 16_000
# The upper end goes beyond the root by this many of the last steps, and by this share in the hard case.
BEYOND, HARD_BEYOND = 16, -100
# Beyond this many variables exact arithmetic takes too long.
MOST_VARIABLES = 40


@dataclass(frozen=True, eq=False)
class EnclosedNearest:
    """`lower` ≤ distance ≤ `upper`; `point` is within rounding of a nearest point, None if {B = 0} is empty over the reals."""

    lower: float
    upper: float
    point: Array | None


class PreciseQuadric:
    """One quadric in few variables, made once for all points."""

    def __init__(self, boundary: Boundary) -> None:
        matrix, linear, constant = exact_form(boundary)
        self._matrix = flint.fmpq_mat([[to_rational(entry) for entry in row] for row in matrix])
        self._linear = [to_rational(entry) for entry in linear]
        self._constant = to_rational(constant)
        self._size = len(linear)
        with precision(PRECISION):
            found: Any = self._matrix.charpoly().complex_roots()
            roots = sorted((root.real for root, _ in found), key=lambda root: float(root.mid()))
            if not all(bool(root > 0) or bool(root < 0) or bool(root == 0) for root in roots):
                raise ArithmeticError("the signs of the quadric's eigenvalues stay open; rescale the inputs")
            self._least, self._most = roots[0], roots[-1]

    def nearest(self, u: Array) -> EnclosedNearest:
        """Enclose the distance from u (n,) to {B = 0}."""
        point = flint.fmpq_mat([[to_rational(Fraction(value))] for value in u.tolist()])
        slope = 2 * (self._matrix * point) + flint.fmpq_mat([[entry] for entry in self._linear])
        value = (point.transpose() * (self._matrix * point))[0, 0] + self._constant
        value += sum((b * x for b, x in zip(self._linear, point.entries(), strict=True)), flint.fmpq(0))
        if value == 0:
            return EnclosedNearest(0.0, 0.0, u.copy())
        sign = 1 if value > 0 else -1
        with precision(PRECISION):
            lowest = self._least if sign > 0 else -self._most
            seen = _Seen(sign * self._matrix, sign * slope, sign * value, lowest)
            return seen.nearest(u)


class _Seen:
    """The quadric as seen from a point at which it is positive."""

    def __init__(self, matrix: Any, slope: Any, value: Any, lowest: Any) -> None:
        self.exact_matrix, self.exact_slope, self.exact_value, self.lowest = matrix, slope, value, lowest
        self.matrix, self.slope, self.value = flint.arb_mat(matrix), flint.arb_mat(slope), flint.arb(value)
        self.identity = flint.arb_mat(matrix.nrows(), matrix.nrows(), 1)

    def nearest(self, u: Array) -> EnclosedNearest:
        if bool(self.lowest < 0):
            return self._indefinite(u)
        flat = self._lowest_value()
        if flat is not None:
            value, step = flat
            if value > 0:
                return EnclosedNearest(math.inf, math.inf, None)
            if value == 0:
                return _enclosed(u, _norm(step), _norm(step), step)
        return self._bracketed(u, _power)

    def _indefinite(self, u: Array) -> EnclosedNearest:
        """Search λ below λ₊/2 in powers of two, above it as λ₊(1 − 2^−k)."""
        end = (-1 / (2 * self.lowest)).mid()
        if self._is_beyond((end / 2).mid()):
            return self._bracketed(u, lambda exponent: (end / 2 * _power(exponent)).mid(), 0)

        def place(k: int) -> Any:
            return (end * (1 - _power(-k))).mid()

        if self._is_beyond(place(CLOSEST)):
            k = _first(lambda k: self._is_beyond(place(k)), 1, CLOSEST)
            return self._bisected(u, place(k - 1), place(k))
        return self._hard(u, place(CLOSEST))

    def _hard(self, u: Array, multiplier: Any) -> EnclosedNearest:
        step, value = self._step(multiplier)
        length = _norm(step)
        lower = (length * length + 2 * multiplier * value).nonnegative_part().sqrt()
        rest = ((value / -self.lowest).nonnegative_part().sqrt() * (1 + _power(HARD_BEYOND))).mid()
        direction = self._lowest_direction()
        ways = [step + direction * (sign * rest) for sign in (1, -1)]
        beyond = [_norm(way) for way in ways if bool(self._value(way) <= 0)]
        if not beyond:
            raise ArithmeticError("the nearest point of the quadric stays open; rescale the inputs")
        chosen = min(ways, key=lambda way: float(self._value(way).mid()))
        return _enclosed(u, lower, min(beyond, key=lambda norm: float(norm.mid())), chosen)

    def _bracketed(self, u: Array, place: Callable[[int], Any], largest: int = LARGEST_EXPONENT) -> EnclosedNearest:
        """Bisect between two neighbouring powers of two."""
        while not self._is_beyond(place(largest)):
            largest *= 2
            if largest > LAST_EXPONENT:
                raise ArithmeticError("the nearest point of the quadric is too far away; rescale the inputs")
        smallest = -LARGEST_EXPONENT
        while self._is_beyond(place(smallest)):
            smallest *= 2
            if smallest < -LAST_EXPONENT:
                raise ArithmeticError("the nearest point of the quadric is too near; rescale the inputs")
        exponent = _first(lambda e: self._is_beyond(place(e)), smallest, largest)
        return self._bisected(u, place(exponent - 1), place(exponent))

    def _lowest_direction(self) -> Any:
        """Return a unit vector of the least eigenvalue, by one step of inverse iteration from an accurate eigenvalue."""
        size = self.matrix.nrows()
        shifted = self.matrix - (self.lowest.mid() - _power(-PRECISION // 2)) * self.identity
        start = flint.arb_mat([[flint.arb(1) + flint.arb(i) / (3 * size)] for i in range(size)])
        vector = shifted.mid().solve(start, algorithm="approx").mid()
        vector = shifted.mid().solve(vector * (1 / _norm(vector)).mid(), algorithm="approx").mid()
        return vector * (1 / _norm(vector)).mid()

    def _bisected(self, u: Array, low: Any, high: Any) -> EnclosedNearest:
        for _ in range(BISECTIONS):
            middle = ((low + high) / 2).mid()
            low, high = (low, middle) if self._is_beyond(middle) else (middle, high)
        # At the root itself no ball has a sign.
        step, value = self._step((high + BEYOND * (high - low)).mid())
        if not bool(value <= 0):
            raise ArithmeticError("the nearest point of the quadric stays open; rescale the inputs")
        return _enclosed(u, _norm(self._step(low)[0]), _norm(step), step)

    def _is_beyond(self, multiplier: Any) -> bool:
        return not bool(self._step(multiplier)[1] > 0)

    def _step(self, multiplier: Any) -> tuple[Any, Any]:
        """Return x(λ) − u and f(λ)."""
        step = (self.identity + 2 * multiplier * self.matrix).solve(self.slope) * -multiplier
        return step, self._value(step)

    def _value(self, step: Any) -> Any:
        """Return B(u + step)."""
        return self.value + (self.slope.transpose() * step)[0, 0] + (step.transpose() * (self.matrix * step))[0, 0]

    def _lowest_value(self) -> tuple[Any, Any] | None:
        """Return, for A ⪰ 0, S and the shortest step to where ∇B = 0; None if B is unbounded below on the kernel of A."""
        squared = self.exact_matrix * self.exact_matrix
        size = squared.nrows()
        right = self.exact_slope.entries()  # 2A·step = −∇B for a step in the range of A: step = Az, A²z = −∇B/2
        augmented = flint.fmpq_mat([[*row, entry] for row, entry in zip(squared.tolist(), right, strict=True)])
        reduced, rank = augmented.rref()
        table, solution = reduced.tolist(), [flint.fmpq(0)] * size
        for row in table[:rank]:
            pivot = next(j for j, entry in enumerate(row) if entry != 0)
            if pivot == size:
                return None
            solution[pivot] = row[size] / -2
        step = self.exact_matrix * flint.fmpq_mat([[entry] for entry in solution])
        value = self.exact_value + (self.exact_slope.transpose() * step)[0, 0] / 2
        return value, flint.arb_mat(step)


def _enclosed(u: Array, lower: Any, upper: Any, step: Any) -> EnclosedNearest:
    """Return the bounds as doubles, and u + step."""
    coordinates = [float((flint.arb(x) + d).mid()) for x, d in zip(u.tolist(), step.entries(), strict=True)]
    return EnclosedNearest(max(0.0, below(lower)), above(upper), np.array(coordinates))


def _first(holds: Callable[[int], bool], below: int, at: int) -> int:
    """Return the least number above `below` for which a monotone condition holds that holds at `at`."""
    while at - below > 1:
        middle = (below + at) // 2
        below, at = (below, middle) if holds(middle) else (middle, at)
    return at


def _power(exponent: int) -> Any:
    return flint.arb(2) ** exponent


def _norm(vector: Any) -> Any:
    return sum((entry * entry for entry in vector.entries()), flint.arb(0)).nonnegative_part().sqrt()
