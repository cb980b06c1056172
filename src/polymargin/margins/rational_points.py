"""Singular points of a boundary with rational coordinates, near a point in doubles.

Three guesses, each decided in rational arithmetic by B = 0: simple fractions nearby, the point where those forms of the first
layer vanish that nearly do, and the limit of Newton's method on ∇B = 0. A rational point is recognised by its continued
fractions: coordinates known to twice the bits of their numerators and denominators leave one candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin.boundary import Boundary
from polymargin.polynomials import Graph, flatten, gradient, hessian, to_rational
from polymargin.polynomials.balls import BallProgram, precision

Array = NDArray[np.float64]
Rational: TypeAlias = list[Fraction]

LARGEST_SIMPLE_DENOMINATOR = 10_000
# Forms below this share of their size at the point are taken to vanish, until exact arithmetic has its say.
VANISHING = 1e-5
# Newton's method begins with a double and has to reach this many bits.
BITS = 2400
MOST_STEPS = 14
# Beyond this many inputs the exact arithmetic takes too long.
MOST_INPUTS = 16
# The rational point has to be where floating point saw it, relative to its size.
NEAR = 1e-4


def rational_singular_point(boundary: Boundary, point: Array) -> Rational | None:
    """Return a rational point near the given one at which B and ∇B vanish; None if none was recognised."""
    if boundary.dimension > MOST_INPUTS:
        return None
    for guesser in (_simple_fractions, _where_forms_vanish, _critical_point_of_value):
        guess = guesser(boundary, point)
        if guess is not None and _near(guess, point) and boundary.exact_value(guess) == 0:
            return guess
    return None


def _simple_fractions(boundary: Boundary, point: Array) -> Rational:
    return [Fraction(value).limit_denominator(LARGEST_SIMPLE_DENOMINATOR) for value in point.tolist()]


def _near(guess: Rational, point: Array) -> bool:
    size = 1.0 + float(np.abs(point).max())
    return all(abs(float(x) - y) <= NEAR * size for x, y in zip(guess, point.tolist(), strict=True))


def _where_forms_vanish(boundary: Boundary, point: Array) -> Rational | None:
    """Return the solution nearest to the point of w_j·x + b_j = 0 over all forms that nearly vanish there."""
    forms = boundary.source.forms()
    if forms is None:
        return None
    weights, bias = forms
    values = weights @ point + bias
    sizes = np.abs(weights) @ np.abs(point) + np.abs(bias) + np.linalg.norm(weights, axis=1)
    rows = np.flatnonzero(np.abs(values) <= VANISHING * sizes)
    rows = rows[np.any(weights[rows] != 0, axis=1)]
    independent: list[list[Fraction]] = []
    chosen: list[int] = []
    for row in rows:
        candidate = [Fraction(entry) for entry in weights[row].tolist()]
        if _matrix([*independent, candidate]).rank() > len(independent):
            independent.append(candidate)
            chosen.append(int(row))
    if not chosen:
        return None
    # x = p + Wᵀ (W Wᵀ)⁻¹ (−b − W p) is the projection of p.
    matrix = _matrix(independent)
    start = [Fraction(entry) for entry in point.tolist()]
    values_exact = [
        -Fraction(float(bias[row])) - sum((w * x for w, x in zip(vector, start, strict=True)), Fraction(0))
        for row, vector in zip(chosen, independent, strict=True)
    ]
    multipliers = (matrix * matrix.transpose()).solve(_matrix([[value] for value in values_exact]))
    change = (matrix.transpose() * multipliers).entries()
    return [x + Fraction(int(c.p), int(c.q)) for x, c in zip(start, change, strict=True)]


def _critical_point_of_value(boundary: Boundary, point: Array) -> Rational | None:
    """Return the simplest rational numbers near the limit of Newton's method on ∇B = 0."""
    graph = Graph()
    x = graph.inputs(boundary.dimension)
    value = boundary.source.polynomial(x)
    program = flatten(graph, gradient(value, x), [entry for row in hessian(value, x) for entry in row])
    with precision(BITS + 64):
        system = BallProgram(program)
        place = flint.acb_mat([[flint.acb(coordinate)] for coordinate in point.tolist()])
        for _ in range(MOST_STEPS):
            slope, curvature = system(place.entries(), [])
            try:
                change = curvature.mid().solve(slope.mid(), algorithm="approx")
            except ZeroDivisionError:
                return None
            place = (place - change).mid()
            size = max(float(abs(entry).upper()) for entry in change.entries())
            if not size < 1e6:
                return None
            if all(abs(entry) < flint.arb(2) ** -BITS for entry in change.entries()):
                return [_simplest(entry.real) for entry in place.entries()]
    return None


def _simplest(value: Any) -> Fraction:
    """Return the rational number with the least denominator within 2^(−BITS/2 …) of the value: its best convergent."""
    scaled = int((value * flint.arb(2) ** BITS).mid().floor().unique_fmpz())
    return Fraction(scaled, 1 << BITS).limit_denominator(1 << (BITS // 2 - 8))


def _matrix(rows: Sequence[Sequence[Fraction]]) -> Any:
    return flint.fmpq_mat([[to_rational(entry) for entry in row] for row in rows])
