"""Ranges from curvatures against samples, sums of squares patch by patch, and rests minimised out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import polymargin as pm
from polymargin.bounds.lifted.cuts import cut_weights
from polymargin.bounds.lifted.eigenvalues import largest_eigenvalues
from polymargin.bounds.lifted.expansion import LiftedExpansion, expansion_at
from polymargin.bounds.lifted.first_multipliers import first_multipliers
from polymargin.bounds.lifted.local import LocalRows
from polymargin.bounds.lifted.question import Question
from polymargin.bounds.lifted.ranges import rest_ranges
from polymargin.bounds.lifted.relaxation import LiftedRelaxation
from polymargin.bounds.lifted.top import top_terms
from polymargin.bounds.view import View
from polymargin.relaxation.algebra import NUMPY


def convolutional(seed: int) -> pm.Network:
    """One dimension: 24 inputs, three channels of patches of four, four channels of patches of three places, 6, 3."""
    generator = np.random.default_rng(seed)
    first, second = np.zeros((33, 24)), np.zeros((20, 33))
    kernels, others = generator.normal(size=(3, 4)), generator.normal(size=(4, 6)) / 2
    for place in range(11):
        for channel in range(3):
            first[3 * place + channel, 2 * place : 2 * place + 4] = kernels[channel][: 24 - 2 * place]
    for place in range(5):
        for channel in range(4):
            second[4 * place + channel, 6 * place : 6 * place + 6] = others[channel]
    layers = [(first, 0.2 * generator.normal(size=33)), (second, 0.2 * generator.normal(size=20))]
    layers += [
        (generator.normal(size=(6, 20)) / 4, generator.normal(size=6)),
        (generator.normal(size=(3, 6)), np.zeros(3)),
    ]
    return pm.PolynomialNetwork(layers, degree=2)


@pytest.mark.parametrize("seed", [0, 1])
def test_rests_stay_in_their_ranges(seed: int) -> None:
    network, radius = convolutional(seed), 0.3
    expansion = LiftedExpansion.of(View.of(network, 0.3 * np.random.default_rng(seed).normal(size=24)))
    assert sparse.issparse(expansion.layers[1].weights)
    ranges = rest_ranges(expansion, radius)
    generator = np.random.default_rng(9)
    for _ in range(300):
        delta = generator.normal(size=24)
        delta *= radius / np.linalg.norm(delta)
        for (_, rest), limits in zip(expansion.rests(delta)[1:], ranges, strict=True):
            assert (limits[:, 0] <= rest).all()
            assert (rest <= limits[:, 1]).all()


def test_sums_of_squares_patch_by_patch() -> None:
    rows = np.asarray(convolutional(2).chain.layers[0].weights)
    weights = np.random.default_rng(0).normal(size=len(rows))
    local = LocalRows(rows)
    np.testing.assert_allclose(local.weighted(weights), rows.T @ (weights[:, None] * rows), atol=1e-12)
    many = LocalRows(np.tile(rows, (8, 1)))
    assert len(many.groups) == 11
    expected = rows.T @ (weights[:, None] * rows)
    np.testing.assert_allclose(many.weighted(np.tile(weights, 8)), 8 * expected, atol=1e-12)


@pytest.mark.parametrize("side", [3, 200])
def test_an_upper_bound_of_the_eigenvalues(side: int) -> None:
    matrix = np.random.default_rng(side).normal(size=(side, side))
    matrix += matrix.T
    most = float(np.linalg.eigvalsh(matrix)[-1])
    assert most <= largest_eigenvalues(NUMPY, matrix[None])[0] <= 1.013 * most
    assert 0 <= largest_eigenvalues(NUMPY, -(matrix @ matrix.T)[None])[0] <= 1e-3 * most**2


def test_rests_are_minimised_out() -> None:
    """The form in (1, δ) is the Schur complement of the whole matrix."""
    network, radius = convolutional(3), 0.2
    u = 0.3 * np.random.default_rng(3).normal(size=24)
    label, rival = (int(c) for c in np.argsort(-network(u))[:2])
    expansion = expansion_at(View.of(network, u))
    assert expansion_at(View.of(network, u)) is expansion
    question = Question(expansion, label, rival, radius)
    ranges = tuple(rest_ranges(expansion, radius))
    top = top_terms(expansion, *question.output, radius, ranges[-1], question.worst_last)
    cuts = cut_weights(expansion, top, ranges)
    relaxation = LiftedRelaxation(expansion, top, question.size, radius, ranges, cuts, {2: (-0.1, 0.2)}, question.worst)
    y, value = first_multipliers(relaxation)
    Z = relaxation.program.matrix(y)
    complement = Z[:25, :25] - Z[:25, 25:] @ np.linalg.solve(Z[25:, 25:], Z[25:, :25])
    np.testing.assert_allclose(relaxation.reduced(y), complement, atol=1e-9 * np.abs(Z).max())
    assert np.linalg.eigvalsh(Z)[0] > 0
    generator = np.random.default_rng(4)
    for _ in range(200):
        delta = generator.normal(size=24)
        delta *= radius / np.linalg.norm(delta)
        if not -0.1 <= expansion.layers[0].slopes[2] @ delta <= 0.2:
            continue
        logits = network(u + delta)
        assert logits[label] - logits[rival] >= value - 1e-9 * abs(question.size)
