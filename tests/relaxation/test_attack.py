"""Counterexamples of every region: exact, never nearer than exact margins, and nearly always there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from problems import random_network
from random_stages import by_definition, random_stages

import polymargin as pm
from polymargin.deadlines import Deadline
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial
from polymargin.regions import L1, L2, Linf, Region
from polymargin.relaxation.attack import nearest_counterexample
from polymargin.relaxation.confirmation import Counterexample


def attacked(network: Network, point: np.ndarray, region: Region, **options: float) -> Counterexample | None:
    label = int(network.predict(point))
    rivals = [rival for rival in range(network.class_count) if rival != label]
    return nearest_counterexample(network, point, label, rivals, region.in_dimension(network.dimension), **options)


def check(network: Network, point: np.ndarray, region: Region, found: Counterexample, abstain: float = 0.0) -> None:
    """Compare logits straight from the definition, domain, moved inputs and length in Fractions."""
    whole, label = region.in_dimension(len(point)), int(network.predict(point))
    start = [Fraction(value) for value in point.tolist()]
    exact = [Fraction(value) for value in found.point.tolist()]
    if whole.subspace is not None:
        assert found.along is not None
        steps = [sum(map(Fraction, terms)) for terms in found.along]
        exact = [
            s + sum(Fraction(e) * y for e, y in zip(row, steps, strict=True))
            for s, row in zip(start, whole.subspace.tolist(), strict=True)
        ]
        np.testing.assert_allclose(found.point, [float(value) for value in exact], rtol=1e-15)
    logits = by_definition(network, exact)
    assert logits[found.rival] + Fraction(abstain) >= logits[label]
    step = [x - s for x, s in zip(exact, start, strict=True)]
    assert not any(value for i, value in enumerate(step) if i not in whole.moving)
    if whole.low is not None and whole.high is not None:
        assert whole.admits(found.point)
    length = Fraction(found.distance)
    if whole.norm.value == "l2":
        metric = [[Fraction(value) for value in row] for row in whole.metric.tolist()]
        if whole.weights is not None:  # the square of a weight is rounded in the matrix
            metric = [[Fraction(0)] * len(step) for _ in step]
            for i, weight in enumerate(whole.weights.tolist()):
                metric[i][i] = Fraction(weight) ** 2
        assert length**2 >= sum(
            a * m * b for a, row in zip(step, metric, strict=True) for m, b in zip(row, step, strict=True)
        )
    else:
        weights = np.ones(len(step)) if whole.weights is None else whole.weights
        sizes = [abs(value) * Fraction(weight) for value, weight in zip(step, weights.tolist(), strict=True)]
        assert length >= (max(sizes) if whole.norm.value == "linf" else sum(sizes))
    assert found.distance == pytest.approx(whole.length([float(value) for value in step]), rel=1e-12)


# -- against exact margins ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("widths", "degree", "seeds"), [((4, 6, 3), 3, 8), ((3, 5, 2), 4, 8), ((6, 5, 3), 2, 8), ((3, 4, 4, 2), 2, 8)]
)
def test_distances_of_enumerated_critical_points(widths: tuple[int, ...], degree: int, seeds: int) -> None:
    """Shallow squares are quadrics, the others are enumerated."""
    met = total = 0
    for seed in range(seeds):
        network, u = random_network(widths, degree, seed), np.random.default_rng([seed, 1]).normal(size=widths[0])
        margin = pm.margin(network, u, proof=False)
        found = attacked(network, u, L2())
        if not np.isfinite(margin.radius):
            assert found is None
            continue
        assert found is not None
        check(network, u, L2(), found)
        assert found.distance >= margin.radius * (1 - 1e-9)
        total += 1
        met += found.distance <= margin.radius * (1 + 1e-7)
    assert total >= 6
    assert met >= total - 1


REGIONS = [
    Linf(),
    L1(),
    L2(domain=(-1.5, 1.5)),
    Linf(domain=(-1.5, 1.5)),
    L1(domain=(-1.5, 1.5), weights=[1.0, 2.0, 0.5]),
    L2(weights=[0.5, 1.0, 3.0]),
    Linf(movable=[0, 2], weights=[1.0, 2.0, 3.0]),
    L2(movable=[1, 2], domain=(-2, 2)),
    L2(ellipsoid=[[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 3.0]]),
    L2(subspace=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
]


@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_distances_of_enumerated_faces(region: Region) -> None:
    met = total = 0
    for seed in range(5):
        network, u = random_network((3, 4, 3), 3, seed), np.random.default_rng([seed, 2]).uniform(-1, 1, size=3)
        margin = pm.margin(network, u, within=region, proof=False)
        found = attacked(network, u, region)
        if found is None:
            met += not np.isfinite(margin.radius)
        else:
            check(network, u, region, found)
            assert found.distance >= margin.radius * (1 - 1e-8)
            met += found.distance <= margin.radius * (1 + 1e-6)
        total += 1
    assert met >= total - 1


def test_exact_margins_of_piecewise_linear_networks() -> None:
    met = 0
    for seed in range(8):
        draw = np.random.default_rng(seed)
        layers = [(draw.normal(size=(b, a)), 0.3 * draw.normal(size=b)) for a, b in ((3, 6), (6, 5), (5, 3))]
        network, u = pm.ReLUNetwork(layers), draw.normal(size=3)
        margin = pm.margin(network, u, proof=False)
        found = attacked(network, u, L2())
        assert found is not None
        check(network, u, L2(), found)
        assert found.distance >= margin.radius * (1 - 1e-9)
        met += found.distance <= margin.radius * (1 + 1e-4)
    assert met >= 7


# -- planted ties ------------------------------------------------------------------------------


def half_space(slope: np.ndarray, height: float) -> Network:
    """f₀ − f₁ = g·x + c over one stage."""
    stage = Polynomial(Forms.of(np.eye(len(slope))), (0.0, 1.0))
    readout = np.array([slope, 0 * slope])
    return Network([stage], Forms((len(slope), len(slope)), ((1, readout),), [height, 0.0]))


def test_half_spaces_in_every_norm() -> None:
    """The distance of a half-space is c over the dual norm of g."""
    draw = np.random.default_rng(0)
    for size in (2, 5, 70):
        slope, scale, height = draw.normal(size=size), draw.uniform(0.5, 2.0, size), 0.7
        network, u = half_space(slope, height), np.zeros(size)
        root = draw.normal(size=(size, size)) + 3 * np.eye(size)
        metric = root @ root.T
        columns = draw.normal(size=(size, 2))
        along = np.linalg.qr(columns)[0].T @ slope
        moving = [0, size - 1]
        cases = [
            (L2(), np.linalg.norm(slope)),
            (L2(weights=scale), np.linalg.norm(slope / scale)),
            (Linf(weights=scale), np.abs(slope / scale).sum()),
            (L1(weights=scale), np.abs(slope / scale).max()),
            (L2(movable=moving), np.linalg.norm(slope[moving])),
            (Linf(movable=moving), np.abs(slope[moving]).sum()),
            (L2(ellipsoid=metric), np.sqrt(slope @ np.linalg.solve(metric, slope))),
            (L2(subspace=columns), np.linalg.norm(along)),
        ]
        for region, dual in cases:
            found = attacked(network, u, region)
            assert found is not None
            check(network, u, region, found)
            assert found.distance == pytest.approx(height / dual, rel=1e-9)


def test_a_wall_in_front_of_the_tie() -> None:
    """f₀ − f₁ = 1 − x₀ − x₁/2 from 0: with x₀ ≤ 1/2 the other coordinate goes the rest of the way."""
    network, u = half_space(np.array([-1.0, -0.5]), 1.0), np.zeros(2)
    for region, length in [
        (L2(domain=([0, 0], [0.5, 4])), np.hypot(0.5, 1.0)),
        (L1(domain=([0, 0], [0.5, 4])), 1.5),
        (Linf(domain=([0, 0], [0.5, 4])), 1.0),
    ]:
        found = attacked(network, u, region)
        assert found is not None
        check(network, u, region, found)
        assert found.distance == pytest.approx(length, rel=1e-12)
        assert attacked(network, u, Region(region.norm, low=region.low, high=np.array([0.5, 0.5]))) is None


@pytest.mark.parametrize("seed", range(10))
def test_random_stages_in_random_regions(seed: int) -> None:
    network, draw = random_stages(seed), np.random.default_rng(seed)
    u = np.round(draw.uniform(-0.5, 0.5, size=network.dimension), 3)
    logits = sorted(network.exact_logits(u))
    if logits[-1] == logits[-2]:
        return
    for region in (L2(), Linf(domain=(-1, 1)), L1(weights=draw.uniform(0.5, 2, network.dimension)), L2(domain=(-1, 1))):
        found = attacked(network, u, region)
        if found is not None:
            check(network, u, region, found)


# -- edges -------------------------------------------------------------------------------------


def test_no_counterexample_where_there_is_none() -> None:
    """B = 1 + x² + y² > 0 everywhere."""
    network = pm.PolynomialNetwork([np.eye(2), (np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([1.0, 0.0]))], degree=2)
    for region in (L2(), Linf(), L1(domain=(-3, 3)), L2(movable=[0])):
        assert attacked(network, np.array([0.3, 0.4]), region) is None


def test_leads_that_are_asked_for() -> None:
    """f₀ − f₁ = x₀ + 1: a lead of 1/4 is lost at distance 3/4, one of 2 at the point itself."""
    network, u = half_space(np.array([1.0, 0.0]), 1.0), np.zeros(2)
    found = attacked(network, u, L2(), abstain=0.25)
    assert found is not None
    check(network, u, L2(), found, abstain=0.25)
    assert found.distance == pytest.approx(0.75)
    here = attacked(network, u, Linf(domain=(0, 1)), abstain=2.0)
    assert here is not None
    assert here.distance == 0
    assert (here.point == u).all()


def test_nothing_moves() -> None:
    network, u = half_space(np.array([1.0, 1.0]), 1.0), np.zeros(2)
    assert attacked(network, u, L2(domain=(0, 0))) is None


def test_deadlines_end_the_search() -> None:
    """A clock that counts its readings; what is found is as exact as with time."""
    network, u = random_network((8, 10, 3), 3, 0), np.full(8, 0.1)
    for readings in (0, 3, 10, 30):
        ticks = iter(range(10_000))
        for region in (L2(), Linf(domain=(-1, 1))):
            found = attacked(network, u, region, deadline=Deadline(readings, clock=lambda ticks=ticks: next(ticks)))
            if found is not None:
                check(network, u, region, found)


def test_seeds_repeat() -> None:
    network, u = random_network((5, 7, 3), 3, 1), np.full(5, 0.1)
    first, second = (attacked(network, u, Linf(), seed=3) for _ in range(2))
    assert first is not None
    assert second is not None
    assert (first.point == second.point).all()
