"""An orthonormal basis of rational numbers, for vectors that floats cannot tell apart.

Gram and Schmidt's process in exact arithmetic, the strongest remaining vector first, so that weak directions become the last
coordinates. Only the lengths are irrational: each is replaced by a rational number near enough that the basis is orthonormal to
far more digits than double-doubles have.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

# Bits to which the entries are known.
BITS = 192


def orthonormal_rationals(vectors: Sequence[Sequence[Fraction]], dimension: int) -> list[tuple[Fraction, ...]]:
    """Return `dimension` vectors, orthonormal up to 2^−BITS, that span the given ones."""
    rest = [list(vector) for vector in vectors]
    basis: list[tuple[Fraction, ...]] = []
    for _ in range(dimension):
        squares = [_dot(vector, vector) for vector in rest]
        strongest = max(range(len(rest)), key=squares.__getitem__)
        pivot, square = rest.pop(strongest), squares[strongest]
        length = _square_root(square)
        basis.append(tuple(_rounded(entry / length) for entry in pivot))
        for vector in rest:
            share = _dot(vector, pivot) / square
            vector[:] = [a - share * b for a, b in zip(vector, pivot, strict=True)]
    return basis


def _dot(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(first, second, strict=True)), Fraction(0))


def _square_root(square: Fraction) -> Fraction:
    """Return the root with a relative error below 2^−BITS."""
    shift = max(0, 2 * BITS + square.denominator.bit_length() - square.numerator.bit_length()) // 2 * 2
    return Fraction(isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))


def _rounded(entry: Fraction) -> Fraction:
    return Fraction(round(entry * (1 << BITS)), 1 << BITS)
