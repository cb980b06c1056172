"""Affine forms in blocks against one dense matrix."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from random_stages import random_forms
from scipy import sparse

import polymargin as pm
from polymargin.networks.forms import Forms
from polymargin.polynomials import Graph

WIDTHS = (3, 1, 5)


def whole(forms: Forms) -> np.ndarray:
    return np.concatenate([forms.block(source) for source in range(len(forms.widths))], axis=1)


@pytest.mark.parametrize("seed", range(20))
def test_forms_are_one_matrix_in_blocks(seed: int) -> None:
    draw = np.random.default_rng(seed)
    forms, matrix = random_forms(draw, WIDTHS, 4), draw.normal(size=(2, 4))
    values = [draw.integers(-8, 9, size=(2, 6, width)) / 8 for width in WIDTHS]
    flat, dense = np.concatenate(values, axis=-1), whole(forms)
    np.testing.assert_array_equal(forms(values), flat @ dense.T + forms.bias)  # short dyadics: nothing is rounded
    np.testing.assert_array_equal(forms.matrix.toarray(), dense)
    np.testing.assert_array_equal(forms.sizes(values), flat @ np.abs(dense).T + np.abs(forms.bias))
    np.testing.assert_array_equal(forms.terms, np.count_nonzero(dense, axis=1))
    for (columns, weights), row in zip(forms.rows(), dense, strict=True):
        assert columns == np.flatnonzero(row).tolist()
        assert weights == row[row != 0].tolist()
    again = Forms.of(dense, forms.bias, WIDTHS)
    assert [source for source, _ in again.blocks] == [source for source, _ in forms.blocks]
    np.testing.assert_array_equal(whole(again), dense)
    np.testing.assert_allclose(forms.mixed(matrix, 0.5)(values), forms(values) @ matrix.T + 0.5, rtol=1e-12, atol=1e-12)
    moved = forms.of_inputs(np.array([[1.0, 2.0], [0.0, -1.0], [0.5, 0.0]]), np.array([0.0, 1.0, 2.0]))
    y = draw.integers(-8, 9, size=(2, 6, 2)) / 8
    inputs = y @ np.array([[1.0, 0.0, 0.5], [2.0, -1.0, 0.0]]) + [0.0, 1.0, 2.0]
    np.testing.assert_array_equal(moved([y, *values[1:]]), forms([inputs, *values[1:]]))


@pytest.mark.parametrize("seed", range(5))
def test_fractions_and_symbols_give_the_same_forms(seed: int) -> None:
    draw = np.random.default_rng(seed)
    forms = random_forms(draw, WIDTHS, 4)
    values = [draw.integers(-8, 9, size=width) / 8 for width in WIDTHS]
    exact = forms([np.array([Fraction(v) for v in part], dtype=object) for part in values])
    assert [float(v) for v in exact] == forms(values).tolist()
    inputs = Graph().inputs(sum(WIDTHS))
    starts = np.cumsum([0, *WIDTHS])
    symbols = forms([np.array(inputs[a:b], dtype=object) for a, b in pairwise(starts)])
    assert len(symbols) == 4


def test_blocks_are_stored_sparse_up_to_a_quarter_and_left_out_where_they_are_zero() -> None:
    quarter, more = np.zeros((4, 4)), np.zeros((4, 4))
    quarter[:, 1], more[:, 1], more[0, 0] = 1.0, 1.0, 2.0
    forms = Forms((4, 4, 4), ((0, quarter), (1, sparse.csr_array(more)), (2, np.zeros((4, 4)))), np.zeros(4))
    assert [(source, sparse.issparse(block)) for source, block in forms.blocks] == [(0, True), (1, False)]
    with pytest.raises(ValueError, match="read-only"):
        forms.blocks[1][1][0, 0] = 3.0
    more[0, 0] = 5.0
    assert forms.blocks[1][1][0, 0] == 2.0  # a copy


def test_forms_without_blocks_are_constant() -> None:
    forms = Forms((2,), (), [1.0, 2.0])
    assert forms([np.ones((3, 2))]).tolist() == [[1.0, 2.0]] * 3
    assert forms([np.array([Fraction(1), Fraction(2)], dtype=object)]).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("blocks", "bias", "message"),
    [
        (((0, np.ones((2, 3))),), [0.0, 0.0, 0.0], "one number for each form"),
        (((0, np.ones((1, 2))),), [0.0], "3 values of source 0"),
        (((1, np.ones((1, 2))), (0, np.ones((1, 3)))), [0.0], "rising numbers"),
        (((2, np.ones((1, 2))),), [0.0], "rising numbers from 0 to 1"),
        (((0, [[1.0, np.nan, 0.0]]),), [0.0], "not finite"),
        ((), [np.inf], "not finite"),
    ],
)
def test_what_does_not_fit_is_refused(blocks, bias, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(pm.InputError, match=message):
        Forms((3, 2), blocks, bias)
