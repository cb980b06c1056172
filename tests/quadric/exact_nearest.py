"""The distance to a quadric in two variables from all its critical points, in rational arithmetic with any scales.

With adj = adjugate of 1 + 2λA and d its determinant, the critical points are x(λ) = u − λ adj ∇B(u) / d at the roots of the
polynomial d² B(x(λ)), and the singular points, where λ is infinite. Points where d vanishes are left out: random numbers do not
meet them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import flint

Rational = Fraction
BITS = 12_000


def q(value: Rational) -> Any:
    return flint.fmpq(value.numerator, value.denominator)


def nearest_distance(
    matrix: list[list[Rational]], linear: list[Rational], constant: Rational, u: list[Rational]
) -> float:
    """min |x − u| over xᵀAx + b·x + c = 0, inf if there is no such x."""
    (a, b), (_, d) = matrix
    slope = [2 * (a * u[0] + b * u[1]) + linear[0], 2 * (b * u[0] + d * u[1]) + linear[1]]
    value = a * u[0] ** 2 + 2 * b * u[0] * u[1] + d * u[1] ** 2 + linear[0] * u[0] + linear[1] * u[1] + constant
    if value == 0:
        return 0.0
    t = flint.fmpq_poly([0, 1])
    ones = [[1 + 2 * q(a) * t, 2 * q(b) * t], [2 * q(b) * t, 1 + 2 * q(d) * t]]
    determinant = ones[0][0] * ones[1][1] - ones[0][1] * ones[1][0]
    moves = [
        -t * (ones[1][1] * q(slope[0]) - ones[0][1] * q(slope[1])),
        -t * (ones[0][0] * q(slope[1]) - ones[1][0] * q(slope[0])),
    ]
    bent = q(a) * moves[0] * moves[0] + 2 * q(b) * moves[0] * moves[1] + q(d) * moves[1] * moves[1]
    along = q(slope[0]) * moves[0] + q(slope[1]) * moves[1]
    equation = q(value) * determinant * determinant + along * determinant + bent
    best = singular_distance(matrix, slope, value)
    before, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        for root in real_roots(equation):
            size = value_at(determinant, root)
            if size.contains(0):
                continue
            length = sum(((value_at(move, root) / size) ** 2 for move in moves), flint.arb(0)).sqrt()
            best = min(best, float(length))
    finally:
        flint.ctx.prec = before
    return best


def singular_distance(matrix: list[list[Rational]], slope: list[Rational], value: Rational) -> float:
    """The length of the shortest step to where ∇B = 0, if B is zero there."""
    (a, b), (_, d) = matrix
    trace, determinant = a + d, a * d - b * b
    if determinant:
        step = [(b * slope[1] - d * slope[0]) / (2 * determinant), (b * slope[0] - a * slope[1]) / (2 * determinant)]
    elif trace and [a * slope[0] + b * slope[1], b * slope[0] + d * slope[1]] == [trace * g for g in slope]:
        step = [-g / (2 * trace) for g in slope]
    else:
        return math.inf
    if value + (slope[0] * step[0] + slope[1] * step[1]) / 2:
        return math.inf
    square = step[0] ** 2 + step[1] ** 2
    return float((flint.arb(square.numerator) / square.denominator).sqrt())


def real_roots(polynomial: Any) -> list[Any]:
    if polynomial.degree() < 1:
        return []
    found = flint.fmpz_poly(polynomial.numer()).factor()[1]
    return [root.real for factor, _ in found for root, _ in factor.complex_roots() if root.imag == 0]


def value_at(polynomial: Any, place: Any) -> Any:
    total = flint.arb(0)
    for coefficient in reversed(polynomial.coeffs()):
        total = total * place + coefficient
    return total
