"""What distinguishes quadrics B(x) = xᵀAx + bᵀx + c from one another: determinants, signatures, repeated eigenvalues.

    M = [[A, b/2], [bᵀ/2, c]]

In an eigenbasis of A, let b_ker be the part of b in the kernel and S = c − Σ_{σ_j ≠ 0} b_j²/(4σ_j). Then M is congruent to
diag(σ_j ≠ 0) ⊕ K, where K has signature (1, 1) if b_ker ≠ 0 and the signature of S otherwise (Sylvester). Both ways below
give the same record: one in rational arithmetic, where zero means zero, and one in floating point with a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint
import numpy as np

from polymargin.quadric import QuadricForm
from polymargin.quadric.classification import QuadricClass


@dataclass(frozen=True)
class QuadricInvariants(QuadricClass):
    """determinant = det A, augmented_determinant = det M, eigenvalue_discriminant = Disc of det(λI − A)."""

    determinant: Fraction | float
    augmented_determinant: Fraction | float
    eigenvalue_discriminant: Fraction | float


def invariants_in_doubles(form: QuadricForm, tolerance: float) -> QuadricInvariants:
    """Zero is what is below `tolerance` times its own natural size, so that scaling B or x changes nothing:

    an eigenvalue, a gap between eigenvalues, the trace   against the largest |σ|
    b_ker                                                 against |b|
    S                                                     against |c| + Σ b_j²/(4|σ_j|)
    """
    eigenvalues, vectors = np.linalg.eigh(form.matrix)
    slopes = vectors.T @ form.linear
    size = float(np.abs(eigenvalues).max())
    nonzero = np.abs(eigenvalues) > tolerance * size
    kept = eigenvalues[nonzero]
    signature = (int((kept > 0).sum()), int((kept < 0).sum()))
    terms = slopes[nonzero] ** 2 / (4 * kept)
    rest = form.constant - float(terms.sum())
    if np.linalg.norm(slopes[~nonzero]) > tolerance * np.linalg.norm(slopes):
        extra = (1, 1)
    elif abs(rest) > tolerance * (abs(form.constant) + float(np.abs(terms).sum())):
        extra = (int(rest > 0), int(rest < 0))
    else:
        extra = (0, 0)
    augmented = np.block(
        [[form.matrix, form.linear[:, None] / 2], [form.linear[None, :] / 2, np.array([[form.constant]])]]
    )
    differences = np.subtract.outer(eigenvalues, eigenvalues)[np.triu_indices(form.dimension, 1)]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return QuadricInvariants(
            dimension=form.dimension,
            determinant=float(np.linalg.det(form.matrix)),
            augmented_determinant=float(np.linalg.det(augmented)),
            eigenvalue_discriminant=float(np.prod(differences**2)),
            signature=signature,
            augmented_signature=(signature[0] + extra[0], signature[1] + extra[1]),
            distinct_eigenvalues=sum(bool(b - a > tolerance * size) for a, b in pairwise(kept)) + bool(len(kept)),
            traceless=abs(float(eigenvalues.sum())) <= tolerance * size,
        )


def invariants_in_rationals(
    matrix: Sequence[Sequence[Fraction]], linear: Sequence[Fraction], constant: Fraction
) -> QuadricInvariants:
    """Everything from characteristic polynomials; their roots are real, so that Descartes' rule counts signs exactly."""
    augmented = [[*row, slope / 2] for row, slope in zip(matrix, linear, strict=True)]
    augmented.append([*(slope / 2 for slope in linear), constant])
    inner, outer = _matrix(matrix), _matrix(augmented)
    polynomial = inner.charpoly()
    common = polynomial.gcd(polynomial.derivative())
    distinct = polynomial.degree() - common.degree()
    return QuadricInvariants(
        dimension=len(linear),
        determinant=_fraction(inner.det()),
        augmented_determinant=_fraction(outer.det()),
        eigenvalue_discriminant=_discriminant(polynomial),
        signature=_signature(polynomial),
        augmented_signature=_signature(outer.charpoly()),
        distinct_eigenvalues=distinct - (polynomial[0] == 0),
        traceless=sum(matrix[i][i] for i in range(len(linear))) == 0,
    )


def _matrix(rows: Sequence[Sequence[Fraction]]) -> Any:
    return flint.fmpq_mat([[flint.fmpq(entry.numerator, entry.denominator) for entry in row] for row in rows])


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _signature(polynomial: Any) -> tuple[int, int]:
    signs = [(1 if polynomial[k] > 0 else -1, k) for k in range(polynomial.degree() + 1) if polynomial[k] != 0]
    positive = sum(first != second for (first, _), (second, _) in pairwise(signs))
    negative = sum(first * (-1) ** i != second * (-1) ** j for (first, i), (second, j) in pairwise(signs))
    return positive, negative


def _discriminant(polynomial: Any) -> Fraction:
    """(−1)^{n(n−1)/2} Res(p, p′) of a monic p, the resultant as the determinant of multiplication by p′ modulo p."""
    degree = polynomial.degree()
    rest, variable = polynomial.derivative() % polynomial, flint.fmpq_poly([0, 1])
    rows = []
    for _ in range(degree):
        rows.append([rest[k] for k in range(degree)])
        rest = rest * variable % polynomial
    sign = -1 if degree * (degree - 1) // 2 % 2 else 1
    return sign * _fraction(flint.fmpq_mat(rows).det())
