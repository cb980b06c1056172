"""Real zeros of polynomials, counted with a proof.

The coefficients are doubles, hence exact numbers. For many polynomials at once the core counts changes of sign in Bernstein's
basis with bounds for all rounding errors (cpp/real_zeros.hpp), and says where these do not suffice. One polynomial at a time,
python-flint isolates all complex zeros in disjoint discs; a disc that misses the real line holds no real zero, and one that meets
it holds a real zero if its mirror image meets no other disc: the conjugate of its zero is a zero too, and has no other place to
be. Polynomials that resist (zeros too close for the precision that is tried) go to exact integer arithmetic, which also knows
multiple zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from polymargin import _core

# The core's binomials are exact up to this degree.
LARGEST_DEGREE = 50


def count_real_zeros(coefficients: Sequence[float]) -> int:
    """Return the number of distinct real zeros of Σ coefficients[k] x^k, which must not be the zero polynomial.

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


def count_real_zeros_of(rows: NDArray[np.float64], threads: int) -> NDArray[np.int64]:
    """Return the counts for every row of coefficients (T, degree + 1)."""
    known = np.full(len(rows), -1, dtype=np.int64)
    if 2 <= rows.shape[1] <= LARGEST_DEGREE + 1:
        known[:] = _core.count_real_zeros(np.ascontiguousarray(rows), threads)
    for row in np.flatnonzero(known < 0):
        known[row] = count_real_zeros(rows[row].tolist())
    return known


def _count_exactly(numbers: Sequence[float]) -> int:
    ratios = [number.as_integer_ratio() for number in map(float, numbers)]
    polynomial: Any = flint.fmpq_poly([flint.fmpq(*ratio) for ratio in ratios])
    return sum(1 for zero, _ in polynomial.complex_roots() if zero.imag == 0)
