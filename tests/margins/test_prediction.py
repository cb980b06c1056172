"""Which class is ahead, by how much compared with rounding: a bound for all points must decide as each point by itself."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import polymargin as pm
from polymargin.margins.prediction import LARGEST_NOISE, clear_classes, predicted_class
from polymargin.networks.attention import random_attention
from polymargin.networks.forms import Forms
from polymargin.networks.noise import CLEARLY, rounding_noise
from polymargin.networks.stages import Product


def network(widths: tuple[int, ...], degree: int, scale: float = 1.0) -> pm.Network:
    generator = np.random.default_rng(widths)
    layers = [(generator.normal(size=(b, a)), generator.normal(size=b)) for a, b in pairwise(widths)]
    layers[-1] = (scale * layers[-1][0], scale * layers[-1][1])
    return pm.PolynomialNetwork(layers, degree=degree)


def products() -> pm.Network:
    """Whose terms without signs are not where they are largest: it knows no network without signs."""
    draw = np.random.default_rng(3).normal
    factors = Forms.of(draw(size=(6, 4)), draw(size=6)), Forms.of(draw(size=(6, 4)), draw(size=6))
    return pm.Network([Product(*factors)], Forms.of(draw(size=(3, 10)), draw(size=3)))


NETWORKS: dict[str, Any] = {
    "quadratic": network((4, 6, 3), 2),
    "cubic, deep": network((3, 4, 4, 5), 3),
    "attention": random_attention(2, 2, 1, 1, seed=5),
    "products": products(),
    "tiny logits": network((4, 6, 3), 2, 1e-151),
    "huge logits": network((4, 6, 3), 2, 1e149),
}


def near_ties(net: Any) -> np.ndarray:
    """Points of all sizes, and points at every distance from a tie: a bisection between two points of different classes."""
    generator = np.random.default_rng(0)
    points = generator.normal(size=(200, net.dimension)) * 10.0 ** generator.integers(-3, 4, size=(200, 1))
    labels = net.predict(points)
    low, high = points[labels == labels[0]][0], points[labels != labels[0]][0]
    on_the_way = []
    for _ in range(60):
        middle = (low + high) / 2
        on_the_way.append(middle)
        low, high = (middle, high) if net.predict(middle) == labels[0] else (low, middle)
    return np.concatenate([points, on_the_way])


@pytest.mark.parametrize("name", NETWORKS)
def test_a_bound_for_all_points_decides_as_each_point_by_itself(name: str) -> None:
    net = NETWORKS[name]
    points = near_ties(net)
    labels, clear, cancelled = clear_classes(net, points)
    logits, noise = net(points), rounding_noise(net, points)
    second, first = np.sort(logits, axis=1)[:, -2:].T
    ahead = logits.max(axis=1, keepdims=True) - logits
    assert (labels == logits.argmax(axis=1)).all()
    assert (clear == (np.isfinite(noise) & (first - second > CLEARLY * noise))).all()
    assert (cancelled == ((ahead != 0) & (noise[:, None] > LARGEST_NOISE * ahead))).all()
    if name in ("tiny logits", "huge logits"):
        assert not clear.all()
    else:
        assert 0 < (~clear).sum() < 60
        assert cancelled.any()


def test_where_doubles_cannot_tell_exact_arithmetic_does() -> None:
    """f₀ − f₁ = x² − y², zero at x = y, and at one ulp from there of the size of an ulp."""
    net = pm.PolynomialNetwork([(np.eye(2), np.zeros(2)), (np.eye(2), np.zeros(2))], degree=2)
    third = 1 / 3
    assert predicted_class(net, np.array([third, third])) == (0, 1)
    assert predicted_class(net, np.array([third, np.nextafter(third, 1)])) == (1, None)
    assert predicted_class(net, np.array([third, np.nextafter(third, 0)])) == (0, None)
