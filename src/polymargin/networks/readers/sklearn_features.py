"""PolynomialFeatures before a linear classifier.

A quadratic polynomial is (x, 1) M (x, 1)ᵀ for a symmetric M, and the eigenvectors of M are its neurons: linear and constant
terms come for free. Products of three or more features are sums of powers of linear forms by polarization,

    2^d d! x_1^{a_1} ⋯ x_m^{a_m} = Σ_k (−1)^{Σk} Π_i C(a_i, k_i) (Σ_i (a_i − 2k_i) x_i)^d,     Σ a_i = d,  0 ≤ k_i ≤ a_i.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.networks.readers.sklearn_scores import Array, Scores, block_diagonal

# More neurons than this from polarized monomials are refused: no margin could be computed for them.
LARGEST_WIDTH = 5_000


def polynomial_features(scores: Scores, step: Any) -> Scores:
    powers = np.asarray(step.powers_, dtype=np.int64)
    degree = int(powers.sum(axis=1).max())
    if scores.power != 1:
        raise InputError(
            f"PolynomialFeatures of degree {degree} before a classifier of degree {scores.power} is not read; "
            "put a linear classifier after the features"
        )
    coefficients, constants = scores.linear
    if degree == 2:
        return _sums_of_squares(powers, coefficients, constants)
    return _polarized(powers, coefficients, constants, degree)


def _sums_of_squares(powers: NDArray[np.int64], coefficients: Array, constants: Array) -> Scores:
    """Each quadratic polynomial through the eigenvectors of its matrix in (x, 1)."""
    size = powers.shape[1] + 1
    one = size - 1
    homogeneous = np.column_stack([powers, 2 - powers.sum(axis=1)])
    rows, weights = [], []
    for row, constant in zip(coefficients, constants, strict=True):
        matrix = np.zeros((size, size))
        matrix[one, one] = constant
        for exponents, coefficient in zip(homogeneous, row.tolist(), strict=True):
            i, j = np.repeat(np.arange(size), exponents).tolist()
            matrix[i, j] += coefficient / 2
            matrix[j, i] += coefficient / 2
        # Powers of two that bring features of different units together, so that the rounding is small in each of them.
        scale = _equilibration(matrix)
        values, vectors = np.linalg.eigh(matrix * scale * scale[:, None])
        rows.append(vectors.T[values != 0] / scale)
        weights.append(values[None, values != 0])
    forms = np.vstack(rows)
    return Scores(forms[:, :one], forms[:, one], 2, block_diagonal(weights), np.zeros(len(constants)))


def _equilibration(matrix: Array) -> Array:
    """Powers of two d such that the largest entries of the rows of d M d are close to one another."""
    scale = np.ones(len(matrix))
    for _ in range(20):
        largest = np.abs(matrix * scale * scale[:, None]).max(axis=1)
        scale = scale / np.sqrt(np.where(largest > 0, largest, 1.0))
    return np.asarray(np.exp2(np.round(np.log2(scale))))


def _polarized(powers: NDArray[np.int64], coefficients: Array, constants: Array, degree: int) -> Scores:
    """Monomials of degree up to `degree`, made homogeneous by a constant 1, as sums of powers of linear forms."""
    homogeneous = np.column_stack([powers, degree - powers.sum(axis=1)])
    width = int(np.prod(homogeneous + 1.0, axis=1).sum()) // 2
    if width > LARGEST_WIDTH:
        raise InputError(
            f"PolynomialFeatures of degree {degree} in {powers.shape[1]} features would need {width} neurons, more than the "
            f"{LARGEST_WIDTH} that from_sklearn makes; use degree 2, fewer features, or SVC(kernel='poly', degree={degree})"
        )
    unit = Fraction(1, 2**degree * math.factorial(degree))
    forms: dict[tuple[int, ...], list[Fraction]] = {}
    totals = [Fraction(constant) for constant in constants.tolist()]
    for exponents, column in zip(homogeneous.tolist(), coefficients.T.tolist(), strict=True):
        if not any(exponents[:-1]):
            totals = [total + Fraction(coefficient) for total, coefficient in zip(totals, column, strict=True)]
            continue
        for chosen in product(*(range(exponent + 1) for exponent in exponents)):
            form = [exponent - 2 * k for exponent, k in zip(exponents, chosen, strict=True)]
            divisor = math.gcd(*form) * (1 if next((entry for entry in form if entry), 1) > 0 else -1)
            if not any(form):
                continue
            weight = unit * (-1) ** sum(chosen) * divisor**degree
            weight *= math.prod(math.comb(exponent, k) for exponent, k in zip(exponents, chosen, strict=True))
            key = tuple(entry // divisor for entry in form)
            sums = totals if not any(key[:-1]) else forms.setdefault(key, [Fraction(0)] * len(totals))
            for position, coefficient in enumerate(column):
                sums[position] += weight * Fraction(coefficient)
    kept = {form: weights for form, weights in forms.items() if any(weights)}
    matrix = np.array(list(kept), dtype=np.float64).reshape(-1, homogeneous.shape[1])
    outer = np.array([[float(weight) for weight in weights] for weights in kept.values()]).reshape(-1, len(totals)).T
    return Scores(matrix[:, :-1], matrix[:, -1], degree, outer, np.array([float(total) for total in totals]))
