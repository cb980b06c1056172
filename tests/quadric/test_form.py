"""Forms of boundaries and networks agree with the polynomials they come from."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from problems import random_network
from quadric.samples import sample

import polymargin as pm
from polymargin.errors import InputError
from polymargin.quadric import HiddenSquares, NetworkSolvers, QuadricForm, QuadricSolver, exact_form


def _layers(generator: np.random.Generator, *widths: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(generator.normal(size=(out, inputs)), generator.normal(size=out)) for inputs, out in pairwise(widths)]


@pytest.mark.parametrize(
    ("widths", "activations"),
    [
        ((3, 4, 2), [[0.0, 0.0, 1.0]]),
        ((3, 4, 3), [[0.5, -1.0, 2.0]]),
        ((5, 2, 3, 2), [[1.0, 0.5], [0.3, 0.0, 1.0]]),
        ((3, 4, 5, 3, 2), [[0.3, 2.0], [1.0, -1.0, 0.5], [1.0, 0.3]]),
        ((3, 4, 5, 2), [[0.0, 0.0, 0.0, 1.0], [0.7]]),
        ((3, 4, 5, 3, 2), [[0.0, 0.0, 1.0], [0.7], [1.0, 2.0, 3.0, 4.0]]),
        ((3, 4, 2), [[0.2, 1.5]]),
        ((3, 2), []),
    ],
)
def test_networks_melt_into_one_sum_of_squares(widths: tuple[int, ...], activations: list[list[float]]) -> None:
    generator = np.random.default_rng(len(widths))
    network = pm.PolynomialNetwork(_layers(generator, *widths), activations=activations)
    points = generator.normal(size=(7, widths[0]))
    logits = network(points)
    expected = logits[:, 1] - logits[:, 0]
    form = QuadricForm.from_network(network, 1, 0)
    assert form.dimension == widths[0]
    np.testing.assert_allclose(form(points), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(HiddenSquares.from_network(network).pair(1, 0)(points), expected, rtol=1e-11, atol=1e-11)
    boundary = pm.Boundary.from_network(network, 1, 0)
    np.testing.assert_allclose(QuadricForm.from_boundary(boundary).matrix, form.matrix)
    matrix, linear, constant = exact_form(boundary)
    np.testing.assert_allclose(np.array(matrix, dtype=float), form.matrix, atol=1e-12)
    np.testing.assert_allclose(np.array(linear, dtype=float), form.linear, atol=1e-12)
    assert float(constant) == pytest.approx(form.constant, abs=1e-12)


def test_exact_form_returns_the_planted_rationals() -> None:
    for seed in range(20):
        planted = sample(np.random.default_rng(seed), 1 + seed % 5)
        assert exact_form(planted.boundary()) == (planted.matrix, planted.linear, planted.constant)


def test_cancellation_lowers_the_degree() -> None:
    boundary = pm.Boundary.from_expression("(x + y)**3 - (x + y)*(x**2 + 2*x*y + y**2) + x*y - 1/3")
    form = QuadricForm.from_boundary(boundary)
    assert form.matrix.tolist() == [[0.0, 0.5], [0.5, 0.0]]
    assert exact_form(boundary)[2] == Fraction(-1, 3)


def test_refusals() -> None:
    with pytest.raises(InputError, match="degree 3"):
        QuadricForm.from_boundary(pm.Boundary.from_expression("x**3 - y"))
    with pytest.raises(InputError, match="degree 3"):
        QuadricForm.from_network(random_network([2, 3, 2], 3, 0), 0, 1)
    with pytest.raises(InputError, match="not finite"):
        QuadricForm(np.full((1, 1), np.nan), np.zeros(1), 0.0)
    with pytest.raises(InputError, match="expected"):
        QuadricForm(np.zeros((2, 2)), np.zeros(3), 0.0)
    with pytest.raises(InputError, match="two different"):
        NetworkSolvers(random_network([2, 3, 2], 2, 0)).pair(1, 1)
    solver = QuadricSolver(QuadricForm(np.eye(2), np.zeros(2), -1.0))
    with pytest.raises(InputError, match="rows of 2"):
        solver.nearest_batch(np.zeros((3, 4)))
    with pytest.raises(InputError, match="finite"):
        solver.nearest([np.inf, 0.0])


def test_large_networks() -> None:
    network = random_network([4000, 128, 10], 2, 3)
    form = QuadricForm.from_network(network, 2, 7)
    x = np.random.default_rng(0).normal(size=4000)
    assert form(x) == pytest.approx(float(network(x)[2] - network(x)[7]), rel=1e-9)
