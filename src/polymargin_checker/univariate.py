"""Polynomials in one variable on an interval, by Bernstein coefficients and bisection.

On [l, h] write g(l + (h − l)t) = Σ b_i C(d,i) t^i (1−t)^(d−i). The graph lies in the convex hull of the b_i, so no b_i
negative proves g ≥ 0, and the least b_i is a lower bound. De Casteljau's halving makes the bounds converge
quadratically; a polynomial that nearly touches zero costs a few pieces per binary digit of the gap. Coefficients and
end points are balls, and what is proved holds for all numbers in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import comb

from flint import arb, arb_poly, ctx, fmpq

from polymargin_checker.refusal import Refused
from polymargin_checker.work import spend

MOST_PIECES = 1000
"""Before a polynomial counts as not proved."""

_AROUND = 8
"""Products that an operation of this file counts for: it is called from Python."""

Interval = tuple[arb, arb]


def nonnegative(polynomial: arb_poly, interval: Interval) -> bool:
    """Return True only if g ≥ 0 on the whole interval."""
    waiting = [bernstein(polynomial, interval)]
    for _ in range(MOST_PIECES):
        if not waiting:
            return True
        piece = waiting.pop()
        if all(value >= 0 for value in piece):
            continue
        if piece[0] < 0 or piece[-1] < 0:  # values of g at the ends
            return False
        waiting += halves(piece)
    return not waiting


def shortfall(polynomial: arb_poly, interval: Interval) -> fmpq:
    """Return a number e ≥ 0 with g + e ≥ 0 on the whole interval: 0 where g is shown to be nonnegative, else nearly the least."""
    if nonnegative(polynomial, interval):
        return fmpq(0)
    low = _lower_bound(bernstein(polynomial, interval))
    if not low.is_finite():
        raise Refused("a polynomial in one variable leaves the numbers that this checker can write")
    mantissa, exponent = low.man_exp()
    return max(fmpq(0), -fmpq(mantissa) * fmpq(2) ** int(exponent))


def value_range(polynomial: arb_poly, interval: Interval) -> Interval:
    """Return bounds on the values of g on the interval, nearly sharp."""
    piece = bernstein(polynomial, interval)
    return _lower_bound(piece), -_lower_bound([-value for value in piece])


def bernstein(polynomial: arb_poly, interval: Interval) -> list[arb]:
    """Return the coefficients b_0, …, b_d; b_0 and b_d are the values at the ends."""
    low, high = interval
    spend(_AROUND * len(polynomial) ** 2, ctx.prec, "polynomials in one variable")
    shifted = polynomial(arb_poly([low, high - low])).coeffs() or [arb(0)]
    return [
        sum((ratio * value for ratio, value in zip(row, shifted, strict=False)), arb(0))
        for row in _ratios(len(shifted) - 1, ctx.prec)
    ]


def halves(piece: Sequence[arb]) -> tuple[list[arb], list[arb]]:
    """Return the coefficients on the two halves of the interval."""
    spend(_AROUND * len(piece) ** 2, ctx.prec, "polynomials in one variable")
    left, right, current = [piece[0]], [piece[-1]], list(piece)
    while len(current) > 1:
        current = [(a + b) / 2 for a, b in pairwise(current)]
        left.append(current[0])
        right.append(current[-1])
    return left, right[::-1]


def _lower_bound(piece: list[arb]) -> arb:
    """Return a lower bound of the minimum, close to it unless the pieces run out."""
    attained = piece[0].lower().min(piece[-1].lower())  # more than that cannot be shown, however wide the balls are
    tolerance = max(value.abs_upper() for value in piece) * arb(2) ** -40
    waiting, settled = [piece], []
    for _ in range(MOST_PIECES):
        if not waiting:
            break
        current = waiting.pop()
        attained = attained.min(current[0].lower()).min(current[-1].lower())
        if all(value >= attained - tolerance for value in current):
            settled.append(current)
        else:
            waiting += halves(current)
    bound = arb.pos_inf()
    for current in settled + waiting:
        for value in current:
            bound = bound.min(value)
    return bound.lower()


@cache
def _ratios(degree: int, bits: int) -> list[list[arb]]:
    """Return C(i,k) / C(d,k) for k ≤ i, at the working precision: from powers of t to Bernstein coefficients."""
    return [[arb(fmpq(comb(i, k), comb(degree, k))) for k in range(i + 1)] for i in range(degree + 1)]
