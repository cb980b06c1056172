"""Extreme eigenvalues from a few products, for several operators at once; what a vector sees of a matrix; the best ball."""

from __future__ import annotations

import numpy as np
import pytest

from polymargin.bounds.lifted.best_ball import FEW, best_ball
from polymargin.relaxation.algebra import NUMPY
from polymargin.relaxation.lanczos import extremes, seen_from


def stack(count: int, side: int) -> np.ndarray:
    matrices = np.random.default_rng(side).normal(size=(count, side, side))
    return matrices + matrices.transpose(0, 2, 1)


@pytest.mark.parametrize(("side", "steps"), [(5, 40), (60, 30)])
def test_ritz_values_lie_inside_and_their_errors_reach_an_eigenvalue(side: int, steps: int) -> None:
    matrices = stack(3, side)
    truth = np.linalg.eigvalsh(matrices)
    found = extremes(NUMPY, lambda v: (matrices @ v[:, :, None])[:, :, 0], 3, side, steps)
    room = 1e-9 * np.abs(truth).max()
    assert (found.least >= truth[:, 0] - room).all()
    assert (found.largest <= truth[:, -1] + room).all()
    for value, error, eigenvalues in zip(found.least, found.least_error, truth, strict=True):
        assert np.abs(eigenvalues - value).min() <= error + room
    np.testing.assert_allclose(found.least, truth[:, 0], rtol=0.02)
    np.testing.assert_allclose(found.largest, truth[:, -1], rtol=0.02)


def test_operators_with_few_different_eigenvalues() -> None:
    """Their products span little; the others of the stack are not disturbed, and no value leaves the spectrum, zero apart."""
    matrices = np.stack([3.0 * np.eye(20), np.zeros((20, 20)), stack(1, 20)[0]])
    found = extremes(NUMPY, lambda v: (matrices @ v[:, :, None])[:, :, 0], 3, 20, 20)
    truth = np.linalg.eigvalsh(matrices[2])
    np.testing.assert_allclose(found.largest, [3.0, 0.0, truth[-1]], atol=1e-8)
    assert found.least[2] == pytest.approx(truth[0], rel=1e-8)
    assert found.least[0] in (pytest.approx(0.0, abs=1e-9), pytest.approx(3.0))


def test_what_a_vector_sees_of_a_matrix() -> None:
    matrix = stack(1, 40)[0]
    definite = matrix @ matrix + 40.0 * np.eye(40)
    vector = np.random.default_rng(1).normal(size=40)
    values, squares = seen_from(vector, definite, 20)
    assert (squares / values).sum() == pytest.approx(vector @ np.linalg.solve(definite, vector), rel=1e-6)
    assert squares.sum() == pytest.approx(vector @ vector)
    eigenvector = np.linalg.eigh(definite)[1][:, 3]  # its products span nothing new
    values, squares = seen_from(2 * eigenvector, definite, 20)
    assert (squares / (values + 1e-12)).sum() == pytest.approx(4 * eigenvector @ np.linalg.solve(definite, eigenvector))
    assert not seen_from(np.zeros(40), definite, 20)[1].any()


@pytest.mark.parametrize("side", [20, FEW + 40])
@pytest.mark.parametrize("kind", ["easy", "border along the lowest direction", "no border", "indefinite"])
def test_the_best_ball(side: int, kind: str) -> None:
    """Against a fine search over μ with all eigenvalues; in many dimensions a hundredth of the scale is left."""
    generator = np.random.default_rng(side)
    inner = generator.normal(size=(side, side)) / np.sqrt(side)
    inner = inner @ inner.T if kind != "indefinite" else inner + inner.T
    values, vectors = np.linalg.eigh(inner)
    border = {"no border": np.zeros(side), "border along the lowest direction": vectors[:, 0]}.get(
        kind, generator.normal(size=side) / np.sqrt(side)
    )
    form = np.block([[np.array([[5.0]]), border[None]], [border[:, None], inner]])
    value, mu = best_ball(form, 1.0)
    squares, floor = (vectors.T @ border) ** 2, max(0.0, -values[0])
    trials = floor + np.concatenate([np.geomspace(1e-9, 1.0, 400), np.linspace(1.0, 5.0, 400)])
    truth = max(5.0 - m - (squares / (values + m)).sum() for m in trials)
    assert value == pytest.approx(5.0 - mu - (squares / (values + mu)).sum(), abs=1e-6)
    assert truth - 0.02 <= value <= truth + 1e-3
    assert values[0] + mu > 0
    assert best_ball(np.full((side + 1, side + 1), np.nan), 1.0)[0] == -np.inf
