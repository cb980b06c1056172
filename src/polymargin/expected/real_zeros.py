"""Real zeros of univariate polynomials, counted with a proof.

The coefficients are doubles, hence exact numbers. python-flint isolates all complex zeros in disjoint discs; a disc that misses
the real line holds no real zero, and one that meets it holds a real zero if its mirror image meets no other disc: the
conjugate of its zero is a zero too, and has no other place to be. Polynomials that resist (zeros too close for the precision that
is tried) go to exact integer arithmetic, which also knows multiple zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flint


def count_real_zeros(coefficients: Sequence[float]) -> int:
    """Number of distinct real zeros of Σ coefficients[k] x^k, which must not be the zero polynomial.

    >>> count_real_zeros([-2.0, 0.0, 1.0]), count_real_zeros([2.0, 0.0, 1.0]), count_real_zeros([1.0, 2.0, 1.0])
    (2, 0, 1)
    """
    numbers = list(coefficients)
    while numbers[-1] == 0:
        numbers.pop()
    try:
        discs = flint.acb_poly(numbers).roots()
    except ValueError:
        return _count_exactly(numbers)
    meeting = [disc for disc in discs if disc.imag.contains(0)]
    for disc in meeting:
        mirror = disc.conjugate()
        if sum(bool(mirror.overlaps(other)) for other in meeting) != 1:
            return _count_exactly(numbers)
    return len(meeting)


def _count_exactly(numbers: Sequence[float]) -> int:
    ratios = [number.as_integer_ratio() for number in map(float, numbers)]
    polynomial: Any = flint.fmpq_poly([flint.fmpq(*ratio) for ratio in ratios])
    return sum(1 for zero, _ in polynomial.complex_roots() if zero.imag == 0)
