"""Dense linear algebra on a GPU, by CuPy: cuBLAS and cuSOLVER under NumPy's names.

What `polymargin.relaxation.algebra` asks for. Everything a program needs is dense here: at these sizes the products of a
sparse matrix are no faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.gpu.bundles import chosen_device
from polymargin.gpu.kernels import cupy_or_reason, required_cupy


def dense_algebra() -> CupyAlgebra | None:
    """Return the algebra of a GPU if one is wanted or found."""
    name = chosen_device(None)
    found = name == "cuda" or (
        name == "auto" and find_spec("cupy") is not None and not isinstance(cupy_or_reason(), str)
    )
    return CupyAlgebra() if found else None


class CupyAlgebra:
    """By cuBLAS and cuSOLVER; matrices are CuPy's."""

    def __init__(self) -> None:
        self._cupy = required_cupy()

    def put(self, array: Any) -> Any:
        """Copy an array to the device."""
        return self._cupy.asarray(array.toarray() if hasattr(array, "toarray") else array)

    def get(self, matrix: Any) -> NDArray[np.float64]:
        """Copy a matrix to the host."""
        return np.asarray(matrix.get())

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """Return a matrix of zeros."""
        return self._cupy.zeros(shape)

    def stack(self, matrices: Sequence[Any]) -> Any:
        """Stack matrices."""
        return self._cupy.stack(matrices)

    def diagonal(self, matrix: Any) -> Any:
        """Return the diagonal."""
        return matrix.diagonal()

    def inner(self, left: Any, right: Any) -> float:
        """Return the inner product of two matrices."""
        return float(self._cupy.vdot(left, right))

    def row_sums(self, left: Any, right: Any) -> Any:
        """Return the inner products of corresponding rows."""
        return (left * right).sum(axis=1)

    def finite(self, matrix: Any) -> bool:
        """Return whether all entries are finite."""
        return bool(self._cupy.isfinite(matrix).all())

    def inverse_root(self, matrix: Any) -> Any | None:
        """Return the inverse of the Cholesky factor, None if the matrix is not positive definite."""
        from cupyx.scipy.linalg import solve_triangular

        factor = self._factor(matrix)
        return None if factor is None else solve_triangular(factor, self._cupy.eye(len(factor)), lower=True)

    def gram(self, root: Any) -> Any:
        """Return the inverse from its inverse root."""
        return root.T @ root

    def definite(self, matrices: Any) -> bool:
        """Return whether all matrices are positive definite."""
        return self._factor(matrices) is not None

    def solver(self, matrix: Any) -> Callable[[Any], Any] | None:
        """Return a function that solves with the matrix, None if it is not positive definite."""
        from cupyx.scipy.linalg import solve_triangular

        factor = self._factor(matrix)
        if factor is None:
            return None

        def solve(right: Any) -> Any:
            half = solve_triangular(factor, right, lower=True)
            return solve_triangular(factor, half, lower=True, trans="T")

        return solve

    def _factor(self, matrix: Any) -> Any | None:
        from cupyx import errstate

        try:
            with errstate(linalg="raise"):
                factor = self._cupy.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return None
        return factor if bool(self._cupy.isfinite(factor[..., -1, -1]).all()) else None
