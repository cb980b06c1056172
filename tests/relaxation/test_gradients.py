"""Gradients and Hessians of random stages against exact differences, and evaluation in other coordinates."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from random_stages import by_definition, random_stages
from scipy import sparse

from polymargin.networks.network import Network
from polymargin.relaxation.gradients import Functionals

STEP = Fraction(1, 2**40)


def exact_derivatives(
    network: Network, point: np.ndarray, label: int, rival: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """The value, and differences in Fractions along all pairs of axes: exact up to third derivatives times 2^−40."""

    def lead(steps: dict[int, int]) -> Fraction:
        moved = [Fraction(v) + steps.get(i, 0) * STEP for i, v in enumerate(point.tolist())]
        logits = by_definition(network, moved)
        return logits[label] - logits[rival]

    size, here = len(point), lead({})
    ahead = [lead({i: 1}) for i in range(size)]
    slopes = [(ahead[i] - lead({i: -1})) / (2 * STEP) for i in range(size)]
    bends = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            both = lead({i: 2}) if i == j else lead({i: 1, j: 1})
            bends[i, j] = float((both - ahead[i] - ahead[j] + here) / STEP**2)
    return float(here), np.array([float(s) for s in slopes]), bends


@pytest.mark.parametrize("seed", range(16))
def test_against_exact_differences(seed: int) -> None:
    network = random_stages(seed)
    draw = np.random.default_rng(seed)
    size, rivals = network.dimension, list(range(1, network.class_count))
    functionals = Functionals.leads(network, 0, rivals)
    rows = np.array([0, len(rivals) - 1, 0])
    points = draw.uniform(-1, 1, size=(3, size))
    basis = np.linalg.qr(draw.normal(size=(size, 2)))[0]
    values, slopes, bends = functionals.hessians(points, rows, basis)
    same, gradients = functionals.gradients(points, rows)
    np.testing.assert_allclose(same, values)
    np.testing.assert_allclose(functionals.values(points, rows), values)
    for k, row in enumerate(rows):
        value, slope, bend = exact_derivatives(network, points[k], 0, rivals[row])
        scale = 1 + np.abs(bend).max()
        assert values[k] == pytest.approx(value, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(gradients[k], slope, rtol=1e-6, atol=1e-6 * scale)
        np.testing.assert_allclose(slopes[k], basis.T @ slope, rtol=1e-6, atol=1e-6 * scale)
        np.testing.assert_allclose(bends[k], basis.T @ bend @ basis, rtol=1e-6, atol=1e-6 * scale)


def test_other_coordinates() -> None:
    """f(u + D z) and its derivatives by z, for dense and sparse D."""
    network = random_stages(3)
    draw = np.random.default_rng(0)
    size = network.dimension
    whole = Functionals.leads(network, 0, [1], abstain=0.25)
    point, rows = draw.normal(size=size), np.zeros(4, dtype=np.int64)
    for turn in (draw.normal(size=(size, 3)), sparse.csr_array(np.eye(size)[:, [1, 0]] * [0.5, 2.0])):
        along = whole.along(turn)
        local = along.at(whole, point)
        steps = draw.normal(size=(4, turn.shape[1]))
        values, slopes = local.gradients(steps, rows)
        expected, gradients = whole.gradients(point + steps @ turn.T, rows)
        np.testing.assert_allclose(values, expected)
        np.testing.assert_allclose(slopes, gradients @ turn)
        np.testing.assert_allclose(whole.around(point).along(turn).values(steps, rows), values)
    logits = network(point)
    assert whole.values(point[None], rows[:1])[0] == pytest.approx(logits[0] - logits[1] - 0.25)
