"""Several equations: critical points by hand, ties of three classes, what is refused."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.geometry import Variety
from polymargin.standing import Standing


def test_a_circle_in_space() -> None:
    circle = Variety(["x**2 + y**2 + z**2 - 4", "z - 1"])
    found = circle.critical_points([5.0, 0.0, 7.0])
    assert found.audit.complete
    assert len(found) == 2
    expected = [[sqrt(3), 0.0, 1.0], [-sqrt(3), 0.0, 1.0]]
    assert np.allclose(found.points, expected)
    nearest = circle.nearest([5.0, 0.0, 7.0])
    assert nearest.standing is Standing.NUMERICAL
    assert nearest.distance == pytest.approx(np.hypot(5 - sqrt(3), 6), rel=1e-12)


@pytest.mark.parametrize("metric", [None, [1, 2, 5], [[2, 1, 0], [1, 2, 0], [0, 0, 1]]], ids=str)
def test_critical_points_obey_the_equations_in_any_metric(metric: object) -> None:
    u = np.array([0.3, -1.2, 2.0])
    found = Variety(["x**2 + y**2 + z**2 - 1", "x*y - z"]).critical_points(u, metric=metric)
    matrix = np.eye(3) if metric is None else np.diag(metric) if np.ndim(metric) == 1 else np.array(metric)
    x, y, z = found.points.T
    gradients = np.stack([np.stack([2 * x, 2 * y, 2 * z], axis=1), np.stack([y, x, -np.ones_like(x)], axis=1)])
    residual = (found.points - u) @ matrix + np.einsum("nk,kni->ni", found.multipliers, gradients)
    assert np.abs(residual).max() < 1e-9
    assert found.audit.complete
    steps = found.points[found.real].real - u
    assert np.allclose(found.distances[found.real] ** 2, np.einsum("ni,ij,nj->n", steps, matrix, steps))


def test_three_classes_tie_no_nearer_than_two() -> None:
    network = random_network([2, 3, 3], degree=2, seed=5)
    ties = Variety.of_ties(network, [0, 1, 2])
    u = np.array([0.2, 0.1])
    nearest = ties.nearest(u)
    assert ties.codimension == 2
    assert nearest.standing is Standing.NUMERICAL
    if nearest.point is not None:
        logits = network.logits(nearest.point)
        assert np.ptp(logits) < 1e-8 * (1 + np.abs(logits).max())
    two = min(
        pm.critical_points(pm.Boundary.from_network(network, a, b), u, cache=False).distances[0]
        for a, b in ((0, 1), (0, 2), (1, 2))
    )
    assert nearest.distance >= two - 1e-9


def test_a_nearest_point_that_is_singular_is_not_claimed() -> None:
    cusp = Variety(["y**2 - x**3", "z"])
    nearest = cusp.nearest([-1.0, 0.0, 0.0])
    assert nearest.standing is Standing.BRACKETED
    assert nearest.distance > 1
    assert any("singular" in note for note in nearest.notes)


def test_no_real_point() -> None:
    nearest = Variety(["x**2 + y**2 + 1", "x - z"]).nearest([0.0, 1.0, 2.0])
    assert nearest.point is None
    assert nearest.distance == inf


@pytest.mark.parametrize(
    ("equations", "message"),
    [
        (["x**2", "y"], "more than once"),
        (["(x + y - 1)**2*(x - y)", "z"], "more than once"),
        (["x - 1", "x - 2"], "no common zero"),
        (["x", "1 + 0*x"], "constant"),
        ([], "at least one"),
    ],
)
def test_what_is_no_variety_is_refused(equations: list[str], message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        pm.ed_degree(Variety(equations))
