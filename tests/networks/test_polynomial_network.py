"""Networks: shapes, exactness, files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from problems import random_network

import polymargin as pm
from polymargin.polynomials import Graph, evaluate, flatten
from polymargin_checker.stages import read_network


def test_forward_pass_by_hand() -> None:
    net = pm.PolynomialNetwork([([[1, 2], [3, 4]], [1, 0]), [[1, 1], [1, -1], [0, 2]]], degree=3)
    a, b = (2 + 2 * 5 + 1) ** 3, (3 * 2 + 4 * 5) ** 3
    assert net([2, 5]).tolist() == [a + b, a - b, 2 * b]
    assert net.predict([[2, 5], [2, 5]]).tolist() == [2, 2]
    assert net.widths == (2, 2, 3)


def test_polynomial_activations_per_layer() -> None:
    net = pm.PolynomialNetwork([[[1.0]], [[2.0]], [[1.0], [0.0]]], activations=[[1, 0, 0.5], [0, 1, 0, 2]])
    hidden = 1 + 0.5 * 9
    second = 2 * hidden
    assert net([3.0])[0] == second + 2 * second**3
    assert net.degree == 6
    one_for_all = pm.PolynomialNetwork([[[1.0]], [[2.0]], [[1.0], [0.0]]], activations=[0, 1, 1])
    assert one_for_all.degree == 4


def test_symbolic_and_numeric_passes_agree_exactly() -> None:
    net = random_network([3, 4, 4, 3], 2, seed=1)
    graph = Graph()
    program = flatten(graph, list(net.logits(np.array(graph.inputs(3), dtype=object))))
    point = [0.5, -1.25, 2.0]
    symbolic = evaluate(program, [Fraction(v) for v in point], lift=Fraction)
    assert symbolic == net.exact_logits(point)
    assert np.allclose([float(v) for v in symbolic], net(point), rtol=1e-13)


def test_float32_weights_are_taken_exactly() -> None:
    weights = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    net = pm.PolynomialNetwork([weights, np.eye(3, dtype=np.float32)], degree=2)
    assert net.exact_logits([1, 0])[0] == Fraction(float(weights[0, 0])) ** 2


def test_precompose() -> None:
    net = random_network([4, 5, 2], 3, seed=2)
    generator = np.random.default_rng(5)
    matrix, offset, y = generator.normal(size=(4, 2)), generator.normal(size=4), generator.normal(size=2)
    assert np.allclose(net.precompose(matrix, offset)(y), net(offset + matrix @ y), rtol=1e-12)


def test_save_and_load(tmp_path: Path) -> None:
    net = pm.PolynomialNetwork([([[1.5, -2]], [0.25]), ([[1], [2], [3]], [0, 1, 2])], activations=[[0.5, 0, 0, 2]])
    net.save(tmp_path / "net.npz")
    again = pm.load(tmp_path / "net.npz")
    assert again.fingerprint == net.fingerprint
    assert again.chain.activations == net.chain.activations
    assert np.allclose(again([1, 2]), net([1, 2]), rtol=1e-14)


def test_matrices_of_zeros_are_packed(tmp_path: Path) -> None:
    """What a convolution looks like as a matrix; whoever reads it sees the same numbers."""
    generator = np.random.default_rng(0)
    sparse, dense = np.zeros((600, 500)), generator.normal(size=(600, 500))
    sparse[np.arange(600), np.arange(600) % 500] = generator.normal(size=600)
    last = generator.normal(size=(2, 600))
    for first, largest in ((sparse, 0.05), (dense, 1.1)):
        network = pm.PolynomialNetwork([first, last], degree=2)
        network.save(tmp_path / "network.npz")
        assert (tmp_path / "network.npz").stat().st_size < largest * first.nbytes
        loaded = pm.load(tmp_path / "network.npz")
        np.testing.assert_array_equal(loaded.chain.layers[0].weights, first)
        assert read_network(tmp_path / "network.npz").fingerprint == network.fingerprint


def test_the_fingerprint_sees_one_ulp() -> None:
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    nudged = weights.copy()
    nudged[1, 1] = np.nextafter(4.0, 5.0)
    first, second = (pm.PolynomialNetwork([w, np.eye(2)], degree=2) for w in (weights, nudged))
    assert first.fingerprint != second.fingerprint


@pytest.mark.parametrize(
    ("layers", "options", "message"),
    [
        ([], {"degree": 2}, "at least one layer"),
        ([[[1.0, np.nan]], [[1.0], [2.0]]], {"degree": 2}, "contain nan"),
        ([([[1.0]], [np.inf]), [[1.0], [2.0]]], {"degree": 2}, "contain inf"),
        (
            [[[1.0, 2.0]], [[1.0, 1.0], [2.0, 1.0]]],
            {"degree": 2},
            "layer 2 takes 2 values but layer 1 gives 1",
        ),
        ([[[1.0]], [[1.0]]], {"degree": 2}, "one class"),
        ([[1.0, 2.0], [[1.0]]], {"degree": 2}, "expected 2 axes"),
        ([([[1.0]], [1.0, 2.0]), [[1.0], [2.0]]], {"degree": 2}, "bias of length 2"),
        ([[[1.0]], [[1.0], [2.0]]], {}, "either degree"),
        ([[[1.0]], [[1.0], [2.0]]], {"degree": 0}, "a degree from 1"),
        ([[[1.0]], [[1.0], [2.0]]], {"activations": [[0, 1], [0, 1]]}, "2 activations for 1 hidden"),
        ([[["a"]], [[1.0], [2.0]]], {"degree": 2}, "not an array of real numbers"),
    ],
)
def test_bad_networks_are_refused_in_one_sentence(layers: list, options: dict, message: str) -> None:
    with pytest.raises(pm.InputError, match=message):
        pm.PolynomialNetwork(layers, **options)


def test_bad_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(pm.InputError, match="no such file"):
        pm.load(tmp_path / "missing.npz")
    (tmp_path / "model.xyz").write_text("?")
    with pytest.raises(pm.InputError, match="unknown kind"):
        pm.load(tmp_path / "model.xyz")
    for content, sentence in (
        (b"", "the file is empty"),
        (b"PK\x03\x04 broken", r"not a valid \.npz"),
        (b"not a zip", r"not a valid \.npz"),
    ):
        (tmp_path / "broken.npz").write_bytes(content)
        with pytest.raises(pm.InputError, match=sentence):
            pm.load(tmp_path / "broken.npz")
    np.savez(tmp_path / "other.npz", points=np.zeros(3))
    with pytest.raises(pm.InputError, match="no header of a polymargin network"):
        pm.load(tmp_path / "other.npz")
    np.savez(tmp_path / "pickled.npz", format=np.array([{"a": 1}], dtype=object))
    with pytest.raises(pm.InputError, match=r"not a valid \.npz"):
        pm.load(tmp_path / "pickled.npz")
