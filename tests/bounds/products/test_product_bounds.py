"""Networks of products, bounded as they are: expansions against the network, bounds against a general solver and samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bounds.lifted.test_lifted_relaxation import by_clarabel
from engines import lower_bound
from product_modules import chebyshev_network, examples

import polymargin as pm
from polymargin.bounds.products.expansion import ProductExpansion
from polymargin.bounds.products.question import ProductQuestion
from polymargin.bounds.products.ranges import rest_ranges
from polymargin.bounds.products.view import ProductView
from polymargin.relaxation.interior_point import maximise

NAMES = ("gate", "ccp", "ncp", "quadratic neurons", "branches", "attention with residual", "chebyshev")


def network_of(name: str) -> Any:
    return chebyshev_network(6)[0] if name == "chebyshev" else pm.from_torch(*examples()[name])


def expansion_of(name: str, seed: int = 1) -> tuple[ProductExpansion, int, int]:
    network = network_of(name)
    u = np.random.default_rng(seed).normal(size=network.dimension) / 3
    label, rival = (int(c) for c in np.argsort(-network(u))[:2])
    return ProductExpansion.of(ProductView(network, u)), label, rival


@pytest.mark.parametrize("name", NAMES)
def test_value_linear_part_and_rests_are_the_network(name: str) -> None:
    expansion, label, rival = expansion_of(name)
    view = expansion.view
    for place in np.random.default_rng(2).normal(size=(5, expansion.dimension)):
        logits = view.network(view.point + view.basis @ place)
        value, slope, weights = expansion.functional(label, rival)
        found = value + slope @ place + weights @ expansion.product_rests(place, expansion.rests(place))
        assert found == pytest.approx(logits[label] - logits[rival], abs=1e-11 * (1 + np.abs(logits).max()))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_differences(name: str) -> None:
    expansion, label, rival = expansion_of(name)
    view, rivals = expansion.view, np.array([rival])
    place = np.random.default_rng(3).normal(size=view.dimension) / 4
    _, slopes = view.evaluate(place[None], label, rivals)
    step = 1e-6
    for k, direction in enumerate(np.eye(view.dimension)):
        ends = [view.evaluate((place + sign * step * direction)[None], label, rivals)[0] for sign in (1, -1)]
        size = 1 + np.abs(slopes).max()
        assert (ends[0][0] - ends[1][0]) / (2 * step) == pytest.approx(slopes[0, k], abs=1e-6 * size)


@pytest.mark.parametrize("name", NAMES)
def test_rests_stay_in_their_ranges_and_reach_far(name: str) -> None:
    expansion, _, _ = expansion_of(name)
    radius = 0.2
    ranges = rest_ranges(expansion, radius)
    generator = np.random.default_rng(5)
    seen = []
    for _ in range(300):
        place = generator.normal(size=expansion.dimension)
        place *= radius / np.linalg.norm(place)
        seen.append(expansion.rests(place))
    if not expansion.sums:
        return
    low, high = np.min(seen, axis=0), np.max(seen, axis=0)
    assert (low >= ranges.limits[:, 0]).all()
    assert (high <= ranges.limits[:, 1]).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_is_that_of_a_general_solver_and_below_all_samples(name: str) -> None:
    expansion, label, rival = expansion_of(name)
    question = ProductQuestion(expansion, label, rival, 0.15)
    relaxation = question.relaxation()
    y, value = relaxation.start()
    scale = relaxation.scale(value)
    optimum = maximise(relaxation.program, y, scale, tolerance=1e-8)
    assert optimum is not None
    assert optimum.value >= value - 1e-6 * scale
    reference = by_clarabel(relaxation.program)
    assert optimum.value == pytest.approx(reference, abs=1e-6 * max(scale, abs(reference)))
    generator = np.random.default_rng(6)
    places = generator.normal(size=(500, expansion.dimension))
    places *= 0.15 / np.linalg.norm(places, axis=1, keepdims=True)
    values, _ = expansion.view.evaluate(places, label, np.full(500, rival))
    assert optimum.value <= values.min()


def test_a_gate_is_a_quadric_and_its_radius_is_the_margin() -> None:
    network = network_of("gate")
    u = np.random.default_rng(1).normal(size=network.dimension) / 3
    margin = pm.margin(network, u, proof=False)
    assert margin.method == "quadric"
    proved = lower_bound(network, u)
    assert 0.997 * margin.radius <= proved.radius <= margin.radius
    assert pm.attack(network, u).distance == pytest.approx(margin.radius, rel=1e-7)


def test_products_are_better_off_as_they_are() -> None:
    """A Π-net of degree four, wider than its inputs: nearly the distance of the attack is proved in one piece."""
    generator = np.random.default_rng(8)
    factors = [generator.normal(size=(12, 8)) / 4 for _ in range(4)]
    network = pm.pi_net(factors, generator.normal(size=(3, 12)) / 2, [0.5, 0.0, -0.2])
    u = generator.normal(size=8) / 2
    nearest, proved = pm.attack(network, u), lower_bound(network, u)
    assert {exclusion.to_proof()["kind"] for exclusion in proved.exclusions} == {"products"}
    assert proved.radius >= 0.93 * nearest.distance
