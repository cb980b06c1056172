"""Expansions are exact, ranges hold, and every bound stays below what sampling sees."""

from __future__ import annotations

import numpy as np
import pytest
from problems import asked, random_network

import polymargin as pm
from polymargin.bounds.regions.leaves import RegionPart
from polymargin.bounds.regions.quadratic import lifted_forms
from polymargin.bounds.regions.region import AllowedRegion
from polymargin.bounds.regions.steps import NetworkSteps
from polymargin.deadlines import NEVER
from polymargin.networks.attention import random_attention
from polymargin.regions import ThreatModel

NEIGHBOURHOODS = (
    {"norm": "linf"},
    {"norm": "linf", "domain": (-0.2, 0.4)},
    {"norm": "l1", "weights": [1.0, 2.0, 0.5]},
    {"norm": "l2", "domain": (-0.2, 0.4)},
    {"norm": "l2", "movable": [0, 2], "abstain": 0.1},
)


def networks() -> list[pm.Network | pm.Network | pm.Network]:
    generator = np.random.default_rng(3)
    factors = [generator.normal(size=(3, 3)) for _ in range(3)]
    return [
        random_network([3, 4, 2], 2, seed=1),
        random_network([3, 4, 3], 3, seed=2),
        random_network([3, 4, 3, 2], 2, seed=3),
        pm.PolynomialNetwork(
            [(generator.normal(size=s), generator.normal(size=s[0])) for s in ((3, 3), (3, 3), (2, 3))],
            activations=[(0.0, 1.0, 0.5), (0.1, 0.5, 0.3, 0.2, -0.1)],
        ),
        pm.pi_net(factors, generator.normal(size=(2, 3)), generator.normal(size=2)),
        random_attention(1, 3, 2, 2, seed=4),
    ]


def part(network: pm.PolynomialNetwork, threat: ThreatModel, radius: float) -> RegionPart:
    point = np.array([0.1, 0.2, -0.1])
    steps = NetworkSteps.of(network, 0, 1)
    region = AllowedRegion.of(threat.region, threat.abstain, point, radius)
    weights, constants = steps.difference(0, [1])
    return RegionPart(steps, region, "middle" if region.is_box else "point", weights, constants - threat.abstain)


def inside(region: AllowedRegion, count: int, generator: np.random.Generator) -> np.ndarray:
    """Extreme points of the region, and points on the way to them."""
    ends = region.lowest(generator.normal(size=(count, len(region.moving))))
    return np.concatenate([ends, region.point + generator.random((count, 1)) * (ends - region.point)])


@pytest.mark.parametrize("options", NEIGHBOURHOODS)
@pytest.mark.parametrize("which", range(6))
def test_what_is_expanded_is_the_functional_and_no_bound_is_above_it(which: int, options: dict) -> None:
    network, threat = networks()[which], ThreatModel.of(3, **asked(**options))
    for radius in (0.05, 0.3):
        here = part(network, threat, radius)
        expansion, functional = here.expansion, here.functional(0)
        points = inside(here.region, 200, np.random.default_rng(5))
        for x in points:
            assert threat.region.admits(x)
            assert threat.region.length(x - here.region.point) <= radius * (1 + 1e-9)
        logits = network(points)
        truth = logits[:, 0] - logits[:, 1] - threat.abstain
        for x, value in zip(points[::20], truth[::20], strict=True):
            states = here.states(x)
            total = functional.value + functional.slope @ (x - expansion.centre)[here.region.moving]
            for at, beta, moved in zip(expansion.at, functional.adjoints, states, strict=True):
                if at.taylor is None:
                    remainder = moved[0] * moved[1]
                else:
                    remainder = (
                        sum(at.taylor[:, k] * moved[0] ** k for k in range(2, at.taylor.shape[1])) + 0 * moved[0]
                    )
                total += beta @ remainder
                assert (at.remainder[0] <= remainder).all()
                assert (remainder <= at.remainder[1]).all()
                for form, t in zip(at.forms, moved, strict=True):
                    assert (form.range[0] <= t).all()
                    assert (t <= form.range[1]).all()
            assert total == pytest.approx(value, abs=1e-9 * (1 + np.abs(logits).max()))
        worst = points[truth.argmin()]
        bounds = [float(here.linear()[0]), here.quadratic(0, worst, NEVER)[0]]
        bounds += [here.lifted(0, worst)[0]] if lifted_forms(expansion) else []
        assert max(bounds) <= truth.min() + 1e-9 * (1 + np.abs(logits).max())


def test_quadratics_on_boxes_are_bounded_tightly_by_multipliers_from_the_worst_point() -> None:
    """A concave quadratic is least at a vertex: all of them are looked at."""
    network = random_network([3, 4, 2], 2, seed=1)
    threat = ThreatModel.of(3, pm.Linf())
    here = part(network, threat, 0.05)
    corners = np.array(np.meshgrid(*zip(here.region.low, here.region.high, strict=True))).reshape(3, -1).T
    values = network(corners)[:, 0] - network(corners)[:, 1]
    bound = here.quadratic(0, corners[values.argmin()], NEVER)[0]
    assert bound <= values.min() + 1e-12
    assert bound >= values.min() - 1e-3 * np.abs(values.min())
