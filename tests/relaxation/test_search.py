"""Radii that the search proves: accepted by the checker, below every counterexample, and close to exact margins."""

from __future__ import annotations

import numpy as np
import pytest

from polymargin.deadlines import Deadline
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import RELU, Piecewise, Polynomial, Product, Stage
from polymargin.regions import L1, L2, Linf, Region
from polymargin.relaxation.descent import lowest_points
from polymargin.relaxation.search import ProvedRadius, RegionSearch
from polymargin.relaxation.tree import prove_in_parts
from tests.relaxation.proofs import judged

HARDTANH = ((-1.0, 1.0), ((-1.0,), (0.0, 1.0), (1.0,)))
RELU6ISH = ((0.0, 2.0), ((0.0,), (0.0, 1.0), (2.0,)))
HARDSWISH = ((-3.0, 3.0), ((0.0,), (0.0, 0.5, 1 / 6), (0.0, 1.0)))
KINDS = [
    *("square", "square-square", "cubic", "quartic", "product"),
    *("relu", "relu-relu", "hardtanh", "hardswish", "square-relu", "relu-square"),
]


def network_of(kind: str, seed: int, n: int = 3, h: int = 4) -> Network:
    """A small random network with two or three classes."""
    draw = np.random.default_rng(seed)
    widths, stages = [n], list[Stage]()

    def forms(height: int) -> Forms:
        source = len(widths) - 1
        matrix = draw.normal(size=(height, widths[-1])) / np.sqrt(widths[-1])
        return Forms(tuple(widths), ((source, matrix),), 0.3 * draw.normal(size=height))

    functions = {"cubic": (0.0, 0.5, 0.0, 0.3), "quartic": (0.1, 0.5, 0.4, 0.0, -0.05), "square": (0.0, 0.2, 1.0)}
    pieces = {"relu": RELU, "hardtanh": HARDTANH, "hardswish": HARDSWISH}
    for word in kind.split("-"):
        if word == "product":
            stages.append(Product(forms(h), forms(h)))
        elif word in functions:
            stages.append(Polynomial(forms(h), functions[word]))
        else:
            stages.append(Piecewise(forms(h), *pieces[word]))
        widths.append(h)
    return Network(stages, forms(3))


def regions(n: int) -> list[Region]:
    draw = np.random.default_rng(5)
    root = draw.normal(size=(n, n))
    return [
        region.in_dimension(n)
        for region in (
            L2(),
            Linf(),
            L1(),
            L2(domain=(-1.5, 1.5)),
            Linf(domain=(-1.5, 1.5)),
            L2(weights=np.linspace(0.5, 2.0, n)),
            Linf(weights=np.linspace(0.5, 2.0, n), movable=[0, 1]),
            L2(ellipsoid=root @ root.T + np.eye(n)),
            L2(subspace=root[:, :2]),
        )
    ]


@pytest.mark.parametrize(
    ("kind", "number"), [(kind, (k + 3 * j) % 9) for k, kind in enumerate(KINDS) for j in range(3)]
)
def test_proved_radii_are_accepted_and_hold(kind: str, number: int) -> None:
    network, draw = network_of(kind, 7 + number), np.random.default_rng(number)
    region = regions(3)[number]
    u = draw.uniform(-1, 1, size=3)
    label = int(np.argmax(network(u)))
    rivals = [r for r in range(3) if r != label]
    search = RegionSearch(network, u, label, rivals, region)
    limit = _nearest_loss(network, u, label, rivals, region)
    found = search.largest(limit if np.isfinite(limit) else 2.0)
    assert 0 < found.radius <= limit
    result = judged(network, u, label, region, found)
    assert result.accepted, result.reason
    near = region.at(u, found.radius)
    points = near.inputs(
        u, np.array([near.low + (near.high - near.low) * draw.random(near.dimension) for _ in range(4000)])
    )
    inside = [x for x in points if region.distance(x, u) <= found.radius]
    if inside:
        logits = network(np.array(inside))
        assert (logits[:, label] > np.delete(logits, label, axis=1).max(axis=1)).all()


