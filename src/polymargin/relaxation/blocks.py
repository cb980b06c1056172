"""Matrices that are zero but for a few blocks.

A form in (1, δ, w) sees δ and one rest, a multiplier of a rest one or two layers: with every zero stored, a step of the
interior-point method on a convolutional network would be mostly products of zeros, on a GPU as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scipy import sparse

from polymargin.relaxation.algebra import NUMPY, Algebra, Matrix


@dataclass(frozen=True, eq=False)
class PlacedBlock:
    """Entries (a, b) whose corner is at (row, column), or (a,): those of a diagonal that begins there."""

    row: int
    column: int
    entries: Matrix

    @property
    def is_diagonal(self) -> bool:
        """Return whether only the diagonal is stored."""
        return len(self.entries.shape) == 1

    @property
    def rows(self) -> slice:
        """Return the rows of the block."""
        return slice(self.row, self.row + self.entries.shape[0])

    @property
    def columns(self) -> slice:
        """Return the columns of the block."""
        return slice(self.column, self.column + self.entries.shape[-1])

    def scaled(self, factors: Matrix) -> Matrix:
        """Return the entries with a factor for each row."""
        if sparse.issparse(self.entries):
            return sparse.diags_array(factors) @ self.entries
        return factors * self.entries if self.is_diagonal else factors[:, None] * self.entries

    def times(self, other: Matrix) -> Matrix:
        """Return the product with the rows of a matrix or a vector in its columns."""
        if not self.is_diagonal:
            return self.entries @ other
        return self.entries * other if len(other.shape) == 1 else self.entries[:, None] * other


@dataclass(frozen=True, eq=False)
class BlockMatrix:
    """The sum of its blocks, as a matrix of an algebra; any two have all rows in common or none."""

    shape: tuple[int, int]
    blocks: tuple[PlacedBlock, ...]
    algebra: Algebra = NUMPY

    @classmethod
    def of(cls, matrix: Any) -> BlockMatrix:
        """Return a single block, which may be one of SciPy's sparse matrices."""
        return cls(matrix.shape, (PlacedBlock(0, 0, matrix),))

    @classmethod
    def stacked(cls, shape: tuple[int, int], blocks: Iterable[tuple[int, int, Any]]) -> BlockMatrix:
        """Return a block matrix from rows, columns and entries."""
        return cls(shape, tuple(PlacedBlock(*block) for block in blocks))

    def on(self, algebra: Algebra) -> BlockMatrix:
        """Return the same where that algebra keeps its matrices."""
        blocks = (PlacedBlock(block.row, block.column, algebra.put(block.entries)) for block in self.blocks)
        return BlockMatrix(self.shape, tuple(blocks), algebra)

    @cached_property
    def T(self) -> BlockMatrix:
        """Return the transpose."""
        turned = (PlacedBlock(b.column, b.row, b.entries if b.is_diagonal else b.entries.T) for b in self.blocks)
        return BlockMatrix((self.shape[1], self.shape[0]), tuple(turned), self.algebra)

    def __matmul__(self, other: Matrix) -> Matrix:
        """Return the product with a matrix or a vector of the algebra."""
        result = self.algebra.zeros((self.shape[0], *other.shape[1:]))
        for block in self.blocks:
            result[block.rows] += block.times(other[block.columns])
        return result

    def squared(self, weights: Matrix) -> Matrix:
        """Return Σ_k d_k f_k f_kᵀ over its rows f_k."""
        result = self.algebra.zeros((self.shape[1], self.shape[1]))
        for left in self.blocks:
            for right in self.blocks:
                if left.row != right.row:
                    continue
                scaled, place = right.scaled(weights[right.rows]), result[left.columns, right.columns]
                if left.is_diagonal and right.is_diagonal:
                    diagonal = self.algebra.diagonal(place)
                    diagonal += left.entries * scaled
                elif left.is_diagonal:
                    place += left.times(scaled)
                elif right.is_diagonal:
                    place += left.entries.T * scaled
                else:
                    product = left.entries.T @ scaled
                    place += product.toarray() if sparse.issparse(product) else product
        return result

    def inner_rows(self, other: Matrix) -> Matrix:
        """Return the inner product of each row with that of another matrix."""
        result = self.algebra.zeros((self.shape[0],))
        for block in self.blocks:
            there = other[block.rows, block.columns]
            if block.is_diagonal:
                result[block.rows] += block.entries * self.algebra.diagonal(there)
            elif sparse.issparse(block.entries):
                result[block.rows] += block.entries.multiply(there).sum(axis=1)
            else:
                result[block.rows] += self.algebra.row_sums(block.entries, there)
        return result
