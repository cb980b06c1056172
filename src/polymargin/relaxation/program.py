"""Semidefinite programs whose matrices are sums of squares of few known forms.

    maximise y_0   subject to   Z(y) = Z_base + Σ_i y_i A_i ⪰ 0,      y_i ≥ 0 for i in `signed`,

    A_i = Fᵀ diag(squares_i) F + sym(e_0 linear_iᵀ) + diag(diagonal_i)       or any dense matrix.

The rows of F are shared by all unknowns. A step of an interior-point method needs ⟨A_i, X A_j S⟩ for all i and j; with
T = F X Fᵀ and U = F S Fᵀ this is squares (T∘U) squaresᵀ and smaller terms of the same kind: a few matrix products, whatever
the number of unknowns. Dense matrices cost two products each. All matrices belong to one `Algebra`, which may keep them on a GPU;
y and what `adjoint` returns are NumPy's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polymargin.relaxation.algebra import NUMPY, Algebra, Matrix, algebra_for
from polymargin.relaxation.blocks import BlockMatrix

Array = NDArray[np.float64]

MANY, SPARSE = 50_000, 0.15
"""Entries of forms from which zeros are looked at, and the share of others below which they are left out."""


@dataclass(frozen=True, eq=False)
class SemidefiniteProgram:
    """base (N, N), forms F (K, N), diagonal (n, N), signed (k,), dense {i: (N, N)}.

    `held` are the unknowns with squares or a linear part, in runs; squares (h, K) and linear (h, N) are theirs alone.
    """

    base: Matrix
    forms: BlockMatrix
    squares: BlockMatrix
    linear: BlockMatrix
    diagonal: BlockMatrix
    held: tuple[slice, ...]
    signed: NDArray[np.int64]
    dense: tuple[tuple[int, Matrix], ...] = ()
    algebra: Algebra = NUMPY

    @classmethod
    def build(
        cls,
        base: Array,
        forms: Array,
        squares: Array,
        linear: Any,
        diagonal: Any,
        signed: NDArray[np.int64],
        dense: tuple[tuple[int, Array], ...] = (),
    ) -> SemidefiniteProgram:
        """Build a program from the squares (n, K) and linear parts (n, N) of all unknowns."""
        linear, diagonal = sparse.csr_matrix(linear), sparse.csr_matrix(diagonal)
        rows = np.flatnonzero(squares.any(axis=1) | (np.diff(linear.indptr) > 0))
        runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
        held = tuple(slice(int(run[0]), int(run[-1]) + 1) for run in runs if len(run))
        of = BlockMatrix.of
        return cls(base, of(_stored(forms)), of(squares[rows]), of(linear[rows]), of(diagonal), held, signed, dense)

    def on(self, algebra: Algebra) -> SemidefiniteProgram:
        """Return the same program where that algebra keeps its matrices."""
        if algebra is self.algebra:
            return self
        names = ("forms", "squares", "linear", "diagonal")
        moved: dict[str, Any] = {name: getattr(self, name).on(algebra) for name in names}
        dense = tuple((index, algebra.put(matrix)) for index, matrix in self.dense)
        return replace(self, base=algebra.put(self.base), **moved, dense=dense, algebra=algebra)

    @cached_property
    def placed(self) -> SemidefiniteProgram:
        """Return the same program where it is best solved."""
        return self.on(algebra_for(self.side))

    @property
    def unknowns(self) -> int:
        """Return the number of unknowns."""
        return int(self.diagonal.shape[0])

    @cached_property
    def _runs(self) -> list[tuple[slice, slice]]:
        """Return the place of each run of held unknowns among all, and among the held ones."""
        ends = np.cumsum([0, *(run.stop - run.start for run in self.held)]).tolist()
        return [(run, slice(a, b)) for run, a, b in zip(self.held, ends, ends[1:], strict=False)]

    @property
    def side(self) -> int:
        """Return the side of the matrix."""
        return len(self.base)

    @property
    def order(self) -> int:
        """Return the degree of the barrier."""
        return self.side + len(self.signed)

    def matrix(self, y: Array) -> Matrix:
        """Return Z(y)."""
        return self.base + self.change(y)

    def change(self, y: Array) -> Matrix:
        """Return Σ y_i A_i."""
        known = self.algebra.put(y)
        own = self.algebra.put(np.concatenate([np.zeros(0), *(y[run] for run in self.held)]))
        result = self.forms.squared(self.squares.T @ own)
        border = (self.linear.T @ own) / 2
        result[0] += border
        result[:, 0] += border
        places = self.algebra.diagonal(result)
        places += self.diagonal.T @ known
        for index, matrix in self.dense:
            result += float(y[index]) * matrix
        return result

    def lagrangian(self, y: Array, X: Matrix) -> float:
        """Return ⟨Z(y), X⟩."""
        return self.algebra.inner(self.base, X) + float(y @ self.adjoint(X))

    def adjoint(self, X: Matrix, image: Matrix | None = None) -> Array:
        """Return ⟨A_i, X⟩ for symmetric X; `image` is F X where it is known already."""
        algebra = self.algebra
        image = self.forms @ X if image is None else image
        own = algebra.get(self.squares @ self.forms.inner_rows(image) + self.linear @ X[0])
        result = algebra.get(self.diagonal @ algebra.diagonal(X))
        for run, place in self._runs:
            result[run] += own[place]
        for index, matrix in self.dense:
            result[index] += algebra.inner(matrix, X)
        return result

    def normal_matrix(self, X: Matrix, S: Matrix, image_X: Matrix, image_S: Matrix) -> Matrix:
        """Return ⟨A_i, X A_j S⟩, symmetrised; `image_X` = F X and `image_S` = F S."""
        F, C, linear, diagonal = self.forms, self.squares, self.linear, self.diagonal
        mixed = image_X * image_S
        linear_X, linear_S = (linear @ X).T, (linear @ S).T
        with_forms = image_X[:, :1] * (linear @ image_S.T).T + image_S[:, :1] * (linear @ image_X.T).T
        with_units = X[:, :1] * linear_S + S[:, :1] * linear_X
        corner = linear_X[0][:, None] * linear_S[0]
        both = float(X[0, 0]) * (linear @ linear_S) + float(S[0, 0]) * (linear @ linear_X)
        # The held unknowns among themselves, and with the diagonal of all.
        cross = C @ with_forms
        among = C @ (C @ ((F @ image_X.T) * (F @ image_S.T))).T + (cross + cross.T) / 2 + (both + corner + corner.T) / 4
        beside = diagonal @ ((C @ mixed).T + with_units / 2)
        result = diagonal @ (diagonal @ (X * S)).T
        for run, place in self._runs:
            result[:, run] += beside[:, place]
            result[run, :] += beside[:, place].T
            for other, there in self._runs:
                result[run, other] += among[place, there]
        for index, matrix in self.dense:
            product = (X @ matrix) @ S
            column = self.algebra.put(self.adjoint((product + product.T) / 2))
            result[:, index] = column
            result[index, :] = column
        return result


def _stored(forms: Array) -> Any:
    """Return the forms sparse if they have many zeros, as those of convolutions."""
    few = forms.size > MANY and np.count_nonzero(forms) < SPARSE * forms.size
    return sparse.csr_array(forms) if few else forms
