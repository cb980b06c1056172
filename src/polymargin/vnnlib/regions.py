"""The inputs that a case allows: balls and boxes, recognised exactly from polynomials.

q Σ_i (x_i − c_i)² ≤ q r² in any spelling is a ball: the same positive coefficient on every square, no mixed products. Bounds of
single inputs make a box, or a domain for the ball. A proof of unsatisfiability needs one neighbourhood that contains the whole
region, with floats rounded outward; a witness must satisfy every comparison as it stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from polymargin.regions import L2, Linf, Norm, Region
from polymargin.vnnlib.expressions import Case, ConstraintComparison, Variable

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ball:
    """‖x − centre‖² ≤ squared_radius."""

    centre: tuple[Fraction, ...]
    squared_radius: Fraction

    @property
    def float_centre(self) -> Array:
        """Return the centre rounded to doubles."""
        return np.array([float(value) for value in self.centre])

    @property
    def outer_radius(self) -> float:
        """Return a radius with which the ball around the rounded centre contains this one, and no point of it on its sphere."""
        return math.nextafter(root_above(self.squared_radius) + root_above(self._offset), math.inf)

    @property
    def inner_radius(self) -> float:
        """Return a radius with which the ball around the rounded centre lies inside this one; it may be negative."""
        low = math.nextafter(root_above(self.squared_radius), 0.0)
        while Fraction(low) ** 2 > self.squared_radius:
            low = math.nextafter(low, -1.0)
        return math.nextafter(low - root_above(self._offset), -math.inf)

    @property
    def _offset(self) -> Fraction:
        return sum(((Fraction(float(value)) - value) ** 2 for value in self.centre), Fraction(0))


@dataclass(frozen=True)
class InputBox:
    """lower ≤ x ≤ upper, entry by entry."""

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]

    @property
    def centre(self) -> tuple[Fraction, ...]:
        """Return the centre of the box."""
        return tuple((low + high) / 2 for low, high in zip(self.lower, self.upper, strict=True))

    @property
    def enclosing(self) -> Ball:
        """Return the smallest ball around the box."""
        halves = [(high - low) / 2 for low, high in zip(self.lower, self.upper, strict=True)]
        return Ball(self.centre, sum((half**2 for half in halves), Fraction(0)))

    @property
    def enclosed(self) -> Ball:
        """Return the largest ball inside the box, around its centre."""
        return Ball(self.centre, min((high - low) / 2 for low, high in zip(self.lower, self.upper, strict=True)) ** 2)


@dataclass(frozen=True)
class Asked:
    """A ball around a float point that contains a region: what `verify` is asked about."""

    centre: tuple[float, ...]
    radius: float
    norm: Norm
    domain: tuple[tuple[float, ...], tuple[float, ...]] | None

    @property
    def within(self) -> Region:
        """Return the region that `verify` receives, without the radius."""
        return Linf(self.domain) if self.norm is Norm.LINF else L2(self.domain)


@dataclass(frozen=True)
class QueryRegion:
    """The inputs of a case.

    balls       balls that contain the region, the smallest first
    box         the box, if every input is bounded
    empty       whether the bounds contradict each other
    lower, upper   the bounds of every input, None where there is none
    """

    balls: tuple[Ball, ...]
    box: InputBox | None
    empty: bool
    lower: tuple[Fraction | None, ...] = ()
    upper: tuple[Fraction | None, ...] = ()

    def clip(self, points: Array) -> Array:
        """Return the nearest points whose float64 coordinates lie within the bounds."""
        low = np.array([-np.inf if end is None else float_above(end) for end in self.lower])
        high = np.array([np.inf if end is None else -float_above(-end) for end in self.upper])
        return np.clip(points, low, np.maximum(low, high))

    @property
    def asked(self) -> list[Asked]:
        """Return the box as a box; a ball within the bounds; and the smallest ball alone."""
        result = []
        bounded = any(end is not None for end in (*self.lower, *self.upper))
        low = tuple(-math.inf if end is None else -float_above(-end) for end in self.lower)
        high = tuple(math.inf if end is None else float_above(end) for end in self.upper)
        smallest = self.balls[0].float_centre
        if self.box is not None:
            centre = tuple(np.clip([float(value) for value in self.box.centre], low, high).tolist())
            reaches = [max(b - c, c - a) for a, b, c in zip(low, high, centre, strict=True)]
            radius = math.nextafter(math.nextafter(max(reaches), math.inf), math.inf)
            result.append(Asked(centre, max(radius, 1e-300), Norm.LINF, (low, high)))
        given = self.box is None or self.balls[0] != self.box.enclosing
        if bounded and given and all(a <= c <= b for a, b, c in zip(low, high, smallest.tolist(), strict=True)):
            result.insert(0, Asked(tuple(smallest.tolist()), self.balls[0].outer_radius, Norm.L2, (low, high)))
        return [*result, Asked(tuple(smallest.tolist()), self.balls[0].outer_radius, Norm.L2, None)]


def region_of(case: Case, dimension: int) -> QueryRegion:
    """Return the region of a case from the comparisons that involve inputs only."""
    lower: list[Fraction | None] = [None] * dimension
    upper: list[Fraction | None] = [None] * dimension
    balls: list[Ball] = []
    empty = False
    for comparison in case:
        polynomial = comparison.polynomial
        if polynomial.kinds == set():
            empty |= not comparison.holds([], [])
        elif polynomial.kinds == {"X"} and polynomial.degree == 1 and len(polynomial.terms.keys() - {()}) == 1:
            empty |= _tighten(comparison, lower, upper)
        elif polynomial.kinds == {"X"} and polynomial.degree == 2 and (ball := _ball(comparison, dimension)):
            empty |= ball.squared_radius < 0
            balls.append(ball)
    bounds = [(low, high) for low, high in zip(lower, upper, strict=True) if low is not None and high is not None]
    box = None
    if len(bounds) == dimension and not empty:
        box = InputBox(tuple(low for low, _ in bounds), tuple(high for _, high in bounds))
        balls.append(box.enclosing)
    balls = [] if empty else sorted(balls, key=lambda ball: ball.squared_radius)
    return QueryRegion(tuple(balls), box, empty, tuple(lower), tuple(upper))


def _tighten(comparison: ConstraintComparison, lower: list[Fraction | None], upper: list[Fraction | None]) -> bool:
    """Take a bound a x_i + b ≥ 0 into account; whether nothing is left."""
    polynomial = comparison.polynomial
    ((monomial, slope),) = ((m, c) for m, c in polynomial.terms.items() if m)
    place, bound = monomial[0].index, -polynomial.coefficient() / slope
    if slope > 0:
        lower[place] = bound if lower[place] is None else max(bound, lower[place])  # type: ignore[type-var]
    else:
        upper[place] = bound if upper[place] is None else min(bound, upper[place])  # type: ignore[type-var]
    low, high = lower[place], upper[place]
    return low is not None and high is not None and (low > high or (low == high and comparison.strict))


def _ball(comparison: ConstraintComparison, dimension: int) -> Ball | None:
    """Return the ball of a quadratic comparison −q Σ x_i² + 2q Σ c_i x_i + b ≥ 0."""
    polynomial = comparison.polynomial
    variables = [Variable("X", index) for index in range(dimension)]
    size = -polynomial.coefficient(variables[0], variables[0])
    squares = sum(len(monomial) == 2 for monomial in polynomial.terms)
    if size <= 0 or squares != dimension or any(polynomial.coefficient(v, v) != -size for v in variables):
        return None
    centre = tuple(polynomial.coefficient(variable) / (2 * size) for variable in variables)
    return Ball(centre, polynomial.coefficient() / size + sum((value**2 for value in centre), Fraction(0)))


def root_above(value: Fraction) -> float:
    """Return a float that is at least the square root of a rational, and close to it."""
    if value <= 0:
        return 0.0
    # isqrt on a scaled numerator: the quotient has about 120 bits, and one more in the last place makes it an upper bound.
    shift = max(0, 120 - (value.numerator.bit_length() - value.denominator.bit_length()))
    shift += shift % 2
    scaled = math.isqrt((value.numerator << shift) // value.denominator) + 1
    return float_above(Fraction(scaled, 1 << (shift // 2)))


def float_above(value: Fraction) -> float:
    """Return the smallest float that is at least a rational."""
    result = float(value)
    return result if Fraction(result) >= value else math.nextafter(result, math.inf)
