"""Structure that rounding must not decide: ranks, and which eigenvalues of A are equal.

Over the rationals everything is exact: ranks by elimination, the number of distinct nonzero eigenvalues as the degree of the
squarefree part of the characteristic polynomial without its root 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint

from polymargin.boundary import Metric
from polymargin.polynomials import to_rational

# Up to this many variables a boundary is treated in exact arithmetic by default.
EXACT_DIMENSION = 32


@dataclass(frozen=True)
class QuadricStructure:
    """Rank of A, rank of M = [[A, b/2], [bᵀ/2, c]], and the number of distinct nonzero eigenvalues of A."""

    rank: int
    augmented_rank: int
    distinct: int


def exact_structure(
    matrix: list[list[Fraction]], linear: list[Fraction], constant: Fraction, metric: Metric | None = None
) -> QuadricStructure:
    """Return the structure of exact coefficients; in a metric Q the eigenvalues are those of Q⁻¹A.

    >>> exact_structure([[Fraction(2), Fraction(0)], [Fraction(0), Fraction(2)]], [Fraction(0)] * 2, Fraction(1))
    QuadricStructure(rank=2, augmented_rank=3, distinct=1)
    """
    half = [entry / 2 for entry in linear]
    augmented = [[*row, entry] for row, entry in zip(matrix, half, strict=True)] + [[*half, constant]]
    square = _rational_matrix(matrix)
    seen = square if metric is None else _rational_matrix(metric.rational).solve(square)
    characteristic = seen.charpoly()
    squarefree_degree = characteristic.degree() - characteristic.gcd(characteristic.derivative()).degree()
    return QuadricStructure(
        rank=int(square.rank()),
        augmented_rank=int(_rational_matrix(augmented).rank()),
        distinct=int(squarefree_degree) - int(characteristic[0] == 0),
    )


def _rational_matrix(rows: Sequence[Sequence[Fraction]]) -> flint.fmpq_mat:
    return flint.fmpq_mat([[to_rational(entry) for entry in row] for row in rows])
