"""Polynomials that are one another after affine changes: p(z) = factor · σ(scale · z + shift) + constant."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

Polynomial = tuple[float, ...]

ROUNDING = 16 * float(np.finfo(np.float64).eps)
# A common stage is not worth more than three decimal digits lost by cancellation.
LARGEST_LOSS = 1e3


class Change(NamedTuple):
    """z ↦ factor · σ(scale · z + shift) + constant."""

    scale: float
    shift: float
    factor: float
    constant: float

    def size(self, function: Polynomial) -> float:
        """Return the sum of the absolute values of all that is added up for |z| = 1."""
        reach = abs(self.scale) + abs(self.shift)
        return abs(self.constant) + abs(self.factor) * sum(abs(a) * reach**k for k, a in enumerate(function))


SAME = Change(1.0, 0.0, 1.0, 0.0)


def common_function(counts: Counter[Polynomial]) -> Polynomial:
    """Return the function with which the most of the polynomials of highest degree can be written."""
    degree = max(map(len, counts)) - 1
    own = {p: count for p, count in counts.items() if len(p) == degree + 1}
    common, plain = max(own, key=lambda p: own[p]), (*[0.0] * degree, 1.0)

    def reached(function: Polynomial) -> int:
        return sum(count for p, count in own.items() if changed(function, p) is not None)

    # A polynomial that most neurons have is taken as it is: nothing is rounded.
    candidates = (common, plain) if own[common] * 2 > sum(own.values()) else (plain, common)
    return max(candidates, key=reached)


def changed(function: Polynomial, wanted: Polynomial) -> Change | None:
    """Return how one polynomial is written with another of its degree; None if it is not, or only with a loss of digits.

    >>> changed((0.0, 0.0, 1.0), (3.0, 2.0, 1.0))
    Change(scale=1.0, shift=1.0, factor=1.0, constant=2.0)
    """
    if wanted == function:
        return SAME
    if len(wanted) != len(function) or len(wanted) < 2:
        return None
    for found in (_multiple(function, wanted), _rescaled(function, wanted)):
        if found is not None and found.size(function) <= LARGEST_LOSS * sum(map(abs, wanted)):
            return found
    return None


def _multiple(function: Polynomial, wanted: Polynomial) -> Change | None:
    """Return α and β with wanted = α σ + β; None if there are none."""
    factor = wanted[-1] / function[-1]
    if not all(_close(factor * a, w) for a, w in zip(function[1:], wanted[1:], strict=True)):
        return None
    return Change(1.0, 0.0, factor, wanted[0] - factor * function[0])


def _rescaled(function: Polynomial, wanted: Polynomial) -> Change | None:
    """Return the change with wanted(z) = α σ(a z + c) + β, found where the second highest coefficients vanish."""
    degree = len(wanted) - 1
    centres = [-p[-2] / (degree * p[-1]) for p in (function, wanted)]
    base, goal = (_translated(p, centre) for p, centre in zip((function, wanted), centres, strict=True))
    ratios = [
        (degree - k, goal[-1] * base[k] / (base[-1] * goal[k]))
        for k in range(1, degree - 1)
        if base[k] != 0.0 and goal[k] != 0.0
    ]
    scales = [1.0]
    if ratios:
        order, value = ratios[0]
        if value < 0.0 and order % 2 == 0:
            return None
        root = math.copysign(abs(value) ** (1 / order), value)
        scales = [root] if order % 2 else [root, -root]
    for scale in scales:
        factor = goal[-1] / (base[-1] * scale**degree)
        if all(_close(factor * base[k] * scale**k, goal[k]) for k in range(1, degree - 1)):
            return Change(scale, centres[0] - scale * centres[1], factor, goal[0] - factor * base[0])
    return None


def _translated(polynomial: Polynomial, centre: float) -> list[float]:
    """Return the coefficients of p(z + centre); the second highest is zero by the choice of the centre."""
    degree = len(polynomial) - 1
    result = [
        sum(polynomial[i] * math.comb(i, k) * centre ** (i - k) for i in range(k, degree + 1))
        for k in range(degree + 1)
    ]
    result[-2] = 0.0
    return result


def _close(first: float, second: float) -> bool:
    return abs(first - second) <= ROUNDING * max(abs(first), abs(second))
