"""Lightning attention: the map, exactness, the active subspace, files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import polymargin as pm
from polymargin.networks import Network
from polymargin.networks.attention import LightningAttention, random_attention
from polymargin.networks.forms import Forms
from polymargin.networks.stages import Product
from polymargin.polynomials import Graph, evaluate, flatten

SHAPES = [
    (1, 1, 1, 1),
    (2, 2, 1, 1),
    (2, 2, 2, 2),
    (2, 3, 1, 1),
    (3, 2, 2, 2),
    (2, 3, 3, 5),
    (3, 1, 2, 2),
    (4, 3, 5, 2),
]


def point_of(network: Network, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, 1]).normal(size=network.dimension)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_logits_are_the_formula_of_the_paper(shape: tuple[int, int, int, int]) -> None:
    network = random_attention(*shape, classes=3, seed=1)
    module = network.structure
    assert (module.t, module.d, module.d_prime, module.a) == shape
    assert (network.dimension, network.class_count, network.degree) == (shape[0] * shape[1], 3, 3)
    points = np.random.default_rng(0).normal(size=(5, 2, network.dimension))
    X = np.swapaxes(points.reshape(5, 2, module.t, module.d), -1, -2)
    A = module.K @ module.Q.T
    phi = np.einsum("id,...ds,...es,ef,...ft->...ti", module.V, X, X, A, X)
    expected = np.einsum("...ti,cti->...c", phi, module.readout.reshape(3, module.t, module.d_prime)) + module.bias
    assert np.allclose(network(points), expected, rtol=1e-12, atol=1e-12)
    assert np.array_equal(network.predict(points), expected.argmax(axis=-1))


def degenerate() -> list[Network]:
    full = random_attention(3, 3, 2, 2, classes=3, seed=4).structure
    dead, twice, flat = full.V.copy(), full.K.copy(), full.readout.copy()
    dead[1], twice[:, 1], flat[2] = 0.0, twice[:, 0], flat[0]
    tiny = LightningAttention(1e-90 * full.V, 1e60 * full.K, full.Q, full.readout, full.bias)
    return [
        LightningAttention(dead, full.K, full.Q, full.readout, full.bias),
        LightningAttention(full.V, twice, full.Q, full.readout, full.bias),
        LightningAttention(full.V, full.K, full.Q, flat, full.bias),
        tiny,
    ]


@pytest.mark.parametrize("network", [*(random_attention(*shape, seed=2) for shape in SHAPES), *degenerate()])
def test_symbolic_and_exact_passes_agree(network: Network) -> None:
    graph = Graph()
    program = flatten(graph, list(network.logits(np.array(graph.inputs(network.dimension), dtype=object))))
    point = point_of(network)
    symbolic = evaluate(program, [Fraction(v) for v in point.tolist()], lift=Fraction)
    assert symbolic == network.exact_logits(point)
    assert np.allclose([float(v) for v in symbolic], network(point), rtol=1e-12, atol=1e-12)


def test_random_weights_give_logits_of_order_one() -> None:
    for shape in [(2, 2, 1, 1), (8, 3, 2, 2), (3, 16, 8, 8)]:
        network = random_attention(*shape, seed=5)
        logits = network(np.random.default_rng(0).normal(size=(2000, network.dimension))) - network.readout.bias
        assert 0.1 < logits.std() < 10
        assert network.fingerprint == random_attention(*shape, seed=5).fingerprint


# -- the active subspace ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((2, 2, 1, 1), 4),
        ((1, 5, 1, 1), 3),  # one value, one key, one query
        ((1, 5, 2, 2), 5),  # one row of M, two keys, two queries
        ((2, 3, 1, 1), 5),  # value and key of both tokens, and one common query
        ((2, 5, 1, 1), 5),
        ((3, 6, 1, 2), 11),  # three times (value, two keys), two common queries
        ((2, 7, 2, 2), 12),  # two times (two values, two keys), and four queries
        ((3, 2, 2, 2), 6),
    ],
)
def test_the_active_subspace(shape: tuple[int, int, int, int], expected: int) -> None:
    network = random_attention(*shape, seed=6)
    basis, inner = network.active_subspace(0, 1)
    assert basis.shape == (network.dimension, expected)
    assert np.allclose(basis.T @ basis, np.eye(expected), atol=1e-12)
    points = np.random.default_rng(1).normal(size=(20, network.dimension))
    here, there = network(points), inner.logits(points @ basis)
    assert np.allclose(here[:, 0] - here[:, 1], there[:, 0] - there[:, 1], rtol=1e-11, atol=1e-11)
    boundary = pm.Boundary.from_network(network, 0, 1)
    gradients = np.array([boundary.gradient(point) for point in points])
    assert np.linalg.matrix_rank(gradients, tol=1e-9) == expected
    assert np.allclose(gradients @ basis @ basis.T, gradients, atol=1e-11)


def test_the_polynomial_on_the_subspace_keeps_its_tokens_apart() -> None:
    """Values and keys of a token must not see the other tokens, not even through rounding errors."""
    _, inner = random_attention(2, 5, 1, 1, seed=6).active_subspace(0, 1)
    entry, products, _ = inner.stages
    for forms in products.forms:
        blocks = forms.block(1).reshape(2, 1, 2, 3)  # (σ, pairs) by tokens (y_σ, z) of three numbers
        assert not blocks[0, :, 1].any()
        assert not blocks[1, :, 0].any()
        assert not blocks[:, :, :, 2].any()
    tokens = entry.form.block(0).reshape(2, 3, 5)
    assert np.array_equal(tokens[:, :2], [np.eye(5)[:2], np.eye(5)[2:4]])


# -- files and input ----------------------------------------------------------------------------------


def test_save_and_load(tmp_path: Path) -> None:
    network = random_attention(3, 2, 2, 1, classes=4, seed=7)
    network.save(tmp_path / "attention.npz")
    again = pm.load(tmp_path / "attention.npz")
    assert again.fingerprint == network.fingerprint
    assert np.array_equal(again(point_of(network)), network(point_of(network)))
    for name, array in vars(network.structure).items():
        assert np.array_equal(getattr(again.structure, name), array)


def test_a_structure_that_the_stages_do_not_have_is_refused() -> None:
    network = random_attention(3, 2, 2, 1, classes=2, seed=7)
    forms = network.stages[0].left
    left = Forms(forms.widths, forms.blocks, np.array([1e-9, *np.zeros(len(forms) - 1)]))
    stages = [Product(left, network.stages[0].right), network.stages[1]]
    arrays = Network(stages, network.readout, structure=network.structure).to_arrays()
    with pytest.raises(pm.InputError, match="but the stages are others"):
        Network.from_arrays_dict(arrays)


def test_other_logits_of_the_same_values_are_attention_too() -> None:
    network = random_attention(2, 2, 2, 2, classes=3, seed=8)
    matrix = network.readout.matrix.toarray()[[2, 0]]
    other = network.with_readout(Forms.of(matrix, network.readout.bias[[2, 0]], network.readout.widths))
    assert repr(other.structure) == repr(network.structure)
    point = point_of(network)
    assert other.exact_logits(point) == [network.exact_logits(point)[k] for k in (2, 0)]
    matrix[0, -1] += 1.0
    assert network.with_readout(Forms.of(matrix, [0.0, 0.0], network.readout.widths)).structure is None


def test_the_fingerprint_sees_one_ulp_and_the_order() -> None:
    network = random_attention(2, 2, 2, 2, seed=8)
    seen, module = {network.fingerprint}, network.structure
    for name in ("V", "K", "Q", "readout", "bias"):
        arrays = {part: array.copy() for part, array in vars(module).items()}
        arrays[name].flat[1] = np.nextafter(arrays[name].flat[1], np.inf)
        seen.add(LightningAttention(**arrays).fingerprint)
    seen.add(LightningAttention(module.V, module.Q, module.K, module.readout, module.bias).fingerprint)
    assert len(seen) == 7


GOOD = {
    "V": np.ones((2, 3)),
    "K": np.ones((3, 1)),
    "Q": np.ones((3, 1)),
    "readout": np.ones((2, 4)),
    "bias": [0.0, 1.0],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"V": [[1.0, np.nan, 0.0]]}, "contain nan"),
        ({"K": np.ones(3)}, "expected 2 axes"),
        ({"K": np.ones((2, 1))}, r"expected \(d', d\), \(d, a\), \(d, a\)"),
        ({"Q": np.ones((3, 2))}, r"expected \(d', d\), \(d, a\), \(d, a\)"),
        ({"readout": np.ones((2, 5))}, "multiple of d' = 2"),
        ({"readout": np.ones((1, 4)), "bias": [0.0]}, "one class"),
        ({"bias": [0.0, 1.0, 2.0]}, "bias of length 3"),
        ({"V": np.ones((0, 3))}, "is empty"),
        ({"readout": "many"}, "not an array of real numbers"),
    ],
)
def test_bad_weights_are_one_sentence(change: dict[str, object], message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        LightningAttention(**{**GOOD, **change})


def test_bad_sizes() -> None:
    with pytest.raises(pm.InputError, match="expected >= 1"):
        random_attention(2, 0, 1, 1)
