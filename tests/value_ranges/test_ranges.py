"""Proved ranges against dense grids, Fractions and planted extremes; witnesses, bits, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import count, product

import numpy as np
import pytest

import polymargin as pm
from polymargin.deadlines import Deadline
from polymargin.errors import InputError
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial
from polymargin.standing import Standing
from polymargin.value_ranges.bounded import ranges
from polymargin.value_ranges.search import RangeSearch
from tests.relaxation.test_search import network_of

KINDS = ["square", "square-square", "product", "relu-relu", "cubic", "hardswish", "square-relu", "relu-square"]


def forms_at(network: Network, points: np.ndarray) -> list[np.ndarray]:
    """All pre-activations and the logits, evaluated one after the other."""
    values, found = [points], []
    for stage in network.stages:
        found += [
            sum(values[s] @ np.asarray(b.todense() if hasattr(b, "todense") else b).T for s, b in f.blocks) + f.bias
            for f in stage.forms
        ]
        values.append(stage(values))
    return [*found, network(points)]


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_against_a_grid(kind: str) -> None:
    """No value of a fine grid leaves a proved range, and extremes that were found are as far out as the grid's."""
    network = network_of(kind, 3, n=2, h=3)
    found = ranges(network, domain=([0, -1], [1, 0.5]), timeout=30)
    assert found.standing is Standing.CERTIFIED
    grid = np.array(list(product(np.linspace(0, 1, 81), np.linspace(-1, 0.5, 81))))
    for layer, values in zip(found.layers, forms_at(network, grid), strict=True):
        low, high = values.min(axis=0), values.max(axis=0)
        width = high - low
        assert (layer.lower <= low + 1e-12).all()
        assert (layer.upper >= high - 1e-12).all()
        assert (layer.found_lower <= low + 0.02 * width).all()
        assert (layer.found_upper >= high - 0.02 * width).all()
        assert ((layer.upper - layer.lower) <= 1.6 * width + 1e-9).all()


@pytest.mark.parametrize("within", [None, pm.Linf(), pm.L1(), pm.L2(domain=(0, 1)), pm.L2(weights=[1.0, 2.0, 0.5])])
@pytest.mark.parametrize("kind", ["square-square", "product", "relu-relu"])
def test_balls_against_random_points(kind: str, within: pm.Linf) -> None:
    network, u = network_of(kind, 5), np.array([0.3, 0.5, 0.2])
    found = ranges(network, u, radius=0.25, within=within, timeout=30)
    assert found.standing is Standing.CERTIFIED
    region = (pm.L2() if within is None else within).in_dimension(3)
    points = u + np.random.default_rng(0).uniform(-0.5, 0.5, size=(20000, 3))
    points = np.array([x for x in points if region.distance(x, u) <= 0.25])
    assert len(points) > 50
    for layer, values in zip(found.layers, forms_at(network, points), strict=True):
        assert (layer.lower <= values.min(axis=0)).all()
        assert (layer.upper >= values.max(axis=0)).all()
        for places, ends in ((layer.lowest, layer.found_lower), (layer.highest, layer.found_upper)):
            for neuron, place in enumerate(places):
                assert region.distance(place, u) <= 0.25
                assert float(layer.exact_values(place)[neuron]) == pytest.approx(ends[neuron], abs=1e-9)


def planted(size: int) -> Network:
    """(Σ x)² + (Σ x)² · 0 at layer 1: the first form lies in [0, size²] on the cube, the second is −3 times it plus 1."""
    first = Polynomial(Forms.of(np.ones((1, size))), (0.0, 0.0, 1.0))
    second = Polynomial(Forms((size, 1), ((1, np.array([[1.0], [-3.0]])),), np.array([0.0, 1.0])), (0.0, 0.0, 1.0))
    readout = Forms((size, 1, 2), ((2, np.array([[1.0, 0.0], [0.0, 1.0]])),), np.zeros(2))
    return Network([first, second], readout)


