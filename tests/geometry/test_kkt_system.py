"""The full KKT system: its counts are known, its solutions satisfy it, and Proposition 1 of the paper holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import random_network
from scipy.optimize import minimize

import polymargin as pm
from polymargin.errors import TooManyPathsError
from polymargin.geometry.kkt_system import kkt_bound, kkt_equations, kkt_margin, kkt_solutions

SMALL = [([2, 3, 3], 2), ([2, 3, 4], 2), ([3, 4, 3], 2), ([1, 3, 3], 3)]


@pytest.mark.parametrize(("widths", "degree"), [*SMALL, ([2, 4, 3], 3)], ids=str)
def test_all_solutions_are_found(widths: list[int], degree: int) -> None:
    """n + k − 1 unknowns; as many regular solutions as the critical points of all intersections, and they solve the equations."""
    network = random_network(widths, degree, seed=1)
    u = 0.5 * np.random.default_rng(1).normal(size=widths[0])
    label = int(network.predict(u))
    rival = (label + 1) % widths[-1]
    equations, names = kkt_equations(network, u, label, rival)
    assert len(equations) == len(names) == widths[0] + widths[-1] - 1
    found = kkt_solutions(network, u, rival)
    assert found.complete
    assert len(found) == found.bound == kkt_bound(widths[0], widths[-1], network.degree)
    assert found.path_count == degree ** (widths[0] + 1) * (degree + 1) ** (widths[-1] - 2)
    for x, multiplier, slacks, active in zip(found.points, found.multipliers, found.slacks, found.active, strict=True):
        values = dict(zip(names, [*x, multiplier, *slacks], strict=True))
        sizes = 1 + max(abs(value) for value in values.values()) ** 4
        assert all(abs(eval(equation, {}, values)) <= 1e-8 * sizes for equation in equations)
        # Every other class ties or has no multiplier.
        assert all(
            other in active or abs(slack) <= 1e-8 * sizes for other, slack in zip(found.others, slacks, strict=True)
        )


def test_counts_by_hand() -> None:
    # A conic has 4 critical points, two conics meet in 4 points.
    assert kkt_bound(2, 3, 2) == 4 + 4
    assert kkt_bound(2, 5, 2) == 4 + 3 * 4
    # A plane cubic has 9, two cubics meet in 9 points; two quadrics in space meet in a curve with 12.
    assert kkt_bound(2, 3, 3) == 9 + 9
    assert kkt_bound(3, 3, 2) == 6 + 12
    # On a line the intersections are empty, and a single tie has as many points as its degree.
    assert kkt_bound(1, 4, 3) == 3
    assert kkt_bound(4, 2, 2) == 8


@pytest.mark.parametrize(("widths", "degree"), SMALL, ids=str)
def test_dropping_the_inequalities_changes_no_margin(widths: list[int], degree: int) -> None:
    for seed in range(3):
        network = random_network(widths, degree, seed)
        u = 0.5 * np.random.default_rng([seed, 7]).normal(size=widths[0])
        full, relaxed = kkt_margin(network, u), pm.margin(network, u, proof=False)
        assert full.standing is pm.Standing.NUMERICAL
        assert (full.label, full.rival) == (relaxed.label, relaxed.rival)
        if math.isinf(relaxed.radius):
            assert math.isinf(full.radius)
            continue
        assert full.radius == pytest.approx(relaxed.radius, abs=1e-8)
        logits = network(full.point)
        assert logits[full.label] == pytest.approx(logits.max(), abs=1e-9)


@pytest.mark.slow
def test_dropping_the_inequalities_changes_no_margin_of_200_networks() -> None:
    for seed in range(200):
        network = random_network([2, 3, 3], 2, seed)
        u = 0.5 * np.random.default_rng([seed, 7]).normal(size=2)
        full, relaxed = kkt_margin(network, u), pm.margin(network, u, proof=False)
        assert full.standing is pm.Standing.NUMERICAL
        assert full.radius == pytest.approx(relaxed.radius, abs=1e-8)


def test_an_inequality_that_matters_for_one_rival() -> None:
    """Three classes x, y and 1/2: from (1, 0.9) the tie of classes 0 and 2 that counts is the corner (1/2, 1/2)."""
    # Logits x, y, 1/2 as squares of one neuron each would not be linear: the identity activation is degree one.
    network = pm.PolynomialNetwork([np.eye(2), ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [0.0, 0.0, 0.5])], degree=1)
    found = kkt_solutions(network, [1.0, 0.9], rival=2)
    assert found.label == 0
    best = found.points[0].real
    assert found.feasible[0]
    assert np.allclose(best, [0.5, 0.5])
    assert found.active[0] == (1,)
    assert found.slacks[0, 0].real > 0
    # The relaxed tie x = 1/2 is nearer, but there class 1 is ahead; the margin is the tie with class 1, for both problems.
    relaxed = np.array([0.5, 0.9])
    assert np.linalg.norm(relaxed - [1.0, 0.9]) < found.radius
    whole = kkt_margin(network, [1.0, 0.9])
    assert (whole.rival, whole.active) == (1, ())
    assert whole.radius == pytest.approx(0.1 / math.sqrt(2))


def test_feasible_solutions_against_a_local_optimiser() -> None:
    """SLSQP on the constrained problem from many starts finds nothing nearer, and reaches the KKT distance of every rival."""
    network = random_network([2, 3, 3], 2, seed=4)
    u = np.array([0.2, -0.3])
    label = int(network.predict(u))
    generator = np.random.default_rng(0)
    for rival in [c for c in range(3) if c != label]:
        (other,) = [c for c in range(3) if c not in (label, rival)]
        found = kkt_solutions(network, u, rival)
        constraints = [
            {"type": "eq", "fun": lambda x, r=rival: network(x)[r] - network(x)[label]},
            {"type": "ineq", "fun": lambda x, o=other: network(x)[label] - network(x)[o]},
        ]
        best = math.inf
        for _ in range(40):
            start = u + 2 * generator.normal(size=2)
            local = minimize(lambda x: float((x - u) @ (x - u)), start, constraints=constraints, method="SLSQP")
            if local.success and all(abs(c["fun"](local.x)) < 1e-7 or c["fun"](local.x) > 0 for c in constraints[1:]):
                best = min(best, math.sqrt(local.fun))
        assert best == pytest.approx(found.radius, abs=1e-5) or (math.isinf(best) and math.isinf(found.radius))


def test_a_tie_and_bad_input() -> None:
    network = pm.PolynomialNetwork([np.eye(2)])
    assert kkt_margin(network, [1.0, 1.0]).radius == 0.0
    with pytest.raises(pm.InputError, match="expected 2 finite numbers"):
        kkt_margin(network, [1.0])
    with pytest.raises(pm.InputError, match="two different classes"):
        kkt_equations(network, [1.0, 0.0], 0, 0)
    with pytest.raises(TooManyPathsError):
        kkt_margin(random_network([3, 4, 4], 3, 0), np.zeros(3), limit=100)


def test_logits_with_a_constant_difference_are_refused() -> None:
    network = pm.PolynomialNetwork([np.eye(2), ([[0.0, 0.0], [0.0, 0.0]], [1.0, 0.0])], degree=2)
    with pytest.raises(pm.InputError, match="constant"):
        kkt_solutions(network, [1.0, 0.5], 1)
