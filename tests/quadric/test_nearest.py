"""The nearest point: closed forms, degenerate quadrics, an optimiser that must not do better, size, speed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import random_network
from quadric.samples import sample
from scipy.optimize import minimize

import polymargin as pm
from polymargin.quadric import NearestKind, NetworkSolvers, QuadricForm, QuadricSolver

# expression, variables, u, distance, kind
CLOSED_FORMS = [
    ("x**2 + 4*y**2 - 4", "x y", (0.0, 0.25), 0.75, NearestKind.REGULAR),
    ("x**2 + 4*y**2 - 4", "x y", (0.0, 0.0), 1.0, NearestKind.SPHERE),
    ("x**2 + 4*y**2 - 4", "x y", (1.0, 0.0), math.sqrt(2 / 3), NearestKind.SPHERE),  # (4/3, ±√5/3)
    ("x**2 + 4*y**2 - 4", "x y", (1.5, 0.0), 0.5, NearestKind.REGULAR),  # a focal point: a triple critical point
    ("x**2 + 4*y**2 - 4", "x y", (5.0, 0.0), 3.0, NearestKind.REGULAR),
    ("x**2 + y**2 - 4", "x y", (3.0, 4.0), 3.0, NearestKind.REGULAR),
    ("x**2 + y**2 - 4", "x y", (0.0, 1e-9), 2 - 1e-9, NearestKind.REGULAR),
    ("x**2 + y**2 + z**2 - 9", "x y z", (0.0, 0.0, 0.0), 3.0, NearestKind.SPHERE),
    ("z - x**2 - y**2", "x y z", (0.0, 0.0, -2.0), 2.0, NearestKind.REGULAR),
    ("z - x**2 - y**2", "x y z", (0.0, 0.0, 2.5), 1.5, NearestKind.SPHERE),
    ("z - x**2 - y**2", "x y z", (0.0, 0.0, 0.5), 0.5, NearestKind.REGULAR),
    ("x**2 - y**2 - 1", "x y", (0.0, 0.0), 1.0, NearestKind.SPHERE),
    ("x**2 - y**2 - 1", "x y", (0.0, 1.0), math.sqrt(1.5), NearestKind.SPHERE),
    ("x**2 - y**2 - 1", "x y", (1.5, 0.0), 0.5, NearestKind.REGULAR),
    ("x*y", "x y", (1.0, 2.0), 1.0, NearestKind.REGULAR),
    ("x*y", "x y", (1.0, 1.0), 1.0, NearestKind.SPHERE),
    ("x*y", "x y", (0.0, 0.0), 0.0, NearestKind.ON_BOUNDARY),
    ("x**2 - 1", "x y", (0.3, 2.0), 0.7, NearestKind.REGULAR),
    ("x**2 - 1", "x y", (0.0, 2.0), 1.0, NearestKind.SPHERE),
    ("(x - y)**2", "x y", (1.0, 0.0), math.sqrt(0.5), NearestKind.SINGULAR),
    ("(x - 1)**2 + (y - 2)**2", "x y", (4.0, 6.0), 5.0, NearestKind.SINGULAR),
    ("(x - 1)**2 + (y - 2)**2", "x y", (1.0, 2.0), 0.0, NearestKind.ON_BOUNDARY),
    ("-x**2 - y**2 - 1", "x y", (0.5, 0.5), math.inf, NearestKind.EMPTY),
    ("x**2 + 1", "x y", (0.0, 0.0), math.inf, NearestKind.EMPTY),
    ("x**2 + y**2 - 1", "x y z", (3.0, 0.0, 7.0), 2.0, NearestKind.REGULAR),
    ("z**2 - x**2 - y**2", "x y z", (0.0, 0.0, 1.0), math.sqrt(0.5), NearestKind.SPHERE),
    ("z**2 - x**2 - y**2", "x y z", (2.0, 0.0, 0.0), math.sqrt(2.0), NearestKind.SPHERE),
    ("3*x + 4*y - 5", "x y", (0.0, 0.0), 1.0, NearestKind.REGULAR),
    ("x - x + 2", "x y", (0.0, 0.0), math.inf, NearestKind.EMPTY),
    ("x - x", "x y", (1.0, 3.0), 0.0, NearestKind.ON_BOUNDARY),
    ("x**2 - 4", "x", (1.0,), 1.0, NearestKind.REGULAR),
]


@pytest.mark.parametrize(("expression", "variables", "u", "distance", "kind"), CLOSED_FORMS)
def test_closed_forms(
    expression: str, variables: str, u: tuple[float, ...], distance: float, kind: NearestKind
) -> None:
    boundary = pm.Boundary.from_expression(expression, variables)
    found = QuadricSolver(boundary).nearest(u)
    assert found.kind is kind
    assert bool(found.notes) == (kind is not NearestKind.REGULAR)
    assert found.distance == pytest.approx(distance, rel=1e-12, abs=1e-13)
    if math.isinf(distance):
        assert found.point is None
        return
    assert found.point is not None
    assert np.linalg.norm(found.point - u) == pytest.approx(distance, rel=1e-12, abs=1e-13)
    assert abs(float(boundary(found.point))) < 1e-13
    if math.isfinite(found.multiplier):
        stationary = found.point - u + found.multiplier * boundary.gradient(found.point)
        assert np.abs(stationary).max() < 1e-12


def test_the_sphere_knows_its_dimension() -> None:
    form = QuadricForm(np.diag([-1.0, -1.0, 2.0, 2.0, 2.0, 3.0]), np.zeros(6), 1.0)
    batch = QuadricSolver(form).nearest_batch(np.zeros((2, 6)))
    assert batch.sphere_dimensions.tolist() == [1, 1]
    inside = QuadricSolver(QuadricForm(form.matrix, form.linear, -6.0)).nearest([0.1, 0.0, 0.2, 0.0, 0.0, 0.0])
    assert inside.kind is NearestKind.SPHERE
    assert "two points" in inside.notes[0]


def test_rotated_hard_cases_are_recognised() -> None:
    generator = np.random.default_rng(4)
    for _ in range(50):
        rotation = np.linalg.qr(generator.normal(size=(8, 8)))[0]
        matrix = rotation @ np.diag([-3.0, -3.0, -3.0, -1.0, 0.5, 2.0, 2.0, 5.0]) @ rotation.T
        flat = rotation[:, 3:] @ generator.normal(size=5)
        solver = QuadricSolver(QuadricForm(matrix, np.zeros(8), 0.0))
        u = 0.0 * flat
        form = QuadricForm(matrix, np.zeros(8), 20.0)
        found = QuadricSolver(form).nearest(u)
        assert found.kind is NearestKind.SPHERE
        assert "dimension 2" in found.notes[0]
        assert found.distance == pytest.approx(math.sqrt(20 / 3), rel=1e-13)
        near = QuadricSolver(form).nearest(1e-3 * flat)
        assert near.kind is NearestKind.SPHERE
        assert solver.nearest(u).kind is NearestKind.ON_BOUNDARY


def test_an_optimiser_never_finds_a_nearer_point() -> None:
    for seed in range(25):
        generator = np.random.default_rng([9, seed])
        n = int(generator.integers(1, 7))
        if seed % 2:
            boundary = sample(generator, n).boundary()
            form = QuadricForm.from_boundary(boundary)
        else:
            matrix = generator.normal(size=(n, n))
            form = QuadricForm(matrix + matrix.T, generator.normal(size=n), float(generator.normal()))
        u = generator.normal(size=n)
        best = QuadricSolver(form).nearest(u).distance
        for _ in range(6):
            found = minimize(
                lambda x, u=u: float((x - u) @ (x - u)),
                u + 2 * generator.normal(size=n),
                jac=lambda x, u=u: 2 * (x - u),
                constraints={"type": "eq", "fun": form, "jac": lambda x, f=form: 2 * f.matrix @ x + f.linear},
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 300},
            )
            if found.success and abs(float(form(found.x))) < 1e-10:
                assert math.sqrt(found.fun) >= best - 1e-4 * (1 + best) * (best < 1e-6) - 1e-7


def test_no_point_of_a_smaller_ball_lies_on_the_boundary() -> None:
    """B keeps its sign on the open ball: checked on random points, most of them close to the sphere."""
    for seed in range(40):
        generator = np.random.default_rng([10, seed])
        n = int(generator.integers(2, 9))
        form = QuadricForm.from_boundary(sample(generator, n).boundary())
        u = generator.normal(size=n)
        found = QuadricSolver(form).nearest(u)
        radius = min(found.distance, 1e3) * (1 - 1e-9)
        directions = generator.normal(size=(20000, n))
        directions *= radius * generator.uniform(size=(20000, 1)) ** (0.2 / n)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True) / radius
        assert (np.sign(form(u + directions)) == np.sign(form(u))).all()


def test_a_network_and_its_expanded_form_agree() -> None:
    for inputs, hidden in ((12, 5), (5, 12), (6, 6)):
        network = random_network([inputs, hidden, 3], 2, inputs)
        points = np.random.default_rng(1).normal(size=(30, inputs))
        solvers = NetworkSolvers(network)
        for label, rival in ((0, 1), (2, 1)):
            first = solvers.pair(label, rival).nearest_batch(points)
            second = QuadricSolver(QuadricForm.from_network(network, label, rival)).nearest_batch(points)
            np.testing.assert_allclose(first.distances, second.distances, rtol=1e-9)
            real = np.isfinite(first.distances)
            logits = network(first.points[real])
            assert np.abs(logits[:, label] - logits[:, rival]).max(initial=0.0) < 1e-10
            single = QuadricSolver(pm.Boundary.from_network(network, label, rival)).nearest(points[0])
            assert single.distance == pytest.approx(float(first.distances[0]), rel=1e-12)


def test_positions_far_from_and_close_to_the_boundary() -> None:
    solver = QuadricSolver(pm.Boundary.from_expression("x**2 + 4*y**2 - 4"))
    for exponent in range(-12, 9):
        distance = 10.0**exponent
        found = solver.nearest([2 + distance, 0.0])
        assert found.distance == pytest.approx(distance, rel=1e-12, abs=1e-13)
    sizes = 10.0 ** np.arange(-8, 9)
    for size in sizes:  # the same ellipse in other units
        form = QuadricForm(np.diag([1.0, 4.0]), np.zeros(2), -4.0 * size**2)
        assert QuadricSolver(form).nearest([0.0, 0.25 * size]).distance == pytest.approx(0.75 * size, rel=1e-12)


def test_five_hundred_variables() -> None:
    generator = np.random.default_rng(5)
    matrix = generator.normal(size=(500, 500))
    form = QuadricForm(matrix + matrix.T, generator.normal(size=500), 1.0)
    points = generator.normal(size=(20, 500))
    found = QuadricSolver(form).nearest_batch(points)
    assert np.abs(form(found.points)).max() < 1e-9
    step = found.points - points
    stationary = step + found.multipliers[:, None] * (2 * found.points @ form.matrix + form.linear)
    assert np.abs(stationary).max() < 1e-11
    spectrum = np.linalg.eigvalsh(form.matrix)
    assert (1 + 2 * np.multiply.outer(found.multipliers, spectrum) >= -1e-12).all()  # the proof of minimality


def test_image_networks() -> None:
    network = random_network([784, 128, 10], 2, 1)
    points = np.random.default_rng(2).uniform(size=(50, 784))
    solvers = NetworkSolvers(network)
    for rival in range(1, 10):
        found = solvers.pair(0, rival).nearest_batch(points)
        logits = network(found.points)
        assert np.abs(logits[:, 0] - logits[:, rival]).max() < 1e-10


@pytest.mark.slow
def test_four_thousand_variables() -> None:
    generator = np.random.default_rng(6)
    matrix = generator.normal(size=(4000, 4000))
    form = QuadricForm(matrix + matrix.T, generator.normal(size=4000), 1.0)
    found = QuadricSolver(form).nearest(generator.normal(size=4000))
    assert found.point is not None
    assert abs(float(form(found.point))) < 1e-7
