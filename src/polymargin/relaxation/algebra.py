"""Dense linear algebra in doubles, on the CPU or on a GPU: what the interior-point method asks of either.

Matrices live where their algebra keeps them; they are added, multiplied, transposed and sliced with the operators that NumPy,
CuPy and torch spell alike. Vectors of unknowns stay with NumPy: `put` and `get` are the only ways in and out. So there is one
solver, and an algebra is the few factorisations and reductions that libraries spell differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from polymargin import gpu

Array = NDArray[np.float64]
# A matrix of an algebra: a NumPy array, a CuPy array, a tensor.
Matrix = Any

# Rows of a program from which a GPU is worth its transfers.
WORTH_IT = 400


class Algebra(Protocol):
    """Dense linear algebra in doubles on one device."""

    def put(self, array: Any) -> Matrix:
        """Return an array from the host, or a sparse one, which may become dense."""
        ...

    def get(self, matrix: Matrix) -> Array:
        """Return the matrix on the host."""
        ...

    def zeros(self, shape: tuple[int, ...]) -> Matrix:
        """Return a matrix of zeros that may be written to."""
        ...

    def stack(self, matrices: Sequence[Matrix]) -> Matrix:
        """Return the matrices stacked along a new first axis."""
        ...

    def diagonal(self, matrix: Matrix) -> Matrix:
        """Return a view that can be written to."""
        ...

    def inner(self, left: Matrix, right: Matrix) -> float:
        """Return Σ of all products of entries."""
        ...

    def row_sums(self, left: Matrix, right: Matrix) -> Matrix:
        """Return Σ over the columns of the products of entries."""
        ...

    def finite(self, matrix: Matrix) -> bool:
        """Return whether all entries are finite."""
        ...

    def inverse_root(self, matrix: Matrix) -> Matrix | None:
        """Return L⁻¹ for a symmetric matrix L Lᵀ; None if it is not positive definite."""
        ...

    def gram(self, root: Matrix) -> Matrix:
        """Return Rᵀ R for a lower triangular R: the inverse, if R is an inverse root."""
        ...

    def definite(self, matrices: Matrix) -> bool:
        """Return whether Cholesky's method runs through for all of a stack (B, N, N)."""
        ...

    def solver(self, matrix: Matrix) -> Callable[[Matrix], Matrix] | None:
        """Return a function that solves for one right side; None if the matrix is not positive definite."""
        ...


class NumpyAlgebra:
    """By NumPy and LAPACK; sparse arrays stay sparse."""

    def put(self, array: Any) -> Matrix:
        """Return an array from the host."""
        return array

    def get(self, matrix: Matrix) -> Array:
        """Return the matrix on the host."""
        return np.asarray(matrix)

    def zeros(self, shape: tuple[int, ...]) -> Matrix:
        """Return a matrix of zeros."""
        return np.zeros(shape)

    def stack(self, matrices: Sequence[Matrix]) -> Matrix:
        """Return the matrices stacked along a new first axis."""
        return np.stack(matrices)

    def diagonal(self, matrix: Matrix) -> Matrix:
        """Return a view of the diagonal."""
        return np.einsum("ii->i", matrix)

    def inner(self, left: Matrix, right: Matrix) -> float:
        """Return the sum of all products of entries."""
        return float(np.vdot(left, right))

    def row_sums(self, left: Matrix, right: Matrix) -> Matrix:
        """Return the sums over columns of the products of entries."""
        return np.einsum("kn,kn->k", left, right)

    def finite(self, matrix: Matrix) -> bool:
        """Return whether all entries are finite."""
        return bool(np.isfinite(matrix).all())

    def inverse_root(self, matrix: Matrix) -> Matrix | None:
        """Return L⁻¹ for a symmetric matrix L Lᵀ; None if it is not positive definite."""
        factor, info = linalg.lapack.dpotrf(matrix, lower=1, clean=1)
        if info or not np.isfinite(factor[-1, -1]):
            return None
        root, info = linalg.lapack.dtrtri(factor, lower=1, overwrite_c=1)
        return None if info else root

    def gram(self, root: Matrix) -> Matrix:
        """Return RᵀR for a lower triangular R."""
        product = linalg.lapack.dlauum(root, lower=1)[0]
        return np.where(np.tri(len(product), dtype=bool), product, product.T)

    def definite(self, matrices: Matrix) -> bool:
        """Return whether all matrices are positive definite."""
        return all(linalg.lapack.dpotrf(matrix, lower=1)[1] == 0 for matrix in matrices)

    def solver(self, matrix: Matrix) -> Callable[[Matrix], Matrix] | None:
        """Return a function that solves for one right side; None if the matrix is not positive definite."""
        try:
            factor = linalg.cho_factor(matrix, check_finite=False)
        except linalg.LinAlgError:
            return None
        return lambda right: linalg.cho_solve(factor, right, check_finite=False)


NUMPY = NumpyAlgebra()


def algebra_for(rows: int) -> Algebra:
    """Return the algebra for programs with so many rows."""
    there: Algebra | None = gpu.dense_algebra() if rows >= WORTH_IT else None
    return there or NUMPY
