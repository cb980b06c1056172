"""Boundaries that depend on one combination of the inputs: all their zeros, enclosed.

If B changes along one direction w only, B(x) = b(w·x), every tie lies on the line u + t·w or beside it, and those on the line
are the nearest. So the margin is ‖w‖ times the least |t| among the real roots of the univariate polynomial b(t) = B(u + t·w).
Its coefficients are rational numbers; isolating its roots is a matter of exact arithmetic (python-flint), whatever the degree,
however close the roots are to each other or to the real line. The answer is a proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.polynomials import evaluate, to_rational
from polymargin.polynomials.balls import above, below, precision

Array = NDArray[np.float64]

# Roots are enclosed to about this many bits, far more than the doubles that are read off them.
PRECISION = 160


@dataclass(frozen=True, eq=False)
class LineTies:
    """The nearest tie on the line and how many there are; `lower` and `upper` enclose its distance."""

    lower: float
    upper: float
    point: Array | None
    complex_count: int
    real_count: int


def real_roots(boundary: Boundary, start: Array, direction: Array) -> tuple[Array, int]:
    """Return all real t with B(start + t·direction) = 0, each rounded once, and the number of complex ones, by isolation."""
    exact = [[Fraction(value) for value in vector.tolist()] for vector in (start, direction)]
    with precision(PRECISION):
        roots = _roots(boundary, *exact)
        return np.array([float(root.real.mid()) for root in roots if root.imag == 0]), len(roots)


def _roots(boundary: Boundary, start: list[Fraction], direction: list[Fraction]) -> list[Any]:
    """Return the enclosures of the roots on a line; real ones have the imaginary part zero. None where B is constant there."""
    line = [flint.fmpq_poly([to_rational(x), to_rational(w)]) for x, w in zip(start, direction, strict=True)]
    restricted = evaluate(boundary.program, line, lift=lambda c: flint.fmpq_poly([to_rational(c)]))[0]
    return [root for root, _ in restricted.complex_roots()] if restricted.degree() > 0 else []


class Line:
    """A boundary with one active direction, made once for all points."""

    def __init__(self, boundary: Boundary) -> None:
        self._boundary = boundary
        directions = boundary.space.directions
        first = [Fraction(1)] if directions is None else max(directions, key=lambda row: sum(x * x for x in row))
        # Any multiple will do; entries of size one keep t within the range of doubles.
        largest = max(abs(entry) for entry in first)
        self._direction = [entry / largest for entry in first]

    def ties(self, u: Array) -> LineTies:
        """Return all zeros of b for the point u (n,)."""
        start = [Fraction(value) for value in u.tolist()]
        with precision(PRECISION):
            length = flint.arb(to_rational(sum((w * w for w in self._direction), Fraction(0)))).sqrt()
            roots = _roots(self._boundary, start, self._direction)
            reals = sorted((root.real for root in roots if root.imag == 0), key=lambda root: float(abs(root).mid()))
            distances = [abs(root) * length for root in reals]
            lower = min((max(0.0, below(distance)) for distance in distances), default=math.inf)
            upper = min((above(distance) for distance in distances), default=math.inf)
            point = self._point(start, reals[0]) if reals else None
        return LineTies(lower, upper, point, len(roots), len(reals))

    def _point(self, start: list[Fraction], root: Any) -> Array:
        """Return u + t·w, each coordinate rounded once."""
        coordinates = [
            flint.arb(to_rational(x)) + root * flint.arb(to_rational(w))
            for x, w in zip(start, self._direction, strict=True)
        ]
        return np.array([float(coordinate.mid()) for coordinate in coordinates])
