"""Rows with the same zeros."""

from __future__ import annotations

import numpy as np

from polymargin.zero_patterns import rows_alike


def test_every_row_is_in_one_group_with_the_columns_it_needs() -> None:
    generator = np.random.default_rng(0)
    patterns = np.array([[1, 1, 0, 0, 1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0, 0, 0, 0]])
    values = generator.uniform(1, 2, size=(12, 9)) * patterns[generator.integers(3, size=12)]
    groups = rows_alike(values)
    assert sorted(np.concatenate([rows for rows, _ in groups]).tolist()) == list(range(12))
    assert len(groups) == 3
    for rows, columns in groups:
        for row in rows:
            assert np.flatnonzero(values[row]).tolist() == columns.tolist()


def test_no_rows() -> None:
    assert rows_alike(np.zeros((0, 4))) == []
