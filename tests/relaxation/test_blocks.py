"""Matrices of few blocks against the same matrices with their zeros."""

from __future__ import annotations

import numpy as np
import pytest
from relaxation.test_algebra import _algebra, with_gpu
from scipy import sparse

from polymargin.relaxation.blocks import BlockMatrix

SHAPE = (9, 11)


def example() -> tuple[BlockMatrix, np.ndarray]:
    """Rows with one block, rows with a block and a diagonal, rows with two diagonals, rows with two blocks, a row of zeros."""
    draw = np.random.default_rng(0).normal
    pieces = [
        (0, 0, draw(size=(2, 5))),
        (2, 0, draw(size=(3, 4))),
        (2, 6, draw(size=3)),
        (5, 1, draw(size=2)),
        (5, 4, draw(size=2)),
        (7, 0, draw(size=(1, 3))),
        (7, 8, draw(size=(1, 3))),
    ]
    whole = np.zeros(SHAPE)
    for row, column, entries in pieces:
        full = np.diag(entries) if entries.ndim == 1 else entries
        whole[row : row + full.shape[0], column : column + full.shape[1]] += full
    return BlockMatrix.stacked(SHAPE, pieces), whole


@pytest.mark.parametrize("name", ["numpy", "torch", pytest.param("cupy", marks=with_gpu)])
def test_products_and_sums_of_squares(name: str) -> None:
    matrix, whole = example()
    library, draw = _algebra(name), np.random.default_rng(1).normal
    there = matrix.on(library)
    right, turned, other, weights = draw(size=(11, 4)), draw(size=(9, 3)), draw(size=SHAPE), draw(size=9)
    put, get = library.put, library.get
    assert np.allclose(get(there @ put(right)), whole @ right, rtol=1e-13)
    assert np.allclose(get(there @ put(right[:, 0].copy())), whole @ right[:, 0], rtol=1e-13)
    assert np.allclose(get(there.T @ put(turned)), whole.T @ turned, rtol=1e-13)
    assert np.allclose(get(there.T @ put(weights)), whole.T @ weights, rtol=1e-13)
    assert np.allclose(get(there.squared(put(weights))), whole.T @ (weights[:, None] * whole), rtol=1e-12)
    assert np.allclose(get(there.inner_rows(put(other))), (whole * other).sum(axis=1), rtol=1e-12)


def test_a_single_block_may_be_sparse() -> None:
    whole = example()[1]
    matrix, right = BlockMatrix.of(sparse.csr_matrix(whole)), np.random.default_rng(2).normal(size=(11, 4))
    assert np.allclose(matrix @ right, whole @ right, rtol=1e-13)
    assert np.allclose(matrix.T @ right[:9], whole.T @ right[:9], rtol=1e-13)
    assert np.allclose(matrix @ right[:, 0], whole @ right[:, 0], rtol=1e-13)
