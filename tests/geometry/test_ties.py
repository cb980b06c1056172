"""Ties of several classes: their counts are known, they satisfy the KKT system, and Proposition 1 of the paper holds."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from problems import random_network
from scipy.optimize import minimize

import polymargin as pm
from polymargin.errors import TooManyPathsError
from polymargin.geometry import kkt_bound, nearest_runner_up_change, nearest_tie

SMALL = [([2, 3, 3], 2), ([2, 3, 4], 2), ([3, 4, 3], 2), ([1, 3, 3], 3)]


def from_afar(widths: list[int], degree: int, seed: int) -> tuple[pm.Network, np.ndarray]:
    network = random_network(widths, degree, seed)
    return network, 0.5 * np.random.default_rng([seed, 7]).normal(size=widths[0])


def gradient(network: pm.Network, x: np.ndarray, first: int, second: int) -> np.ndarray:
    """Of the difference of two logits, by central differences in complex numbers."""
    steps = 1e-6 * np.eye(len(x))
    values = np.array([(network.logits(x + h) - network.logits(x - h)) / 2e-6 for h in steps])
    return values[:, first] - values[:, second]


@pytest.mark.parametrize(("widths", "degree"), [*SMALL, ([2, 4, 3], 3)], ids=str)
def test_all_solutions_are_found(widths: list[int], degree: int) -> None:
    """As many as generic intersections have, and with their multipliers they solve the KKT equations."""
    network, u = from_afar(widths, degree, 1)
    label = int(network.predict(u))
    rival = (label + 1) % widths[-1]
    found = nearest_tie(network, u, rival=rival)
    assert found.standing is pm.Standing.NUMERICAL
    assert sum(len(stratum.points) for stratum in found.strata) == kkt_bound(widths[0], widths[-1], network.degree)
    for stratum in found.strata:
        for x, multipliers in zip(stratum.points.points, stratum.points.multipliers, strict=True):
            slopes = [gradient(network, x, index, label) for index in stratum.classes]
            total = x - u + sum(m * slope for m, slope in zip(multipliers, slopes, strict=True))
            size = 1 + max(abs(m) * np.linalg.norm(slope) for m, slope in zip(multipliers, slopes, strict=True))
            assert np.abs(total).max() <= 1e-5 * size * (1 + np.abs(x).max())
            logits = network.logits(x)
            assert all(abs(logits[index] - logits[label]) <= 1e-7 * np.abs(logits).max() for index in stratum.classes)


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
        network, u = from_afar(widths, degree, seed)
        full, relaxed = nearest_tie(network, u), pm.margin(network, u, proof=False)
        assert full.standing is pm.Standing.NUMERICAL
        if math.isinf(relaxed.radius):
            assert math.isinf(full.radius)
            continue
        assert (full.label, full.classes) == (relaxed.label, (relaxed.rival,))
        assert full.radius == pytest.approx(relaxed.radius, abs=1e-8)
        assert full.point is not None
        logits = network(full.point)
        assert logits[full.label] == pytest.approx(logits.max(), abs=1e-9)


@pytest.mark.slow
def test_dropping_the_inequalities_changes_no_margin_of_200_networks() -> None:
    for seed in range(200):
        network, u = from_afar([2, 3, 3], 2, seed)
        full, relaxed = nearest_tie(network, u), pm.margin(network, u, proof=False)
        assert full.standing is pm.Standing.NUMERICAL
        assert full.radius == pytest.approx(relaxed.radius, abs=1e-8)


def test_an_inequality_that_matters_for_one_rival() -> None:
    """Three classes x, y and 1/2: from (1, 0.9) the tie of classes 0 and 2 that counts is the corner (1/2, 1/2)."""
    network = pm.PolynomialNetwork([np.eye(2), ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [0.0, 0.0, 0.5])], degree=1)
    found = nearest_tie(network, [1.0, 0.9], rival=2)
    assert (found.label, found.classes) == (0, (1, 2))
    assert found.point is not None
    assert np.allclose(found.point, [0.5, 0.5])
    (corner,) = [stratum for stratum in found.strata if stratum.classes == (1, 2)]
    assert corner.minimal.tolist() == [True]
    # The relaxed tie x = 1/2 is nearer, but there class 1 is ahead; the margin is the tie with class 1, for both problems.
    assert np.linalg.norm(np.array([0.5, 0.9]) - [1.0, 0.9]) < found.radius
    whole = nearest_tie(network, [1.0, 0.9])
    assert (whole.classes, whole.radius) == ((1,), pytest.approx(0.1 / math.sqrt(2)))
    three = nearest_tie(network, [1.0, 0.9], classes=3)
    assert (three.classes, three.radius) == ((1, 2), pytest.approx(math.hypot(0.5, 0.4)))
    change, other = nearest_runner_up_change(network, [1.0, 0.9])
    assert (other, change.distance, change.standing) == (0, pytest.approx(0.1 / math.sqrt(2)), pm.Standing.NUMERICAL)
    change, other = nearest_runner_up_change(network, [2.0, 0.6])  # far from class 0, class 2 overtakes class 1
    assert (other, change.distance) == (2, pytest.approx(0.1))


def test_ties_against_a_local_optimiser() -> None:
    """SLSQP on the constrained problem from many starts finds nothing nearer, and reaches the distance."""
    network, u = random_network([2, 3, 3], 2, seed=4), np.array([0.2, -0.3])
    label = int(network.predict(u))
    others = [c for c in range(3) if c != label]
    generator = np.random.default_rng(0)
    for tied in [(others[0],), (others[1],), tuple(others)]:
        found = nearest_tie(network, u, classes=len(tied) + 1, rival=tied[0])
        constraints = [
            {
                "type": "eq" if c in tied else "ineq",
                "fun": lambda x, c=c: network(x)[label] - network(x)[c],
            }
            for c in others
        ]
        best = math.inf
        for _ in range(40):
            start = u + 2 * generator.normal(size=2)
            local = minimize(lambda x: float((x - u) @ (x - u)), start, constraints=constraints, method="SLSQP")
            if local.success and all(
                c["fun"](local.x) > -1e-7 and (c["type"] == "ineq" or c["fun"](local.x) < 1e-7) for c in constraints
            ):
                best = min(best, math.sqrt(local.fun))
        assert best == pytest.approx(found.radius, abs=1e-5) or (math.isinf(best) and math.isinf(found.radius))


@pytest.mark.parametrize("seed", range(4))
def test_the_runner_up_stays_until_the_nearest_change(seed: int) -> None:
    """Samples in the ball have the same runner-up; at its edge two classes tie for the second place."""
    network, u = from_afar([2, 4, 4], 2, seed)
    change, other = nearest_runner_up_change(network, u)
    second = int(np.argsort(-network(u))[1])
    directions = np.random.default_rng(seed).normal(size=(2000, 2))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    lengths = np.random.default_rng(seed + 1).uniform(size=(2000, 1))
    inside = u + min(change.distance, 5.0) * (1 - 1e-9) * lengths * directions
    assert (np.argsort(-network(inside), axis=1)[:, 1] == second).all()
    if change.point is not None:
        logits = network(change.point)
        assert logits[second] == pytest.approx(logits[other], abs=1e-8)
        assert sorted(logits)[-2] == pytest.approx(logits[second], abs=1e-8)


def test_strata_are_all_sets_of_classes() -> None:
    network, u = from_afar([2, 3, 4], 2, 0)
    others = [c for c in range(4) if c != int(network.predict(u))]
    found = nearest_tie(network, u)
    expected = [*combinations(others, 1), *combinations(others, 2)]  # three ties have no common point in the plane
    assert [stratum.classes for stratum in found.strata] == expected
    assert found.path_count == sum(stratum.points.audit.bound for stratum in found.strata)


def test_a_tie_and_bad_input() -> None:
    network = pm.PolynomialNetwork([np.eye(2)])
    assert nearest_tie(network, [1.0, 1.0]).radius == 0.0
    with pytest.raises(pm.InputError, match="expected 2 finite numbers"):
        nearest_tie(network, [1.0])
    with pytest.raises(pm.InputError, match="expected another class"):
        nearest_tie(network, [1.0, 0.0], rival=0)
    with pytest.raises(pm.InputError, match="from 2 to 2"):
        nearest_tie(network, [1.0, 0.0], classes=3)
    with pytest.raises(pm.InputError, match="among three and more"):
        nearest_runner_up_change(network, [1.0, 0.0])
    with pytest.raises(TooManyPathsError):
        nearest_tie(random_network([3, 4, 4], 3, 0), np.zeros(3), limit=20)


def test_logits_with_a_constant_difference_are_refused() -> None:
    network = pm.PolynomialNetwork([np.eye(2), ([[0.0, 0.0], [0.0, 0.0]], [1.0, 0.0])], degree=2)
    with pytest.raises(pm.InputError, match="constant"):
        nearest_tie(network, [1.0, 0.5])
