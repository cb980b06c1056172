"""Timeouts, by a clock that counts how often it is read: whoever has passed the deadline stops after a few more readings."""

import math
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.deadlines import NEVER, Deadline, TimeUpError
from polymargin.margins import provers
from polymargin.regions import L2, Region
from polymargin.relaxation.attack import nearest_counterexample

GENERATOR = np.random.default_rng(11)


class Clock:
    """Every reading takes one second."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> float:
        self.now += 1
        return float(self.now)


def layers(*sizes: int) -> list[Any]:
    generator = np.random.default_rng(3)
    shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
    return [(generator.normal(size=shape) / math.sqrt(shape[1]), generator.normal(size=shape[0])) for shape in shapes]


NETWORKS = {
    "two squares": pm.PolynomialNetwork(layers(6, 8, 7, 4), degree=2),
    "three squares": pm.PolynomialNetwork(layers(5, 7, 6, 5, 3), degree=2),
    "cubes": pm.PolynomialNetwork(layers(5, 7, 3), degree=3),
    "two cubes": pm.PolynomialNetwork(layers(4, 5, 4, 3), degree=3),
    "a gate": pm.pi_net(
        [GENERATOR.normal(size=(4, 5)) for _ in range(3)], GENERATOR.normal(size=(3, 4)), [1.0, 0.0, 0.5]
    ),
}


def point_of(network: Any) -> Any:
    return np.random.default_rng(5).normal(size=network.dimension) / 3


def asked(network: Any) -> tuple[Any, int, list[int], Region]:
    u = point_of(network)
    label = int(network.predict(u))
    rivals = [rival for rival in range(network.class_count) if rival != label]
    return u, label, rivals, L2().in_dimension(network.dimension)


@pytest.mark.parametrize("name", NETWORKS)
def test_there_is_a_bound_when_the_time_is_up_soon(name: str) -> None:
    network = NETWORKS[name]
    clock = Clock()
    nearest = nearest_counterexample(network, *asked(network))
    assert nearest is not None
    found = provers.bound(network, *asked(network), limit=nearest.distance, deadline=Deadline.after(1500, clock))
    assert found.radius > 0
    assert len(found.proofs) == network.class_count - 1
    assert clock.now < 1500 + 30


@pytest.mark.parametrize("whole", [True, False])
def test_a_search_ends_at_the_deadline_and_says_so(whole: bool) -> None:
    network, clock = NETWORKS["two squares"], Clock()
    found = provers.proved_at(network, *asked(network), 3.0, deadline=Deadline.after(5, clock), whole=whole)
    assert not found.radius
    assert found.loss is not None or set(found.reasons.values()) == {"the time is up"}
    assert clock.now < 40


def test_shares_of_the_time_that_is_left() -> None:
    clock = Clock()
    deadline = Deadline.after(100, clock)  # read at 1, so it ends at 101
    half = deadline.part(0.5)
    assert half.end == pytest.approx(2 + 0.5 * 98)
    assert deadline.within(5).end == clock.now + 5
    assert NEVER.part(0.5) is NEVER
    assert not NEVER.passed
    assert NEVER.left == math.inf
    with pytest.raises(TimeUpError):
        Deadline.after(0, clock).check()


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("region", [pm.Linf(domain=(-1, 1)), pm.L2(domain=(-1, 1)), pm.L1()], ids=repr)
def test_little_is_done_in_a_region_after_the_deadline(name: str, region: Region) -> None:
    network, clock = NETWORKS[name], Clock()
    u = point_of(network)
    whole = region.in_dimension(network.dimension)
    label = int(network.predict(u))
    rivals = [rival for rival in range(network.class_count) if rival != label]
    found = nearest_counterexample(network, u, label, rivals, whole, deadline=Deadline.after(3, clock))
    assert clock.now <= 3 + 20  # each part of the search looks once
    full = nearest_counterexample(network, u, label, rivals, whole)
    if found is not None:
        assert full is not None
        assert full.distance <= found.distance * (1 + 1e-9)
