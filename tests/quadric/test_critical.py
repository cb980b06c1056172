"""All critical points: closed forms, agreement with continuation, multiplicities, residuals at size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import random_network
from quadric.samples import sample

import polymargin as pm
from polymargin.errors import InputError
from polymargin.quadric import QuadricForm, QuadricSolver, quadric_critical_points, quadric_ed_degree

# expression, variables, u, real distances, multiplicities (sorted), families (sorted)
CLOSED_FORMS = [
    ("x**2 + y**2 - 4", "x y", (3.0, 4.0), [3.0, 7.0], [1, 1], [0, 0]),
    ("x**2 + y**2 - 4", "x y", (0.0, 0.0), [2.0, 2.0], [1, 1], [1, 1]),
    ("x**2 + y**2 + z**2 - 4", "x y z", (0.0, 0.0, 0.0), [2.0, 2.0], [1, 1], [2, 2]),
    ("x**2 + 4*y**2 - 4", "x y", (0.0, 0.0), [1.0, 1.0, 2.0, 2.0], [1, 1, 1, 1], [0, 0, 0, 0]),
    ("x**2 + 4*y**2 - 4", "x y", (1.5, 0.0), [0.5, 3.5], [1, 3], [0, 0]),
    ("y - x**2", "x y", (0.0, 2.0), [math.sqrt(1.75), math.sqrt(1.75), 2.0], [1, 1, 1], [0, 0, 0]),
    ("y - x**2", "x y", (0.0, 0.5), [0.5], [3], [0]),
    ("x**2 - y**2 - 1", "x y", (0.0, 1.0), [math.sqrt(1.5)] * 2, [1, 1, 1, 1], [0, 0, 0, 0]),
    ("x*y", "x y", (1.0, 2.0), [1.0, 2.0, math.sqrt(5.0)], [1, 1, 2], [0, 0, 0]),
    ("x*y", "x y", (0.0, 0.0), [0.0], [4], [0]),
    ("x**2 - 1", "x y", (0.25, 2.0), [0.75, 1.25], [1, 1], [0, 0]),
    ("(x - y)**2", "x y", (1.0, 0.0), [math.sqrt(0.5)], [2], [1]),
    ("x**2 + y**2", "x y", (3.0, 4.0), [5.0], [2], [0]),
    ("x**2 + y**2 + 1", "x y", (0.3, 2.0), [], [1, 1], [0, 0]),
    ("x**2 + y**2 - 1", "x y z", (3.0, 0.0, 7.0), [2.0, 4.0], [1, 1], [0, 0]),
    ("z**2 - x**2 - y**2", "x y z", (0.0, 0.0, 1.0), [math.sqrt(0.5)] * 2 + [1.0], [1, 1, 2], [0, 1, 1]),
    ("3*x + 4*y - 5", "x y", (0.0, 0.0), [1.0], [1], [0]),
    ("x - x + 1", "x y", (0.0, 0.0), [], [], []),
]


@pytest.mark.parametrize(("expression", "variables", "u", "distances", "multiplicities", "families"), CLOSED_FORMS)
def test_closed_forms(
    expression: str,
    variables: str,
    u: tuple[float, ...],
    distances: list[float],
    multiplicities: list[int],
    families: list[int],
) -> None:
    boundary = pm.Boundary.from_expression(expression, variables)
    found = quadric_critical_points(boundary, u)
    np.testing.assert_allclose(found.distances[found.real], distances, rtol=1e-9, atol=1e-15)
    assert sorted(found.multiplicities.tolist()) == multiplicities
    assert sorted(found.families.tolist()) == families
    assert np.isinf(found.distances[~found.real]).all()
    _check_equations(QuadricForm.from_boundary(boundary), np.array(u), found.points, found.multipliers)


def test_the_zero_polynomial_is_refused() -> None:
    with pytest.raises(InputError, match="zero"):
        quadric_critical_points(pm.Boundary.from_expression("x - x", "x"), [1.0])
    with pytest.raises(InputError, match="2 finite numbers"):
        quadric_critical_points(pm.Boundary.from_expression("x*y - 1"), [1.0])


def test_points_close_to_a_special_position() -> None:
    """On the axis of a cone a circle of critical points; just off it two points, however close."""
    cone = pm.Boundary.from_expression("z**2 - x**2 - y**2", "x y z")
    for offset in (1e-3, 1e-6, 1e-9, 1e-12):
        found = quadric_critical_points(cone, [offset, 0.0, 1.0])
        assert sorted(found.multiplicities.tolist()) == [1, 1, 2]
        expected = [(1 - offset) / math.sqrt(2), (1 + offset) / math.sqrt(2), math.hypot(offset, 1.0)]
        np.testing.assert_allclose(found.distances, expected, rtol=1e-13)


def _check_equations(form: QuadricForm, u: np.ndarray, points: np.ndarray, multipliers: np.ndarray) -> None:
    size = 1 + np.abs(points).max(axis=1, initial=0.0)
    values = np.einsum("ij,ij->i", points @ form.matrix + form.linear, points) + form.constant
    scale = 1 + np.abs(form.matrix).max() * form.dimension + np.abs(form.linear).max() + abs(form.constant)
    assert (np.abs(values) <= 1e-9 * scale * size**2).all()
    gradients = 2 * points @ form.matrix + form.linear
    finite = np.isfinite(multipliers)
    residuals = points[finite] - u + multipliers[finite, None] * gradients[finite]
    bound = 1e-9 * size[finite] * (1 + np.abs(multipliers[finite]) * scale)
    assert (np.abs(residuals).max(axis=1, initial=0.0) <= bound).all()
    assert np.abs(gradients[~finite]).max(initial=0.0) <= 1e-9 * scale


def _compare_with_continuation(index: int, dimension: int, rotated: bool, special: bool) -> bool:
    """Whether the peer found as many, whether or not it knows that these are all."""
    generator = np.random.default_rng([17, index])
    quadric = sample(generator, dimension, rotated)
    boundary = quadric.boundary()
    u = generator.integers(-4, 5, size=dimension) / 4 if special else generator.normal(size=dimension)
    solver = QuadricSolver(boundary)
    found = quadric_critical_points(solver, u)
    nearest = solver.nearest(u).distance
    what = (index, quadric.eigenvalues, quadric.shape)
    assert nearest == pytest.approx(_least(found.distances), rel=1e-9, abs=1e-9), what
    form = solver.spectrum.source
    assert isinstance(form, QuadricForm)
    _check_equations(form, u, found.points, found.multipliers)
    total = 2 * quadric.distinct + (quadric.shape == "paraboloid")
    assert int(found.multiplicities.sum()) == total, what
    if not special:
        finite = np.isfinite(found.multipliers)
        assert int(found.multiplicities[finite].sum()) == quadric.ed_degree, what
    peer = pm.critical_points(boundary, u, cache=False, threads=1)
    if int(peer.multiplicities.sum()) < total:  # it lost some: those found here satisfy the equations
        assert nearest <= _least(peer.distances) + 1e-9, what
        return False
    assert nearest == pytest.approx(_least(peer.distances), rel=1e-9, abs=1e-9), what
    assert sorted(found.multiplicities.tolist()) == sorted(peer.multiplicities.tolist()), what
    assert int(found.real.sum()) == int(peer.real.sum()), what
    return True


def _least(distances: np.ndarray) -> float:
    return float(distances[0]) if len(distances) else math.inf


@pytest.mark.parametrize("block", range(10))
def test_agreement_with_continuation(block: int) -> None:
    compared = 0
    for index in range(30 * block, 30 * block + 30):
        dimension = 1 + index % 10
        rotated = dimension <= 4 or index % 30 == 9
        compared += _compare_with_continuation(index, dimension, rotated, special=index % 3 == 1)
    assert compared >= 29


@pytest.mark.slow
def test_agreement_with_continuation_at_length() -> None:
    compared = 0
    for index in range(1000, 2000):
        compared += _compare_with_continuation(index, 1 + index % 10, index % 4 != 0, special=index % 4 == 0)
    assert compared >= 980


def test_networks_of_degree_two() -> None:
    network = random_network([12, 5, 2], 2, 4)
    boundary = pm.Boundary.from_network(network, 0, 1)
    u = np.random.default_rng(0).normal(size=12)
    found, peer = quadric_critical_points(boundary, u), pm.critical_points(boundary, u, cache=False)
    # Seven directions do not matter, and the linear part lies in the range of A.
    assert len(found) == len(peer) == int(quadric_ed_degree(boundary)) == 10
    np.testing.assert_allclose(found.distances, peer.distances, rtol=1e-10)


def test_five_hundred_variables() -> None:
    generator = np.random.default_rng(5)
    matrix = generator.normal(size=(500, 500))
    form = QuadricForm(matrix + matrix.T, generator.normal(size=500), 1.0)
    u = generator.normal(size=500)
    solver = QuadricSolver(form)
    found = quadric_critical_points(solver, u)
    assert len(found) == 1000
    assert found.multiplicities.tolist() == [1] * 1000
    assert float(found.distances[0]) == pytest.approx(solver.nearest(u).distance, rel=1e-12)
    _check_equations(form, u, found.points, found.multipliers)
    upper = found.multipliers[found.multipliers.imag > 0]
    lower = found.multipliers[found.multipliers.imag < 0].conj()
    np.testing.assert_allclose(np.sort_complex(upper), np.sort_complex(lower), rtol=1e-8)
