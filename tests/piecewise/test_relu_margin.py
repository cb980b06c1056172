"""The margin of ReLU networks against listings of all regions, and what must not change it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from piecewise.brute_force import by_all_patterns, by_regions
from piecewise.networks import random_layers, random_point, random_relu
from piecewise.standings import expected_standing

import polymargin as pm
from polymargin.networks import ReLUNetwork

SHALLOW = [([1, 8, 2], 4), ([2, 9, 3], 4), ([3, 8, 4], 4), ([5, 9, 3], 4)]
DEEP = [([2, 4, 4, 3], 4), ([3, 5, 4, 2], 4), ([5, 3, 3, 3, 3], 4)]
LARGER = [([2, 30, 3], 3), ([3, 20, 3], 2), ([5, 10, 3], 3), ([4, 12, 2], 2), ([3, 8, 8, 3], 2), ([5, 5, 4, 4, 3], 1)]


def checked(widths: list[int], seed: int) -> tuple[pm.Margin, list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """A finished margin whose point lies on a tie at the distance it claims."""
    network, u = random_relu(widths, seed), random_point(widths[0], seed)
    found = pm.margin(network, u, proof=False)
    assert found.standing is expected_standing(found)
    assert found.lower <= found.radius <= found.upper
    assert found.radius - found.lower <= 1e-9 * (1 + found.radius) or np.isinf(found.radius)
    if found.point is not None:
        logits = network.exact_logits(found.point)
        assert logits[found.rival] >= logits[found.label]
        assert np.linalg.norm(found.point - u) == pytest.approx(found.radius, rel=1e-12)
    return found, random_layers(widths, seed), u


@pytest.mark.parametrize(("widths", "seeds"), SHALLOW + DEEP, ids=str)
def test_equals_the_best_of_all_sign_patterns(widths: list[int], seeds: int) -> None:
    for seed in range(seeds):
        found, layers, u = checked(widths, seed)
        expected = by_all_patterns(layers, u, found.label)
        assert found.radius == pytest.approx(expected, abs=1e-9) or (np.isinf(found.radius) and np.isinf(expected))


@pytest.mark.parametrize(("widths", "seeds"), LARGER, ids=str)
def test_equals_the_best_of_all_regions(widths: list[int], seeds: int) -> None:
    for seed in range(seeds):
        found, layers, u = checked(widths, seed)
        assert found.radius == pytest.approx(by_regions(layers, u, found.label)[0], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("widths", "seeds"), [([5, 30, 3], 1), ([4, 10, 10, 10, 3], 2), ([5, 20, 3], 3)], ids=str)
def test_equals_the_best_of_all_regions_with_many_neurons(widths: list[int], seeds: int) -> None:
    for seed in range(seeds):
        found, layers, u = checked(widths, seed)
        assert found.radius == pytest.approx(by_regions(layers, u, found.label)[0], abs=1e-9)


def test_brackets_of_single_rivals_hold() -> None:
    """The search stops at the nearest rival; what it says about the others must be true all the same."""
    for seed in range(6):
        found, layers, u = checked([3, 7, 4], seed)
        assert [pair.rival for pair in found.pairs] == [c for c in range(4) if c != found.label]
        for pair in found.pairs:
            alone = by_all_patterns(layers, u, found.label, rivals=[pair.rival])
            assert pair.lower <= alone + 1e-9
            assert alone <= pair.upper + 1e-9
            assert not pair.complete or pair.radius == pytest.approx(alone, abs=1e-9)


def test_more_inputs_than_neurons() -> None:
    """Only the row space of the first layer matters: the margin in 60 inputs is that in 5."""
    layers, u = random_layers([5, 8, 3], 3), random_point(5, 3)
    basis, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 5)))
    wide = ReLUNetwork([(layers[0][0] @ basis.T, layers[0][1]), layers[1]])
    off = np.random.default_rng(1).normal(size=60)
    off -= basis @ (basis.T @ off)
    small, large = pm.margin(ReLUNetwork(layers), u, proof=False), pm.margin(wide, basis @ u + off, proof=False)
    assert large.radius == pytest.approx(small.radius, rel=1e-10)
    assert large.point is not None
    assert np.abs((large.point - off - basis @ u) - basis @ (basis.T @ (large.point - off - basis @ u))).max() < 1e-12


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.floats(-6, 6), st.floats(-3, 3))
def test_invariances(seed: int, length: float, size: float) -> None:
    """Rotation, translation, units of the inputs and logits, rescaled and permuted neurons change nothing but units."""
    (first, first_bias), (second, second_bias), (last, last_bias) = random_layers([3, 5, 4, 3], seed)
    u = random_point(3, seed)
    generator = np.random.default_rng(seed + 1)
    turn, _ = np.linalg.qr(generator.normal(size=(3, 3)))
    shift, unit, height = generator.normal(size=3), 10.0**length, 10.0**size
    order, factors = generator.permutation(5), np.exp(generator.normal(size=5))
    # x = turn·x'/unit − shift; neuron i is scaled by a factor and moved; logits in another unit.
    changed_first = (factors[:, None] * (first @ turn) / unit)[order], (factors * (first_bias - first @ shift))[order]
    changed_second = (second / factors)[:, order], second_bias
    there = ReLUNetwork([changed_first, changed_second, (height * last, height * last_bias)])
    here = pm.margin(ReLUNetwork([(first, first_bias), (second, second_bias), (last, last_bias)]), u, proof=False)
    moved = pm.margin(there, unit * (turn.T @ (u + shift)), proof=False)
    assert moved.label == here.label
    assert moved.radius == pytest.approx(unit * here.radius, rel=1e-8)
    if math.isinf(here.radius):  # no tie found is a bound, not a proof
        assert here.standing is moved.standing is pm.Standing.BRACKETED
        return
    assert here.standing is pm.Standing.NUMERICAL
    # In units of 1e-6 rounding can leave a sliver between the bounds; then the standing is BRACKETED, and they agree this well.
    assert moved.lower >= moved.upper * (1 - 1e-6)


def test_the_seed_changes_nothing() -> None:
    network, u = random_relu([4, 9, 6, 3], 5), random_point(4, 5)
    radii = [pm.margin(network, u, proof=False, seed=seed).radius for seed in range(4)]
    assert np.ptp(radii) <= 1e-12


def test_lipschitz_in_the_point() -> None:
    """The distance to a set changes at most as fast as the point, as long as the class stays the same."""
    network = random_relu([3, 12, 3], 2)
    points = 0.3 * np.random.default_rng(0).normal(size=(30, 3))
    found = pm.margin(network, points, proof=False)
    for i, first in enumerate(found):
        for j, second in enumerate(found[:i]):
            if first.label == second.label:
                assert abs(first.radius - second.radius) <= np.linalg.norm(points[i] - points[j]) + 1e-9


def test_a_timeout_gives_a_bracket() -> None:
    network, u = random_relu([20, 40, 20, 5], 1), 2 * random_point(20, 1)
    found = pm.margin(network, u, proof=False, timeout=1e-9)
    assert found.standing is pm.Standing.BRACKETED
    assert 0 <= found.lower < found.upper == found.radius < np.inf
    assert found.open_cells > 0
    assert "cells open" in found.notes[0]
    later = pm.margin(network, u, proof=False, timeout=0.5)
    assert found.lower <= later.lower + 1e-9
    assert later.upper <= found.upper + 1e-12
    assert later.lower <= found.upper


def test_batches_and_bad_rows() -> None:
    network = random_relu([2, 5, 2], 0)
    done: list[int] = []
    rows = pm.margin(network, [[0.1, 0.2], [np.nan, 0.0]], proof=False, progress=lambda row, found: done.append(row))
    assert [row.standing for row in rows] == [pm.Standing.NUMERICAL, pm.Standing.FAILED]
    assert "nan" in rows[1].error
    assert sorted(done) == [0, 1]
    data = rows[0].to_dict()
    assert data["cells"] == rows[0].cells
    assert type(rows[0]).from_dict(data).radius == rows[0].radius


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        ([1.0, 2.0, 3.0], {}, "expected 2 finite"),
        ([], {}, "shape"),
        ("abc", {}, "real numbers"),
        ([0.0, 0.0], {"timeout": 0.0}, "timeout"),
    ],
)
def test_bad_input(points: object, options: dict, message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        pm.margin(random_relu([2, 5, 2], 0), points, proof=False, **options)
