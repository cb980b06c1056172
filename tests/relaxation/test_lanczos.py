"""Extreme eigenvalues from a few products, for several operators at once."""

from __future__ import annotations

import numpy as np
import pytest

from polymargin.relaxation.algebra import NUMPY
from polymargin.relaxation.lanczos import extremes


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
