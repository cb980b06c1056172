"""The cubic part of a third-layer rest and its bound, place by place and at once, and the two ways to find eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
from bounds.lifted.test_combinations import dense
from bounds.lifted.test_spectra import convolutional

import polymargin as pm
from polymargin.bounds.lifted import third_layer
from polymargin.bounds.lifted.cubic import CubicParts
from polymargin.bounds.lifted.curved import factors_below
from polymargin.bounds.lifted.expansion import LiftedExpansion
from polymargin.bounds.lifted.local import as_array
from polymargin.bounds.lifted.third_layer import ThirdLayer
from polymargin.bounds.view import View
from polymargin.deadlines import NEVER
from polymargin.relaxation.algebra import NUMPY, Matrix, NumpyAlgebra

NETWORKS = {"dense": lambda: dense((5, 8, 7, 6, 3), 1), "convolutions": lambda: convolutional(0)}
networks = pytest.mark.parametrize("name", NETWORKS)


class Elsewhere(NumpyAlgebra):
    """An algebra that knows nothing of zeros."""

    def put(self, array: Matrix) -> Matrix:
        return as_array(array)


def around(network: pm.Network) -> LiftedExpansion:
    return LiftedExpansion.of(View.of(network, 0.3 * np.random.default_rng(5).normal(size=network.dimension)))


def curvature(expansion: LiftedExpansion, neuron: int) -> np.ndarray:
    first = expansion.layers[0]
    weights = as_array(expansion.layers[1].weights)[neuron]
    return np.asarray(first.bend * first.slopes.T @ (weights[:, None] * first.slopes))


@networks
def test_the_bound_of_the_cubic_part(name: str) -> None:
    """Σ_k P_k² for the matrices P_k = Σ_j x_j (a_j)_k Q_j by places, that of symmetric parts at once, and what they bound."""
    expansion = around(NETWORKS[name]())
    second = expansion.layers[1]
    x = np.random.default_rng(0).normal(size=(2, len(second.value)))
    Q = np.stack([curvature(expansion, j) for j in range(len(second.value))])
    found, at_once = CubicParts(expansion, NUMPY)(x), CubicParts(expansion, Elsewhere())(x)
    for row, R, finest in zip(x, found, at_once, strict=True):
        P = np.einsum("j,jk,jpq->kpq", row, second.slopes, Q)
        plain = np.einsum("kpq,kqs->ps", P, P)
        N = np.einsum("kpq->pqk", P)  # of δ = e_p
        symmetric = np.einsum("pqk,sqk->ps", (N + N.transpose(0, 2, 1)) / 2, (N + N.transpose(0, 2, 1)) / 2)
        expected = plain if name == "convolutions" else symmetric
        np.testing.assert_allclose(R, expected, atol=1e-12 * np.abs(expected).max())
        np.testing.assert_allclose(finest, symmetric, atol=1e-12 * np.abs(symmetric).max())
        assert np.linalg.eigvalsh(plain - symmetric)[0] > -1e-12 * np.abs(plain).max()
        for delta in np.random.default_rng(1).normal(size=(100, expansion.dimension)):
            part = row @ ((second.slopes @ delta) * np.einsum("p,jpq,q->j", delta, Q, delta))
            assert abs(part) <= delta @ delta * np.sqrt(delta @ finest @ delta) * (1 + 1e-12)


@networks
def test_parts_one_by_one_are_wider_and_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expansion, radius = around(NETWORKS[name]()), 0.3
    weights = as_array(expansion.layers[2].weights)
    whole = ThirdLayer(expansion, weights, NEVER).on(radius, NEVER)
    monkeypatch.setattr(third_layer, "SMALL", 1)
    apart = ThirdLayer(expansion, weights, NEVER).on(radius, NEVER)
    assert (apart.eigenvalues[:, 1] >= whole.eigenvalues[:, 1] * (1 - 1e-6)).all()
    assert (apart.eigenvalues[:, 0] <= whole.eigenvalues[:, 0] * (1 - 1e-6)).all()
    assert (np.abs(apart.eigenvalues) <= 2 * np.abs(whole.eigenvalues)).all()
    deltas = np.random.default_rng(2).normal(size=(300, expansion.dimension))
    for delta in radius * deltas / np.linalg.norm(deltas, axis=1, keepdims=True):
        rest = expansion.rests(delta)[2][1]
        assert (whole.eigenvalues[:, 0] * radius**2 <= rest).all()
        assert (rest <= whole.eigenvalues[:, 1] * radius**2).all()


def test_what_is_not_of_second_order() -> None:
    """η of the third layer where a fourth is above it."""
    expansion, radius = around(dense((5, 6, 6, 6, 6, 3), 2)), 0.2
    weights = as_array(expansion.layers[2].weights)
    found = ThirdLayer(expansion, weights, NEVER).on(radius, NEVER)
    first, own = factors_below(expansion, 3, weights)
    assert found.errors is not None
    deltas = np.random.default_rng(3).normal(size=(300, expansion.dimension))
    for delta in radius * deltas / np.linalg.norm(deltas, axis=1, keepdims=True):
        squares = [(layer.slopes @ delta) ** 2 for layer in expansion.layers[:2]]
        even = first @ squares[0] + own @ squares[1]
        assert (np.abs(expansion.rests(delta)[2][1] - even) <= found.errors * radius**2).all()