def _nearest_loss(network: Network, u: np.ndarray, label: int, rivals: list[int], region: Region) -> float:
    """A radius at which a rival is found to win, by bisection; inf if none is found."""
    low, high = 0.0, 8.0
    if lowest_points(network, u, region.at(u, high), label, rivals)[0].min() > 0:
        return float("inf")
    for _ in range(30):
        middle = (low + high) / 2
        lost = lowest_points(network, u, region.at(u, middle), label, rivals)[0].min() < 0
        low, high = (low, middle) if lost else (middle, high)
    return high


def test_quadrics_are_proved_up_to_their_margin() -> None:
    """The S-lemma is exact for one quadratic on a ball: x² + 4y² < 1 around the point (0.3, 0)."""
    forms = Forms((2,), ((0, np.eye(2)),), np.zeros(2))
    readout = Forms((2, 2), ((1, np.array([[0.0, 0.0], [1.0, 4.0]])),), np.array([1.0, 0.0]))
    network = Network([Polynomial(forms, (0.0, 0.0, 1.0))], readout)
    u = np.array([0.3, 0.0])
    # The nearest point of the ellipse: x = 4 · 0.3 / 3 with the multiplier at the pole of y.
    x = 0.4
    margin = np.hypot(x - 0.3, np.sqrt((1 - x**2) / 4))
    found = RegionSearch(network, u, 0, [1], L2().in_dimension(2)).largest(margin, tolerance=1e-4)
    assert found.radius == pytest.approx(margin, rel=3e-4)
    assert found.radius < margin
    assert judged(network, u, 0, L2().in_dimension(2), found).accepted


def test_weights_of_one_change_nothing() -> None:
    network, u = network_of("square-square", 1), np.array([0.2, -0.1, 0.4])
    label = int(np.argmax(network(u)))
    rivals = [r for r in range(3) if r != label]
    plain, ones = (
        RegionSearch(network, u, label, rivals, region.in_dimension(3)).largest(1.0)
        for region in (L2(), L2(weights=np.ones(3)))
    )
    assert plain.radius == ones.radius
    assert plain.proofs == ones.proofs


@pytest.mark.parametrize("kind", ["relu-relu", "square-square", "cubic", "hardswish"])
@pytest.mark.parametrize("region", [L2(), Linf(domain=(-1.5, 1.5))], ids=repr)
def test_splits_close_what_one_piece_leaves_open(kind: str, region: Region) -> None:
    network, u = network_of(kind, 3, n=2, h=3), np.array([0.3, -0.4])
    region = region.in_dimension(2)
    label = int(np.argmax(network(u)))
    rivals = [r for r in range(3) if r != label]
    limit = min(_nearest_loss(network, u, label, rivals, region), 2.0)
    search = RegionSearch(network, u, label, rivals, region)
    whole = search.prepared((1 - 1e-4) * limit)
    proofs = {}
    for rival in rivals:
        tree, loss = prove_in_parts(whole, u, label, rival, 0.0, Deadline.after(60))
        assert loss is None
        assert tree is not None
        proofs[rival] = whole.proof(tree)
    result = judged(network, u, label, region, ProvedRadius((1 - 1e-4) * limit, proofs))
    assert result.accepted, result.reason


def test_no_tree_where_a_rival_wins() -> None:
    network, u = network_of("relu-relu", 3, n=2, h=3), np.array([0.3, -0.4])
    label = int(np.argmax(network(u)))
    rivals = [r for r in range(3) if r != label]
    region = L2().in_dimension(2)
    limit = _nearest_loss(network, u, label, rivals, region)
    search = RegionSearch(network, u, label, rivals, region)
    found = [prove_in_parts(search.prepared(1.01 * limit), u, label, r, 0.0, Deadline.after(60)) for r in rivals]
    lost = [loss for tree, loss in found if tree is None]
    assert any(loss is not None and network.predict(u + loss) != label for loss in lost)
