"""Deep layers of higher degree in many dimensions, bounded as products."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import polymargin as pm
from polymargin.bounds.products.of_layers import products_of
from polymargin.bounds.products.view import ProductView
from polymargin.bounds.view import View
from polymargin.bounds.views import FEW, bounded_view_of
from polymargin_checker.checker import check

QUARTIC = [0.1, 0.5, 0.4, 0.0, 0.1]


def network_of(widths: tuple[int, ...], activations: list[list[float]], seed: int = 1) -> pm.PolynomialNetwork:
    generator = np.random.default_rng(seed)
    layers = [
        (generator.normal(size=(high, low)) / np.sqrt(low), generator.normal(size=high) / 2)
        for low, high in pairwise(widths)
    ]
    return pm.PolynomialNetwork(layers, activations=activations)


@pytest.mark.parametrize("activations", [[QUARTIC, [0.0, 1.0, 0.0, 2.0]], [[0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]])
def test_logits_are_the_same_without_rounding(activations: list[list[float]]) -> None:
    network = network_of((3, 5, 4, 2), activations)
    found = products_of(network)
    assert products_of(network) is found
    for point in np.random.default_rng(2).normal(size=(4, 3)):
        assert found.exact_logits(point) == network.exact_logits(point)


def test_which_networks_are_bounded_as_products() -> None:
    wide, quadratic = (FEW + 2, FEW + 1, 4, 2), [0.0, 0.0, 1.0]
    for widths, activations, expected in (
        (wide, [QUARTIC, QUARTIC], ProductView),
        (wide, [QUARTIC, quadratic], ProductView),
        (wide, [quadratic, QUARTIC], View),  # the lifted relaxation is for these
        ((FEW + 2, FEW + 1, 2), [QUARTIC], View),
        ((FEW, FEW + 1, 4, 2), [QUARTIC, QUARTIC], View),
    ):
        network = network_of(widths, activations)
        assert type(bounded_view_of(network, np.zeros(widths[0]))) is expected


def test_nearly_the_distance_of_the_attack_is_proved_and_checked(tmp_path: Path) -> None:
    network = network_of((50, 50, 6, 2), [[0.0, 0.5, 0.3, 0.2], [0.0, 0.0, 1.0]])
    u = np.random.default_rng(3).normal(size=50) / 2
    nearest, proved = pm.attack(network, u), pm.lower_bound(network, u)
    assert 0.95 * nearest.distance <= proved.radius <= nearest.distance
    verdict = pm.verify(network, u, 0.9 * proved.radius, cache=False)
    assert verdict.answer is pm.Answer.ROBUST
    network.save(tmp_path / "model.npz")
    verdict.certificate.save(tmp_path / "proof.json")
    found = check(tmp_path / "model.npz", tmp_path / "proof.json")
    assert found.accepted, found.reason
    assert pm.lower_bound(network, u, timeout=1e-9).radius > 0
