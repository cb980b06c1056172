"""Semidefinite programs whose matrices are sums of squares of few known forms.

    maximise y_0   subject to   Z(y) = Z_base + Σ_i y_i A_i ⪰ 0,      y_i ≥ 0 for i in `signed`,

    A_i = Fᵀ diag(squares_i) F + sym(e_0 linear_iᵀ) + diag(diagonal_i)       or any dense matrix.

The rows of F are shared by all unknowns. A step of an interior-point method needs ⟨A_i, X A_j S⟩ for all i and j; with
T = F X Fᵀ and U = F S Fᵀ this is squares (T∘U) squaresᵀ and smaller terms of the same kind: a few matrix products, whatever
the number of unknowns. Dense matrices cost two products each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SemidefiniteProgram:
    """base (N, N), forms F (K, N), squares (n, K), linear and diagonal (n, N) sparse, signed (k,), dense {i: (N, N)}."""

    base: Array
    forms: Array
    squares: Array
    linear: Any
    diagonal: Any
    signed: NDArray[np.int64]
    dense: tuple[tuple[int, Array], ...] = ()

    @classmethod
    def build(
        cls,
        base: Array,
        forms: Array,
        squares: Array,
        linear: Array,
        diagonal: Array,
        signed: NDArray[np.int64],
        dense: tuple[tuple[int, Array], ...] = (),
    ) -> SemidefiniteProgram:
        return cls(base, forms, squares, sparse.csr_matrix(linear), sparse.csr_matrix(diagonal), signed, dense)

    @property
    def unknowns(self) -> int:
        return len(self.squares)

    @property
    def side(self) -> int:
        return len(self.base)

    @property
    def order(self) -> int:
        """Degree of the barrier."""
        return self.side + len(self.signed)

    def matrix(self, y: Array) -> Array:
        """Z(y)."""
        return self.base + self.change(y)

    def change(self, y: Array) -> Array:
        """Σ y_i A_i."""
        result = self.forms.T @ ((y @ self.squares)[:, None] * self.forms)
        border = y @ self.linear
        result[0] += border / 2
        result[:, 0] += border / 2
        places = np.arange(self.side)
        result[places, places] += y @ self.diagonal
        for index, matrix in self.dense:
            result += y[index] * matrix
        return np.asarray(result)

    def adjoint(self, X: Array, image: Array | None = None) -> Array:
        """⟨A_i, X⟩ for symmetric X; `image` is F X where it is known already."""
        image = self.forms @ X if image is None else image
        squares = np.einsum("kn,kn->k", image, self.forms)
        result = self.squares @ squares + self.linear @ X[0] + self.diagonal @ np.diagonal(X)
        for index, matrix in self.dense:
            result[index] += np.vdot(matrix, X)
        return np.asarray(result)

    def normal_matrix(self, X: Array, S: Array, image_X: Array, image_S: Array) -> Array:
        """⟨A_i, X A_j S⟩, symmetrised; `image_X` = F X and `image_S` = F S."""
        F, C = self.forms, self.squares
        mixed = image_X * image_S
        on_forms = ((image_X @ F.T) * (image_S @ F.T)) @ C.T + (self.diagonal @ mixed.T).T
        on_units = mixed.T @ C.T + (self.diagonal @ (X * S)).T
        linear_X, linear_S = (self.linear @ X).T, (self.linear @ S).T
        with_forms = image_X[:, :1] * (self.linear @ image_S.T).T + image_S[:, :1] * (self.linear @ image_X.T).T
        with_units = X[:, :1] * linear_S + S[:, :1] * linear_X
        cross = (C @ with_forms + self.diagonal @ with_units) / 2
        corner = np.outer(linear_X[0], linear_S[0])
        both = X[0, 0] * (self.linear @ linear_S) + S[0, 0] * (self.linear @ linear_X) + corner + corner.T
        result = C @ on_forms + self.diagonal @ on_units + cross + cross.T + both / 4
        for index, matrix in self.dense:
            product = (X @ matrix) @ S
            column = self.adjoint((product + product.T) / 2)
            result[:, index] = result[index, :] = column
        return np.asarray(result)
