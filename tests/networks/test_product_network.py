"""Networks of products: one polynomial, whatever it is computed with."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from product_modules import chebyshev_network, examples

import polymargin as pm
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import Polynomial, Product

SMALL = ("gate", "ccp", "ncp", "quadratic neurons", "branches", "attention with residual")


def network(name: str) -> Network:
    module, shape = examples()[name]
    return pm.from_torch(module, shape)


@pytest.mark.parametrize("name", SMALL)
def test_exact_and_symbolic_logits_are_the_same_polynomial(name: str) -> None:
    net = network(name)
    point = np.random.default_rng(3).integers(-8, 9, size=net.dimension) / 8
    exact = net.exact_logits(point)
    assert exact == list(net.logits(np.array([Fraction(x) for x in point], dtype=object)))
    boundary = pm.Boundary.from_network(net, 0, 1)
    assert boundary.exact_value([Fraction(x) for x in point]) == exact[0] - exact[1]
    sizes = np.abs(np.array(exact, dtype=np.float64)).max()
    assert np.abs(net(point) - np.array(exact, dtype=np.float64)).max() <= 1e-14 * max(sizes, 1.0)


@pytest.mark.parametrize("name", SMALL)
def test_a_file_keeps_every_bit(name: str, tmp_path: Path) -> None:
    net = network(name)
    net.save(tmp_path / "model.npz")
    again = pm.load(tmp_path / "model.npz")
    assert again.fingerprint == net.fingerprint


def test_the_degree_is_that_of_the_products() -> None:
    assert [network(name).degree for name in ("gate", "ccp", "branches", "attention with residual")] == [2, 3, 4, 3]
    assert pm.Boundary.from_network(network("ccp"), 0, 1).degree == 3


@pytest.mark.parametrize("name", SMALL[:4])
def test_the_margin_is_the_nearest_tie_of_a_dense_sample(name: str) -> None:
    net = network(name)
    u = 0.3 * np.random.default_rng(5).normal(size=net.dimension)
    found = pm.margin(net, u, proof=False)
    assert found.standing.name == "NUMERICAL"
    assert abs(pm.attack(net, u).distance / found.radius - 1) < 1e-6
    directions = np.random.default_rng(6).normal(size=(20_000, net.dimension))
    inside = u + 0.999 * found.radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    assert (net.predict(inside) == found.label).all()
    logits = net.exact_logits(found.point)
    assert abs(float(logits[found.label] - logits[found.rival])) < 1e-9


def test_a_change_of_variables_does_not_round_what_tokens_share() -> None:
    net = network("attention with residual")
    generator = np.random.default_rng(2)
    matrix, offset, y = generator.normal(size=(4, 3)), generator.normal(size=4), generator.normal(size=3)
    moved = net.precompose(matrix, offset)
    exactly = [Fraction(v) for v in offset]
    exactly = [
        o + sum(Fraction(m) * Fraction(v) for m, v in zip(row, y, strict=True))
        for o, row in zip(exactly, matrix, strict=True)
    ]
    expected = net.logits(np.array(exactly, dtype=object))
    assert list(moved.logits(np.array([Fraction(v) for v in y], dtype=object))) == list(expected)


def test_chebyshev_series_stay_well_conditioned_where_powers_have_no_digit_left() -> None:
    net, truth = chebyshev_network(127)
    points = np.random.default_rng(1).uniform(-1, 1, size=(200, 2))
    assert np.abs(net(points) - truth(points)).max() <= 1e-12 * np.abs(truth(points)).max()
    exact = np.array(net.exact_logits(points[0]), dtype=np.float64)
    assert np.abs(net(points[0]) - exact).max() <= 1e-12 * np.abs(exact).max()
    powers = chebyshev.cheb2poly(net.stages[0].coefficients)
    z = np.linspace(0.9, 1.0, 50)
    expanded = np.polynomial.polynomial.polyval(z, powers)
    assert np.abs(expanded - chebyshev.chebval(z, net.stages[0].coefficients)).max() > 1e-3


def test_products_are_checked_for_what_they_take() -> None:
    forms = Forms.of(np.eye(2))
    with pytest.raises(pm.InputError, match="expected as many"):
        Product(forms, Forms.of(np.eye(3)))
    with pytest.raises(pm.InputError, match="read-out takes 2 values; expected 4"):
        Network([Product(forms, forms)], forms)
    with pytest.raises(pm.InputError, match="one class"):
        Network([Product(forms, forms)], Forms.of(np.ones((1, 4))))
    with pytest.raises(pm.InputError, match="not finite"):
        Forms.of([[np.inf]])
    with pytest.raises(pm.InputError, match="basis 'fourier'"):
        Polynomial(forms, (0.0, 1.0), "fourier")


def test_a_gate_of_image_size_is_a_quadric_like_any_other() -> None:
    generator = np.random.default_rng(0)
    A, B, C = (
        generator.normal(size=(20, 300)) / 17,
        generator.normal(size=(20, 300)) / 17,
        generator.normal(size=(3, 20)),
    )
    readout = Forms.of(np.hstack([np.zeros((3, 300)), C]))
    net = Network([Product(Forms.of(A, np.ones(20)), Forms.of(B))], readout)
    u = generator.random(300)
    found = pm.margin(net, u, proof=False)
    assert found.method == "quadric"
    assert abs(pm.attack(net, u).distance / found.radius - 1) < 1e-6
