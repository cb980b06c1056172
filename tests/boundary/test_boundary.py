"""Degree, active subspace and scaling of boundaries."""

from __future__ import annotations

import numpy as np
import pytest
from problems import PROBLEMS, Problem, random_network

import polymargin as pm
from polymargin.boundary import generic_critical_count


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_bound_is_the_number_of_critical_points(problem: Problem) -> None:
    boundary = pm.Boundary.from_network(problem.network(), 0, 1)
    assert boundary.degree == problem.degree ** len(problem.hidden)
    assert boundary.reduction.dimension == min(problem.inputs, problem.hidden[0])
    assert boundary.critical_bound == problem.critical_points


def test_cancellation_lowers_the_degree() -> None:
    """Two logits with the same cubic part differ by a constant, or by a linear function."""
    cubic = [[1.0, 2.0], [1.0, 2.0]]
    same = pm.PolynomialNetwork([(np.eye(2), [0, 0]), (cubic, [0, 3])], degree=3)
    assert pm.Boundary.from_network(same, 0, 1).degree == 0
    mixed = pm.PolynomialNetwork([(np.eye(2), [0, 0]), ([[1, 2], [1, 2.5]], [0, 3])], activations=[[0, 1, 1]])
    assert pm.Boundary.from_network(mixed, 0, 1).degree == 2
    assert pm.Boundary.from_expression("(x+y)**3 - x**3 - y**3 - 3*x*y*(x+y) + x - 1").degree == 1
    assert pm.Boundary.from_expression("x - x + 0*y", variables="x y").degree == -1


def test_active_subspace_of_dead_neurons_and_hidden_dependence() -> None:
    network = pm.PolynomialNetwork([np.eye(3), ([[1, 1, 1], [0, 2, 1]], [0, 1])], degree=2)
    assert pm.Boundary.from_network(network, 0, 1).reduction.dimension == 2, "the third neuron cancels"
    tilted = pm.Boundary.from_expression("(x + y)**3 + (x + y)*(z - x) + (z - x)**2 - 1")
    assert tilted.reduction.dimension == 2


def test_reduced_coordinates_are_a_similarity() -> None:
    network = random_network([7, 3, 2], 3, seed=4)
    boundary = pm.Boundary.from_network(network, 0, 1)
    reduction = boundary.reduction
    assert reduction.dimension == 3
    generator = np.random.default_rng(0)
    u, y = generator.normal(size=7), generator.normal(size=(5, 3))
    x = reduction.lift(y, u)
    assert np.allclose(reduction.coordinates(x), y)
    distances = reduction.scale * np.linalg.norm(y - reduction.coordinates(u), axis=1)
    assert np.allclose(np.linalg.norm(x - u, axis=1), distances)
    assert np.allclose(boundary(x), reduction.source.values(y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_scaling_brings_every_part_near_one(scale: float) -> None:
    boundary = pm.Boundary.from_network(random_network([4, 6, 2], 3, seed=3, scale=scale), 0, 1)
    reduction = boundary.reduction
    values = reduction.source.values(np.random.default_rng(1).normal(size=(200, 4))) / reduction.factor
    assert 1e-2 < np.sqrt((values**2).mean()) < 1e3


def test_generic_count_formula() -> None:
    assert [generic_critical_count(m, 3) for m in (1, 2, 3, 4, 6, 8)] == [3, 9, 21, 45, 189, 765]
    assert [generic_critical_count(m, 2) for m in (1, 5, 8)] == [2, 10, 16]
    assert generic_critical_count(3, 1) == 1


def test_gradient_against_differences() -> None:
    boundary = pm.Boundary.from_network(random_network([3, 4, 4, 2], 2, seed=8), 0, 1)
    u = np.array([0.3, -0.2, 0.7])
    for axis, slope in enumerate(boundary.gradient(u)):
        step = np.zeros(3)
        step[axis] = 1e-5
        assert slope == pytest.approx((boundary(u + step) - boundary(u - step)) / 2e-5, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(("label", "rival"), [(0, 0), (0, 2), (-1, 0)])
def test_classes_must_exist_and_differ(label: int, rival: int) -> None:
    with pytest.raises(pm.InputError, match="class"):
        pm.Boundary.from_network(random_network([2, 3, 2], 2, seed=0), label, rival)


def test_a_boundary_prints_as_what_it_is() -> None:
    assert repr(pm.Boundary.from_expression("x**2 - 1")) == "Boundary(x**2 - 1; 1 input)"
    network = random_network([3, 4, 3], 2, seed=1)
    assert repr(pm.Boundary.from_network(network, 0, 2)) == "Boundary(class 0 against class 2; 3 inputs)"
    long = repr(pm.Boundary.from_expression(" + ".join(f"x**{n}" for n in range(1, 50))))
    assert len(long) < 110
    assert "…; 1 input)" in long
