"""Metrics: (x − u)ᵀ Q (x − u) in place of the Euclidean distance, with a positive definite matrix Q.

Critical points obey Q(x − u) + λ∇B(x) = 0, so x − u lies in Q⁻¹ times the span of the gradients. Where B(x) = b(Wx), all of them
lie in the columns of P with PᵀQP = 1, and in y = PᵀQx the distance is Euclidean again (`reduction`). Exact algebra keeps Q as it
is: only G = W Q⁻¹ Wᵀ enters (`geometry.algebra.hypersurface`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.polynomials.algebraic import Algebraic, ExactNumber, exact_number

if TYPE_CHECKING:
    from polymargin.boundary.boundary import Boundary

Matrix: TypeAlias = tuple[tuple[ExactNumber, ...], ...]

# A metric whose eigenvalues differ by more than this factor is refused: doubles could not tell it from a degenerate one.
WORST_CONDITION = 1e12
# Entries of a generic metric are random integers of this size: a special position is as good as excluded.
GENERIC_SIZE = 1 << 20
GENERIC = "generic"


@dataclass(frozen=True)
class Metric:
    """A symmetric positive definite matrix with exact entries."""

    matrix: Matrix

    @classmethod
    def of(cls, given: Any, dimension: int, seed: int = 0) -> Metric | None:
        """Read weights (n,), a matrix (n, n) or "generic", a random metric; None is the Euclidean distance.

        >>> Metric.of([1, Fraction(1, 2)], 2).matrix
        ((Fraction(1, 1), Fraction(0, 1)), (Fraction(0, 1), Fraction(1, 2)))

        Numbers are read exactly, texts such as "sqrt(2)" among them.
        """
        if given is None:
            return None
        if isinstance(given, str):
            if given != GENERIC:
                raise InputError(f"metric {given!r}: expected weights, a positive definite matrix or 'generic'")
            return cls.generic(dimension, seed)
        rows = given.tolist() if isinstance(given, np.ndarray) else list(given)
        if len(rows) != dimension:
            raise InputError(f"the metric has {len(rows)} rows or weights: expected {dimension}, one for each input")
        if not any(isinstance(row, Sequence) and not isinstance(row, str) for row in rows):
            rows = [[weight if i == j else 0 for j in range(dimension)] for i, weight in enumerate(rows)]
        if any(not isinstance(row, Sequence) or len(row) != dimension for row in rows):
            raise InputError(f"the metric is no matrix of shape ({dimension}, {dimension})")
        matrix = tuple(tuple(exact_number(entry) for entry in row) for row in rows)
        if any(matrix[i][j] != matrix[j][i] for i in range(dimension) for j in range(i)):
            raise InputError("the metric is not symmetric: expected a symmetric positive definite matrix")
        metric = cls(matrix)
        eigenvalues = np.linalg.eigvalsh(metric.floats)
        if eigenvalues[0] * WORST_CONDITION <= eigenvalues[-1]:
            raise InputError(
                f"the metric has eigenvalues from {eigenvalues[0]:.3g} to {eigenvalues[-1]:.3g}: expected positive ones "
                f"that differ by a factor of less than {WORST_CONDITION:.0e}"
            )
        return None if metric.is_euclidean else metric

    @classmethod
    def generic(cls, dimension: int, seed: int = 0) -> Metric:
        """Return a random metric AᵀA + n²: as good as a general one, and well conditioned."""
        generator = random.Random(f"metric {dimension} {seed}")
        rows = [
            [Fraction(generator.randrange(-GENERIC_SIZE, GENERIC_SIZE), GENERIC_SIZE) for _ in range(dimension)]
            for _ in range(dimension)
        ]
        columns = list(zip(*rows, strict=True))
        matrix = [[sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0)) for a in columns] for b in columns]
        for i in range(dimension):
            matrix[i][i] += 1
        return cls(tuple(map(tuple, matrix)))

    @property
    def floats(self) -> NDArray[np.float64]:
        """Return the matrix in doubles."""
        return np.array([[float(entry) for entry in row] for row in self.matrix])

    @property
    def radicands(self) -> tuple[int, ...]:
        """Return the numbers under square roots among the entries."""
        return tuple(r for row in self.matrix for entry in row if isinstance(entry, Algebraic) for r in entry.radicands)

    @property
    def rational(self) -> list[list[Fraction]]:
        """Return the entries, where all of them are rational."""
        rows = [[entry for entry in row if isinstance(entry, Fraction)] for row in self.matrix]
        if any(len(row) < len(self.matrix) for row in rows):
            raise InputError("the metric has irrational entries: there is no exact answer in rational numbers")
        return rows

    @property
    def is_euclidean(self) -> bool:
        """Return whether the matrix is the identity."""
        return all(entry == int(i == j) for i, row in enumerate(self.matrix) for j, entry in enumerate(row))


def in_metric(boundary: Boundary, given: Any, seed: int = 0) -> Boundary:
    """Return the same boundary, measured in another metric; the boundary keeps it in its cache."""
    metric = Metric.of(given, boundary.dimension, seed)
    if metric is None:
        return boundary
    key = (Metric, metric)
    if key not in boundary.cache:
        boundary.cache[key] = type(boundary)(boundary.source, boundary.name, metric)
    measured: Boundary = boundary.cache[key]
    return measured


def bombieri_weyl(variables: int, degree: int) -> list[int]:
    """Return the weights of the entries of a symmetric tensor, one for each monomial: how often the entry occurs in the tensor.

    Monomials of the degree are in the order of exponents that decrease lexicographically: x₁^d, x₁^(d−1)x₂, ….

    >>> bombieri_weyl(2, 3), bombieri_weyl(3, 2)
    ([1, 3, 3, 1], [1, 2, 2, 1, 2, 1])
    """
    return [factorial(degree) // prod(map(factorial, powers)) for powers in _exponents(variables, degree)]


def _exponents(variables: int, degree: int) -> list[tuple[int, ...]]:
    if variables == 1:
        return [(degree,)]
    return [(first, *rest) for first in range(degree, -1, -1) for rest in _exponents(variables - 1, degree - first)]
