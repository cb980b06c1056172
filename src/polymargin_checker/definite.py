"""Positive definiteness of a symmetric matrix of balls.

[[P, Q], [Qᵀ, R]] is positive definite if and only if P and the Schur complement R − QᵀP⁻¹Q are. Halving the matrix
again and again leaves numbers, and the solving is done by python-flint in C. True holds for every symmetric matrix
in the balls.
"""

from __future__ import annotations

from flint import arb_mat


def positive_definite(matrix: arb_mat) -> bool:
    """Return True only if the matrix is proved positive definite."""
    size = matrix.nrows()
    if size == 1:
        return bool(matrix[0, 0] > 0)
    half = size // 2
    table = matrix.tolist()
    first = arb_mat([row[:half] for row in table[:half]])
    if not positive_definite(first):
        return False
    mixed = arb_mat([row[half:] for row in table[:half]])
    last = arb_mat([row[half:] for row in table[half:]])
    try:
        complement = last - mixed.transpose() * first.solve(mixed)
    except ZeroDivisionError:
        return False
    return positive_definite(complement)
