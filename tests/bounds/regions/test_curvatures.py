"""Curvatures of rests: against sampling, and where they are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import random_network
from problems import region as region_of

import polymargin as pm
from polymargin.bounds.regions.curvatures import curved_ranges
from polymargin.bounds.regions.expansion import RegionExpansion, reaches
from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.steps import NetworkSteps

U = np.array([0.1, 0.2, -0.1])


@pytest.mark.parametrize(
    "options",
    [
        {"norm": "linf"},
        {"norm": "linf", "domain": (-0.2, 0.3), "weights": [1.0, 2.0, 0.5]},
        {"norm": "l2", "weights": [1.0, 2.0, 0.5]},
        {"norm": "l2", "movable": [0, 2]},
        {"norm": "l1"},
    ],
)
def test_rests_stay_within_their_curvatures(options: dict[str, Any]) -> None:
    network = random_network([3, 8, 6, 2], 2, seed=3)
    region = AllowedRegion.of(region_of(3, **options), 0.0, U, 0.3)
    steps, centre = NetworkSteps.of(network, 0, 1), region.middle if region.is_box else U
    plain = RegionExpansion.of(steps, region, centre)
    found = curved_ranges(plain)
    assert found is not None
    assert found[0] is not None
    narrow = RegionExpansion.of(steps, region, centre, found)
    before, after = plain.at[1].forms[0].rest, narrow.at[1].forms[0].rest
    assert before is not None
    assert after is not None
    assert (after[0] >= before[0]).all()
    assert (after[1] <= before[1]).all()
    assert (after[1] - after[0]).sum() < 0.9 * (before[1] - before[0]).sum()
    generator = np.random.default_rng(0)
    ends = region.lowest(generator.normal(size=(300, len(region.moving))))
    points = np.concatenate([ends, region.point + generator.random((300, 1)) * (ends - region.point)])
    delta = (points - centre)[:, region.moving]
    scales, bound = reaches(region, centre)
    assert (((delta / scales) ** 2).sum(axis=1) <= bound * (1 + 1e-9)).all()
    first, second = network.chain.layers[0].weights, network.chain.layers[1].weights
    rests = ((points - centre) @ first.T) ** 2 @ second.T
    assert (after[0] <= rests).all()
    assert (rests <= after[1]).all()
    least = np.linalg.eigvalsh(
        (first[:, region.moving] * scales).T @ (second[0][:, None] * first[:, region.moving] * scales)
    )
    size = np.abs(found[0]).max()
    assert found[0][0] == pytest.approx([bound * min(least[0], 0), bound * max(least[-1], 0)], abs=1e-4 * size)


def test_other_networks_have_none() -> None:
    generator = np.random.default_rng(1)
    layers = [(generator.normal(size=s), generator.normal(size=s[0])) for s in ((3, 3), (3, 3), (2, 3))]
    region = AllowedRegion.of(region_of(3, norm="linf"), 0.0, U, 0.1)
    for network in (
        random_network([3, 4, 2], 2, seed=0),
        pm.PolynomialNetwork(layers, activations=[(0.0, 1.0, 0.5, 0.2), (0.0, 0.0, 1.0)]),
        pm.pi_net([generator.normal(size=(3, 3)) for _ in range(3)], generator.normal(size=(2, 3))),
    ):
        assert curved_ranges(RegionExpansion.of(NetworkSteps.of(network, 0, 1), region, U)) is None
    deep = curved_ranges(
        RegionExpansion.of(NetworkSteps.of(random_network([3, 3, 3, 3, 2], 2, seed=0), 0, 1), region, U)
    )
    assert deep is not None
    assert deep[0] is not None
    assert deep[1] is None
