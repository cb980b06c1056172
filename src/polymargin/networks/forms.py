"""Affine forms of the values that a program has computed so far, most of whose weights may be zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymargin.errors import InputError
from polymargin.polynomials import Expression, exact

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Matrices with fewer zeros than this are multiplied as they are, others without their zeros.
DENSE = 0.25


@dataclass(frozen=True, eq=False)
class Forms:
    """Row i is bias[i] + Σ_k weights[k] · value[columns[k]] for starts[i] ≤ k < starts[i + 1]; columns rise within a row.

    width      number of values that the forms may use
    """

    width: int
    starts: Indices
    columns: Indices
    weights: Array
    bias: Array

    def __post_init__(self) -> None:
        for array in (self.starts, self.columns, self.weights, self.bias):
            array.setflags(write=False)

    @classmethod
    def of(cls, matrix: Any, bias: Any = None, width: int | None = None) -> Forms:
        """From a dense or sparse matrix (h, values); zeros are left out."""
        from scipy import sparse

        rows = sparse.csr_matrix(matrix, dtype=np.float64)
        rows.eliminate_zeros()
        rows.sort_indices()
        offsets = np.zeros(rows.shape[0]) if bias is None else np.array(bias, dtype=np.float64)
        if offsets.shape != (rows.shape[0],):
            raise InputError(
                f"{rows.shape[0]} forms with a bias of shape {offsets.shape}; expected one number for each form"
            )
        if not (np.isfinite(rows.data).all() and np.isfinite(offsets).all()):
            raise InputError("a weight or a bias of a form is not finite; every one must be a finite number")
        return cls(
            int(rows.shape[1] if width is None else width),
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int64),
            rows.data.copy(),
            offsets,
        )

    def __len__(self) -> int:
        return len(self.bias)

    @cached_property
    def matrix(self) -> Any:
        """The weights as a SciPy sparse matrix (h, width)."""
        from scipy import sparse

        return sparse.csr_matrix((self.weights, self.columns, self.starts), shape=(len(self), self.width))

    @cached_property
    def _factor(self) -> Any:
        dense = len(self.weights) >= DENSE * len(self) * self.width
        return self.matrix.toarray() if dense else self.matrix

    def row(self, index: int) -> tuple[list[int], list[float]]:
        """Columns and weights of one form."""
        part = slice(self.starts[index], self.starts[index + 1])
        return self.columns[part].tolist(), self.weights[part].tolist()

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        """The forms along the last axis; floats, symbolic scalars or Fractions (as object arrays of one axis)."""
        if values.dtype != object:
            flat = values.reshape(-1, values.shape[-1])
            result = (self._factor @ flat.T).T + self.bias
            return np.asarray(result.reshape(*values.shape[:-1], len(self)))
        rows = [self.row(index) for index in range(len(self))]
        items = values.tolist()
        sums: list[Any]
        if isinstance(items[0], Expression):
            linear = items[0].graph.linear
            sums = [linear(w, [items[c] for c in at], b) for (at, w), b in zip(rows, self.bias.tolist(), strict=True)]
        else:
            sums = [
                sum((exact(x) * items[c] for c, x in zip(at, w, strict=True)), exact(b))
                for (at, w), b in zip(rows, self.bias.tolist(), strict=True)
            ]
        result = np.empty(len(sums), dtype=object)
        result[:] = sums
        return result

    @property
    def without_signs(self) -> Forms:
        return Forms(self.width, self.starts, self.columns, np.abs(self.weights), np.abs(self.bias))

    def same(self, other: Forms) -> Any:
        """Which rows are equal to those of another one of as many rows."""
        return np.array([
            self.bias[i] == other.bias[i] and self.row(i) == other.row(i) for i in range(len(self))
        ], dtype=bool)  # fmt: skip

    @cached_property
    def longest(self) -> int:
        """Terms of the longest row."""
        return int(np.diff(self.starts).max(initial=0))