def test_planted_extremes_are_met() -> None:
    found = ranges(planted(12), domain=(0, 1))
    assert found.standing is Standing.CERTIFIED
    layer = found[1]
    assert layer.found_lower == pytest.approx([0.0, 1 - 3 * 144])
    assert layer.found_upper == pytest.approx([144.0, 1.0])
    assert layer.lower == pytest.approx([0.0, 1 - 3 * 144], abs=1.5)
    assert layer.upper == pytest.approx([144.0, 1.0], abs=1.5)
    assert layer.lower[0] <= 0
    assert layer.upper[0] >= 144


def test_intervals_are_answered_with_an_exact_witness() -> None:
    found = ranges(planted(4), domain=(0, 1))
    assert found.stays_within(1, -50, 20)
    no = found.stays_within(1, -40, 20)
    assert no.answer is False
    assert no.neuron == 1
    assert no.witness is not None
    total = sum(Fraction(x) for x in no.witness.tolist())
    assert 1 - 3 * total**2 < -40
    assert all(0 <= x <= 1 for x in no.witness.tolist())
    unknown = found.stays_within(1, float(found[1].found_lower.min()), 20)
    assert unknown.answer is None or unknown.answer is True


def test_bits_hold_the_largest_value() -> None:
    found = ranges(planted(4), domain=(0, 1))
    for layer, bits in zip(found.layers, found.bits(2.0**20), strict=True):
        assert layer.largest * 2.0**20 < 2.0 ** (bits - 1)
        assert layer.largest * 2.0**20 >= 2.0 ** (bits - 2)


def test_data_are_observed_and_bound_a_box() -> None:
    network = network_of("square-square", 3, n=2, h=3)
    data = np.random.default_rng(0).uniform(0.2, 0.6, size=(50, 2))
    beside, around = ranges(network, data, domain=(0, 1)), ranges(network, data)
    for one in (beside, around):
        for layer, values in zip(one.layers, forms_at(network, data), strict=True):
            assert layer.observed is not None
            assert layer.observed == pytest.approx(np.array([values.min(axis=0), values.max(axis=0)]))
    assert ((around[1].upper - around[1].lower) < (beside[1].upper - beside[1].lower)).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "need bounds"),
        ({"domain": (1, 0)}, "lo ≤ hi"),
        ({"domain": (0, np.inf)}, "infinite"),
        ({"domain": (0.5, 0.5)}, "fixed"),
        ({"within": pm.Linf(domain=(0, 1))}, "no bounds"),
        ({"points": [[0, 0], [1, 1]], "radius": 0.1}, "one point"),
        ({"points": [0, 0], "radius": -1.0}, "positive"),
        ({"points": [0, 0, 0]}, "rows of 2 numbers"),
        ({"points": [0, 0], "radius": 0.1, "domain": (0, 1)}, "one of them"),
    ],
)
def test_what_has_no_bounds_is_refused(given: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ranges(network_of("square", 3, n=2, h=3), **given)


def test_layers_that_do_not_exist_are_refused() -> None:
    found = ranges(network_of("square", 3, n=2, h=3), domain=(0, 1))
    with pytest.raises(InputError, match="from 0 to 1"):
        found.stays_within(2, 0, 1)
    with pytest.raises(InputError, match="expected one of"):
        found.stays_within("conv9", 0, 1)
    with pytest.raises(InputError, match="low ≤ high"):
        found.stays_within(0, 1, 0)
    with pytest.raises(InputError, match="scale"):
        found.bits(0)


@pytest.mark.parametrize("readings", [5, 47, 91, 103, 137, 163])
def test_ranges_hold_wherever_the_time_is_up(readings: int) -> None:
    """A clock that jumps beyond the deadline after so many readings never ends in an exception; ends are wide, not wrong."""
    network = network_of("square-square-square", 3, n=3, h=4)
    ticks = count()
    region = pm.L2(domain=(0, 1)).in_dimension(3)
    point = np.array([0.3, 0.5, 0.2])
    deadline = Deadline(1.0, lambda: 0.0 if next(ticks) < readings - 1 else 2.0)
    found = RangeSearch(network, point, region.at(point, 0.25), deadline).run()
    points = point + np.random.default_rng(0).uniform(-0.25, 0.25, size=(500, 3))
    points = np.array([x for x in points if region.distance(x, point) <= 0.25])
    for one, values in zip(found, forms_at(network, points), strict=True):
        assert (one.lower <= values.min(axis=0)).all()
        assert (one.upper >= values.max(axis=0)).all()
