"""Networks of stages of all kinds against their definition in Fractions."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from random_stages import by_definition, random_stages

import polymargin as pm
from polymargin.networks.attention import random_attention
from polymargin.networks.forms import Forms
from polymargin.networks.network import Network
from polymargin.networks.stages import RELU, Piecewise, Polynomial, Product
from polymargin.polynomials import Graph, evaluate, flatten

SEEDS = range(30)


def short(draw: np.random.Generator, *shape: int) -> np.ndarray:
    return draw.integers(-16, 17, size=shape) / 16


@pytest.mark.parametrize("seed", SEEDS)
def test_logits_are_those_of_the_definition(seed: int) -> None:
    network, draw = random_stages(seed), np.random.default_rng(seed)
    points = short(draw, 4, network.dimension)
    logits, bounds = network(points), network.rounding_errors(points)
    assert network.predict(points).tolist() == logits.argmax(axis=1).tolist()
    for point, found, bound in zip(points, logits, bounds, strict=True):
        expected = by_definition(network, point)
        assert network.exact_logits(point) == expected
        fractions = np.array([Fraction(v) for v in point], dtype=object)
        assert list(network.logits(fractions)) == expected
        assert network.exact_logits(fractions) == expected
        errors = [abs(Fraction(float(a)) - b) for a, b in zip(found, expected, strict=True)]
        assert all(error <= Fraction(float(b)) for error, b in zip(errors, bound, strict=True))
        assert np.abs(network(point) - found).max() <= 2 * bound.max()


@pytest.mark.parametrize("seed", SEEDS)
def test_symbolic_logits_are_the_same_polynomial(seed: int) -> None:
    network, graph = random_stages(seed, piecewise=False), Graph()
    program = flatten(graph, list(network.logits(np.array(graph.inputs(network.dimension), dtype=object))))
    point = short(np.random.default_rng(seed), network.dimension)
    assert evaluate(program, [Fraction(v) for v in point], lift=Fraction) == network.exact_logits(point)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_change_of_variables_is_exact_on_short_numbers(seed: int) -> None:
    network, draw = random_stages(seed), np.random.default_rng(seed)
    matrix, offset, y = short(draw, network.dimension, 3), short(draw, network.dimension), short(draw, 3)
    moved = network.precompose(matrix, offset)
    assert moved.dimension == 3
    assert moved.exact_logits(y) == network.exact_logits(matrix @ y + offset)
    twice = moved.precompose(short(draw, 3, 2), np.zeros(3))
    assert len(twice.stages) <= len(network.stages) + 1
    assert twice.exact_logits(np.zeros(2)) == network.exact_logits(offset)


@pytest.mark.parametrize("seed", SEEDS)
def test_logits_do_not_change_where_the_input_forms_do_not(seed: int) -> None:
    network, draw = random_stages(seed), np.random.default_rng(seed)
    for one in (network, network.precompose(short(draw, network.dimension, 9), np.zeros(network.dimension))):
        weights = one.input_forms.weights
        _, sizes, rows = np.linalg.svd(weights)
        kernel = rows[int((sizes > 1e-12 * max(1.0, sizes.max(initial=0))).sum()) :]
        point = short(draw, one.dimension)
        moved = point + draw.normal(size=len(kernel)) @ kernel
        np.testing.assert_allclose(one(moved), one(point), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_degree_is_that_on_a_line(seed: int) -> None:
    """Where nothing cancels, differences of order degree + 1 vanish on a line, those of order degree do not."""
    network, draw = random_stages(seed, piecewise=False), np.random.default_rng(seed)
    direction = [Fraction(int(v), 7) for v in draw.integers(1, 100, size=network.dimension)]

    def difference(order: int) -> list[Fraction]:
        values = [by_definition(network, [k * v for v in direction]) for k in range(order + 1)]
        while len(values) > 1:
            values = [[b - a for a, b in zip(*pair, strict=True)] for pair in pairwise(values)]
        return values[0]

    if network.degree <= 16:
        assert not any(difference(network.degree + 1))


def test_copies_and_pickles_are_the_same_network() -> None:
    network = random_stages(3)
    point = np.full(network.dimension, 0.25)
    expected = network.exact_logits(point)
    for other in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert other.fingerprint == network.fingerprint
        assert other.exact_logits(point) == expected


def test_the_line_shows_the_architecture() -> None:
    draw = np.random.default_rng(0)
    layers = [draw.normal(size=shape) for shape in ((3, 4), (2, 3), (2, 2))]
    assert repr(pm.PolynomialNetwork(layers, degree=2)) == "Network(4-3-2-2, x², logits of degree 4)"
    assert repr(pm.ReLUNetwork(layers)) == "Network(4-3-2-2, ReLU)"
    forms = [Forms.of(draw.normal(size=(3, 4))) for _ in range(2)]
    mixed = Network(
        [Product(*forms), Piecewise(Forms.of(np.ones((2, 7))), (0.0,), ((0.0,), (0.0, 0.0, 1.0)))],
        Forms.of(np.ones((2, 9))),
        origin="read from three.onnx",
    )
    assert repr(mixed) == "Network(4-3-2-2, products, piecewise of degree 2, pieces of degree 4; read from three.onnx)"
    series = Network([Polynomial(forms[0], (0.0, 0.5, 1.0), "legendre")], Forms.of(np.ones((2, 7))))
    assert repr(series) == "Network(4-3-2, legendre series of degree 2, logits of degree 2)"


def test_every_constructor_makes_stages() -> None:
    draw = np.random.default_rng(1)
    layers = [(draw.normal(size=(4, 6)), draw.normal(size=4)), (draw.normal(size=(3, 4)), draw.normal(size=3))]
    factors = [draw.normal(size=(4, 6)) for _ in range(3)]
    spline = ([-1.0, 1.0], [[-1.0], [0.0, 1.0], [1.0]])

    def through(function):  # type: ignore[no-untyped-def]
        return lambda x: layers[1][0] @ function(layers[0][0] @ x + layers[0][1]) + layers[1][1]

    def ccp(x):  # type: ignore[no-untyped-def]
        out = factors[0] @ x
        for U in factors[1:]:
            out = (U @ x) * out + out
        return layers[1][0] @ out

    cases = [
        (pm.PolynomialNetwork(layers, activations=[0.5, 1.0, 0.25, 2.0]), through(np.poly1d([2.0, 0.25, 1.0, 0.5])), 3),
        (pm.ReLUNetwork(layers), through(lambda z: np.maximum(z, 0)), 1),
        (pm.SplineNetwork(layers, *spline), through(lambda z: np.clip(z, -1, 1)), 1),
        (pm.pi_net(factors, layers[1][0]), ccp, 3),
    ]
    for network, expected, degree in cases:
        point = draw.normal(size=6)
        assert type(network) is pm.Network
        assert network(point) == pytest.approx(expected(point), rel=1e-12)
        assert network.degree == degree


def test_a_chain_is_read_off_the_stages() -> None:
    draw = np.random.default_rng(2)
    layers = [(draw.normal(size=(4, 6)), draw.normal(size=4)), (draw.normal(size=(3, 4)), draw.normal(size=3))]
    network = Network.from_arrays_dict(pm.PolynomialNetwork(layers, degree=2).to_arrays())
    assert network.chain is not None
    assert network.chain.activations == ((0.0, 0.0, 1.0),)
    assert [np.array_equal(own.weights, given[0]) for own, given in zip(network.chain.layers, layers, strict=True)]
    assert pm.pi_net([draw.normal(size=(4, 6)) for _ in range(3)], draw.normal(size=(3, 4))).chain is None
    assert random_attention(2, 2, 1, 1).chain is None
    with pytest.raises(pm.InputError, match="with polynomials between"):
        pm.ReLUNetwork(layers).expect_chain()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda one: Network([Product(one, one)], Forms.of(np.ones((1, 4)))), "one class"),
        (lambda one: Network([Product(one, one)], Forms.of(np.ones((2, 3)))), "read-out takes 3 values; expected 4"),
        (lambda one: Network([Product(one, one), Product(one, one)], one), "stage 2 take 2 values; expected 4"),
        (lambda one: Network([], one, layer_names=["a", "b"]), "2 names of layers; expected 1"),
        (lambda one: Network([Piecewise(Forms((2,), (), []), *RELU)], one), "no values"),
    ],
)
def test_what_is_no_network_is_refused(make, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(pm.InputError, match=message):
        make(Forms.of(np.eye(2)))
