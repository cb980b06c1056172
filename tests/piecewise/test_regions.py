"""Regions: their number is a theorem for one hidden layer, and the network is affine on each."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from piecewise.brute_force import by_regions
from piecewise.networks import random_layers, random_point, random_relu

import polymargin as pm
from polymargin.errors import TooManyPathsError
from polymargin.networks import ReLUNetwork
from polymargin.piecewise import linear_regions


@pytest.mark.parametrize(("inputs", "hidden"), [(1, 6), (2, 12), (3, 9), (4, 7), (5, 4)])
def test_zaslavsky(inputs: int, hidden: int) -> None:
    """h hyperplanes in general position divide ℝⁿ into Σ C(h, i), i ≤ n, regions."""
    network = random_relu([inputs, hidden, 2], 0)
    assert len(linear_regions(network)) == sum(comb(hidden, i) for i in range(inputs + 1))


def test_parallel_and_central_arrangements() -> None:
    parallel = ReLUNetwork([([[1.0, 0.0]] * 4, [0.0, 1.0, 2.0, 3.0]), np.ones((2, 4))])
    assert len(linear_regions(parallel)) == 5
    central = ReLUNetwork([([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], None), np.ones((2, 3))])
    assert len(linear_regions(central)) == 6
    twice = ReLUNetwork([([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0]], None), np.ones((2, 3))])
    assert len(linear_regions(twice)) == 2


@pytest.mark.parametrize("widths", [[2, 8, 3], [3, 5, 5, 2], [2, 4, 4, 4, 3]])
def test_regions_of_deep_networks(widths: list[int]) -> None:
    network, u = random_relu(widths, 1), random_point(widths[0], 1)
    found = linear_regions(network)
    label = int(network.predict(u))
    expected, count, within = by_regions(random_layers(widths, 1), u, label)
    assert len(found) == count == len({region.signs for region in found})
    assert sum(region.distance(u) < expected for region in found) == within
    ties = [
        point
        for region in found
        for rival in range(network.class_count)
        if rival != label and (point := region.nearest_tie(u, label, rival)) is not None
    ]
    nearest = min(float(np.linalg.norm(point - u)) for point in ties)
    assert nearest == pytest.approx(expected, abs=1e-9)
    assert pm.margin(network, u, proof=False).radius == pytest.approx(nearest, abs=1e-9)


def test_affine_on_every_region_with_one_critical_point() -> None:
    """Local ED degree 1: on a region the tie is a hyperplane, and the distance to it has one complex critical point."""
    network = random_relu([3, 4, 3, 2], 2)
    generator = np.random.default_rng(0)
    u = random_point(3, 2)
    for region in linear_regions(network):
        # Steps that stay inside: less than the distance from the inner point to every wall.
        room = float((region.limits - region.rows @ region.inner).min())
        steps = generator.normal(size=(5, 3))
        inside = region.inner + 0.9 * room * steps / np.linalg.norm(steps, axis=1, keepdims=True)
        assert np.allclose(network(inside), inside @ region.matrix.T + region.offset, rtol=1e-9, atol=1e-9)
        tie = region.tie(0, 1)
        if tie is None:
            continue
        slope, shift = tie
        text = " + ".join(f"({value!r})*x{i}" for i, value in enumerate(slope.tolist())) + f" + ({shift!r})"
        piece = pm.Boundary.from_expression(text, variables="x0 x1 x2")
        assert piece.degree == 1
        assert len(pm.critical_points(piece, u)) == 1


def test_too_many_regions() -> None:
    with pytest.raises(TooManyPathsError, match="more than 100 regions"):
        linear_regions(random_relu([2, 20, 2], 0), limit=100)
